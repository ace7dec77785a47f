//! The content of etcd.

use etcd_client::{Client, GetOptions, SortOrder, SortTarget};
use tenure_services::etcd::Cluster;

use crate::common::soon;

pub(crate) struct Store {
    client: Client,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) value: String,
    pub(crate) created: u64,
}

impl Store {
    pub(crate) async fn open(cluster: &Cluster) -> Self {
        let endpoint = cluster.member(0).endpoint();
        Self { client: soon(Client::connect([endpoint], None)).await.unwrap() }
    }

    pub(crate) async fn keys(&mut self, election: &str) -> Vec<Key> {
        let options = GetOptions::new().with_prefix();
        let options = options.with_sort(SortTarget::Create, SortOrder::Ascend);
        let found = soon(self.client.get(format!("{election}/"), Some(options))).await.unwrap();
        let key = |kv: &etcd_client::KeyValue| Key {
            value: kv.value_str().unwrap().to_owned(),
            created: kv.create_revision().try_into().unwrap(),
        };
        found.kvs().iter().map(key).collect()
    }

    pub(crate) async fn values(&mut self, election: &str) -> Vec<String> {
        self.keys(election).await.into_iter().map(|key| key.value).collect()
    }

    pub(crate) async fn revision(&mut self) -> u64 {
        let status = soon(self.client.status()).await.unwrap();
        status.header().unwrap().revision().try_into().unwrap()
    }

    pub(crate) async fn leases(&mut self) -> usize {
        soon(self.client.leases()).await.unwrap().leases().len()
    }
}

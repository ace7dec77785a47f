//! The true history: a watch on the election's keys from the first revision on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use etcd_client::{Client, EventType, WatchOptions};
use tenure::clock;
use tenure_core::Time;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) created: u64,
    pub(crate) lease: i64,
    /// The revision at which the key was deleted, and the time at which this program learned that.
    pub(crate) gone: Option<(u64, Time)>,
}

/// All keys that ever existed, by create revision.
#[derive(Clone, Default)]
pub(crate) struct History {
    keys: Arc<Mutex<BTreeMap<u64, Key>>>,
}

impl History {
    /// Follows the keys of `election` as long as the runtime lasts.
    pub(crate) async fn follow(endpoint: &str, election: &str) -> Self {
        let mut client = Client::connect([endpoint], None).await.unwrap();
        let options = WatchOptions::new().with_prefix().with_start_revision(1);
        let mut watch = client.watch(format!("{election}/"), Some(options)).await.unwrap();
        let history = Self::default();
        let writer = history.clone();
        tokio::spawn(async move {
            // Keep the client: the stream ends with its client.
            let _client = client;
            while let Some(answer) = watch.message().await.unwrap() {
                assert!(!answer.canceled(), "{}", answer.cancel_reason());
                let arrived = clock::now();
                answer.events().iter().for_each(|event| writer.write(event, arrived));
            }
        });
        history
    }

    fn write(&self, event: &etcd_client::Event, arrived: Time) {
        let kv = event.kv().unwrap();
        let key = kv.key_str().unwrap().to_owned();
        let revision = number(kv.mod_revision());
        let mut keys = self.keys.lock().unwrap();
        match event.event_type() {
            EventType::Put => {
                let created = number(kv.create_revision());
                let value = kv.value_str().unwrap();
                assert_eq!(created, revision, "nobody proclaims another value here");
                let value = value.to_owned();
                let lease = kv.lease();
                keys.insert(created, Key { key, value, created, lease, gone: None });
            }
            EventType::Delete => {
                let is_it = |found: &&mut Key| found.key == key && found.gone.is_none();
                let found = keys.values_mut().find(is_it).unwrap();
                found.gone = Some((revision, arrived));
            }
        }
    }

    pub(crate) fn all(&self) -> Vec<Key> {
        self.keys.lock().unwrap().values().cloned().collect()
    }

    /// The keys that exist now; the first is the leader's.
    pub(crate) fn queue(&self) -> Vec<Key> {
        self.all().into_iter().filter(|key| key.gone.is_none()).collect()
    }

    /// Keys that were ever the first, in order.
    pub(crate) fn leaders(&self) -> Vec<Key> {
        let mut vacant_from = 0;
        let mut leaders = Vec::new();
        for key in self.all() {
            // A key was once the first if it outlived all earlier keys.
            let is_first = key.gone.is_none_or(|(gone, _)| gone > vacant_from);
            if is_first {
                vacant_from = key.gone.map_or(u64::MAX, |(gone, _)| gone);
                leaders.push(key);
            }
        }
        leaders
    }
}

fn number(revision: i64) -> u64 {
    revision.try_into().unwrap()
}

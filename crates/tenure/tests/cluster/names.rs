//! Members that are given by the names of their hosts, and found wherever they are.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::Waiting;
use tenure::nerio::keys::{ClusterKey, Keys};
use tenure::nerio::{
    Builder, Checked, Config, Host, Hosts, Node, Notice, Place, Resolver, Storage,
};
use tenure::state::Opening;

use crate::setup::{directory, free_addresses, soon};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What resolves names here: a table that a test changes.
#[derive(Clone, Default)]
struct Table(Arc<Mutex<BTreeMap<String, Vec<SocketAddr>>>>);

impl Table {
    fn set(&self, name: &str, addresses: &[SocketAddr]) {
        self.0.lock().unwrap().insert(format!("{name}.test"), addresses.to_vec());
    }
}

impl Resolver for Table {
    fn resolve(&self, host: &Host) -> io::Result<Vec<SocketAddr>> {
        let found = self.0.lock().unwrap().get(host.name()).cloned();
        found.ok_or_else(|| io::Error::other("no such name"))
    }
}

struct Cluster {
    config: Checked,
    hosts: Hosts,
    keys: Keys,
    table: Table,
}

impl Cluster {
    fn new() -> Self {
        let hosts: Hosts = NAMES
            .map(|name| (name.parse().unwrap(), format!("{name}.test:7101").parse().unwrap()))
            .into();
        let members =
            hosts.iter().map(|(name, host)| Place::Host(host.clone()).member(name.clone()));
        let mut config = Config::new("test".parse().unwrap(), members.collect())
            .with_lease(Duration::from_secs(6));
        config.refresh = Duration::from_millis(50);
        config.grace = Duration::from_millis(200);
        config.kill_margin = Duration::from_millis(50);
        let (config, table) = (config.check().unwrap(), Table::default());
        let keys = ClusterKey::generate("test".parse().unwrap()).unwrap().into();
        Self { config, hosts, keys, table }
    }

    fn builder(&self, name: &str) -> Builder {
        let builder = Node::builder(self.config.clone(), name.parse().unwrap());
        let table = self.table.clone();
        builder.keys(self.keys.clone()).hosts(self.hosts.clone()).resolver(table)
    }

    fn grantor(&self, name: &str, at: SocketAddr, storage: Storage) -> Node {
        let at = SocketAddr::new("::".parse().unwrap(), at.port());
        self.builder(name).listen(at).grantor(storage).start().unwrap()
    }
}

/// A leader is renewed by a member that came back elsewhere, under its name and with its directory,
/// and by another one over IPv6.
#[tokio::test]
async fn a_member_that_comes_back_on_another_address_is_the_same_member() {
    let (cluster, folder) = (Cluster::new(), tempfile::tempdir().unwrap());
    let addresses = free_addresses(4);
    let six = SocketAddr::new("::1".parse().unwrap(), addresses[2].port());
    for (name, at) in NAMES.iter().zip([addresses[0], addresses[1], six]) {
        cluster.table.set(name, &[at]);
    }
    let store = |name, opening| directory(folder.path(), name, opening);
    let mut nodes: BTreeMap<&str, Node> = BTreeMap::new();
    for (name, at) in NAMES.iter().zip(&addresses) {
        nodes.insert(name, cluster.grantor(name, *at, store(name, Opening::New)));
    }
    let candidate = cluster.builder("candidate").start().unwrap();
    let election = candidate.election("x").unwrap();
    let leadership = soon(election.campaign("me")).await.unwrap();
    soon(leadership.settled()).await.unwrap();

    soon(nodes.remove("a").unwrap().close()).await;
    cluster.table.set("a", &[addresses[3]]);
    let a = cluster.grantor("a", addresses[3], store("a", Opening::Existing));
    let heard = async {
        // It hears the leader, who has been told by the resolver where to look.
        while a.counters().await.unwrap().messages == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(heard).await;
    soon(nodes.remove("b").unwrap().close()).await;
    // Without a the lease would run out: c alone is no quorum.
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(leadership.is_current(), "the leader was not renewed by a");
    let view = candidate.election("x").unwrap();
    assert_eq!(leadership.fence(), {
        let mut observer = view.observe();
        loop {
            let change = soon(observer.next()).await.unwrap();
            if let Some(tenure::View::Leader(leader)) = change.view() {
                break leader.fence.unwrap();
            }
        }
    });
    candidate.close().await;
}

/// It says which name, waits, and goes on by itself; of several addresses the one that answers is
/// found.
#[tokio::test]
async fn a_name_that_does_not_resolve_is_waited_for_and_told() {
    let cluster = Cluster::new();
    let addresses = free_addresses(4);
    let memory = || Storage::Memory { opening: Opening::New };
    let nodes: Vec<_> = NAMES
        .iter()
        .zip(&addresses)
        .map(|(name, at)| cluster.grantor(name, *at, memory()))
        .collect();
    cluster.table.set("c", &[addresses[2]]);
    let candidate = cluster.builder("candidate").start().unwrap();
    let mut notices = candidate.notices();
    let told = async {
        let mut told = BTreeMap::new();
        while told.len() < 2 {
            if let Notice::Unresolved { member, why, .. } = notices.recv().await.unwrap() {
                told.insert(member.to_string(), why);
            }
        }
        told
    };
    let no_name = |name: &str| (name.to_owned(), "no such name".to_owned());
    assert_eq!(soon(told).await, ["a", "b"].map(no_name).into());
    let election = candidate.election("x").unwrap();
    let mut campaign = election.campaign("me");
    let mut waits = campaign.waiting();
    let waits = async {
        loop {
            tokio::select! {
                won = &mut campaign => panic!("{won:?}"),
                waiting = waits.next() => {
                    if let Waiting::Refused { obstacles, missing } = waiting.unwrap() {
                        break (obstacles, missing);
                    }
                }
            }
        }
    };
    let (obstacles, missing) = soon(waits).await;
    let said: Vec<_> = obstacles.iter().map(ToString::to_string).collect();
    let why = |name: &str| format!("{name}: its name {name}.test does not resolve: no such name");
    assert_eq!((said, missing.len()), (vec![why("a"), why("b")], 0));
    assert!(obstacles.iter().all(|obstacle| obstacle.label == "name-unresolved"));

    cluster.table.set("a", &[addresses[3], addresses[0]]);
    let leadership = soon(campaign).await.unwrap();
    assert!(leadership.is_current());
    drop(nodes);
}

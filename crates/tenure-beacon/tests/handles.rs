//! Its handles do what those of every driver do.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure::{Election, MayOverlap};
use tenure_beacon::{Config, Node, start};
use tenure_testkit::handles::Group;
use tenure_testkit::processes::addresses;

struct Beacons {
    addresses: Vec<SocketAddr>,
    nodes: BTreeMap<&'static str, Node>,
}

impl Beacons {
    fn new() -> Self {
        Self { addresses: addresses::<4>().into(), nodes: BTreeMap::new() }
    }
}

impl Group for Beacons {
    type Class = MayOverlap;

    const NO_TRANSFER: Option<&'static str> = Some("beacon");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<MayOverlap> {
        let begin = || {
            // A machine that stands still for some seconds ends no leadership, and who comes to be
            // heard a little late is still heard.
            let [beat, lease, skew] = [200, 20_000, 50].map(Duration::from_millis);
            let config = Config { beat, lease, skew };
            start(participant.parse().unwrap(), self.addresses.clone(), config).unwrap()
        };
        let node = self.nodes.entry(participant).or_insert_with(begin);
        node.election(election.parse().unwrap())
    }

    async fn close(&mut self, participant: &'static str) {
        self.nodes[participant].close().await;
    }
}

tenure_testkit::handles!(Beacons::new());

//! ALLCALL on NATS: one server or a cluster of three, with a relay between each runner and each
//! server.

use std::process::Command;
use std::time::Duration;

use tenure_services::Daemon;
use tenure_services::nats::{Cluster, Version};
use tenure_services::relay::Relay;

use crate::processes::{
    Deployment, Fault, Fleet, Host, Manner, NODES, Network, RUNNERS, Timing, in_millis,
};

/// L (`lease`).
const LEASE: Duration = Duration::from_secs(3);
/// H (`heartbeat`): an overloaded machine usually receives its own messages within half of H.
const HEARTBEAT: Duration = Duration::from_millis(300);
/// K (`max_clock_skew`), for processes that share one clock.
const SKEW: Duration = Duration::from_millis(50);
/// The longest delay of a packet (d), and the time in which a CMD ends at once: bounds for a busy
/// machine.
const DELAY: Duration = Duration::from_millis(500);
/// Delay that a busy machine may add to any step.
const NOISE: Duration = Duration::from_secs(10);

/// Servers on this machine. Each runner reaches each server through a relay of its own.
pub struct Nats {
    cluster: Cluster,
    /// Number of servers.
    count: usize,
    /// Relays by runner, then by node. A single server is the server of all nodes.
    relays: Vec<Vec<Relay>>,
}

impl Nats {
    /// Starts one server, or one for each node.
    pub fn start(version: Version, servers: usize) -> Self {
        assert!(servers == 1 || servers == NODES);
        let cluster = Cluster::start(version, servers).unwrap();
        let relay = |node: usize| Relay::start(cluster.server(node % servers).address()).unwrap();
        let relays = (0..RUNNERS).map(|_| (0..NODES).map(relay).collect()).collect();
        Self { cluster, count: servers, relays }
    }
}

impl Network for Nats {
    /// Relays cut a connection in both directions.
    fn cut(&self, from: Host, to: Host) {
        let (node, other) = if from.is_node() { (from, to) } else { (to, from) };
        if node.is_node() && !other.is_node() {
            self.relays[other.index() - NODES][node.index()].cut();
        } else if node.is_node() && node != other && self.count == NODES {
            self.cluster.cut(node.index(), other.index());
        }
    }

    fn heal(&self) {
        self.cluster.heal();
        self.relays.iter().flatten().for_each(Relay::open);
    }
}

impl Deployment for Nats {
    const NEEDED: usize = 1;
    const WORKING: usize = 0;
    /// H (`heartbeat`) + d.
    const OVERLAP: Option<Duration> = Some(HEARTBEAT.saturating_add(DELAY));
    /// Only polite CMDs, so that the protocol decides the length of an overlap, and not the end of
    /// a CMD.
    const MANNERS: &[Manner] = &[Manner::Polite];

    fn timing(&self) -> Timing {
        let grace = Duration::from_millis(300);
        let kill_margin = Duration::from_millis(200);
        Timing { lease: LEASE, grace, kill_margin }
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let servers = self.cluster.urls().join(",");
        vec![("TENURE_PROTOCOL", "allcall".to_owned()), ("TENURE_SERVERS", servers)]
    }

    /// Each runner tries a different server first.
    fn participate(&self, runner: Host, command: &mut Command) {
        let number = runner.index() - NODES;
        let relays = (0..NODES).map(|node| &self.relays[number][(number + node) % NODES]);
        let urls: Vec<_> = relays.map(|relay| format!("nats://{}", relay.address())).collect();
        for (flag, value) in [
            ("--servers", urls.join(",")),
            ("--value", runner.name().to_owned()),
            ("--rank", number.to_string()),
            ("--heartbeat", in_millis(HEARTBEAT)),
            ("--max-clock-skew", in_millis(SKEW)),
        ] {
            command.arg(flag).arg(value);
        }
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    /// A transfer names no successor, nodes keep no state, and TCP loses no data. A single server
    /// has no routes, and clients of a cut single server have no other server.
    fn knows(&self, fault: Fault) -> bool {
        match fault {
            Fault::Transferred | Fault::StateDeleted | Fault::Storm | Fault::RunnerJoins => false,
            Fault::RoutesCut | Fault::NodeCutOff => self.count == NODES,
            _ => true,
        }
    }

    fn server(&self, node: Host) -> Option<&Daemon> {
        Some(self.cluster.server(node.index() % self.count))
    }

    fn await_ready(fleet: &Fleet<Self>) {
        fleet.deployment.cluster.wait_ready().unwrap();
    }

    /// L + 3K + 2H (`lease`, `max_clock_skew`, `heartbeat`), and L + K more: the other candidates
    /// may have started just before the fault, and then listen first.
    fn take_over(&self) -> Option<Duration> {
        Some(2 * LEASE + 4 * SKEW + 2 * HEARTBEAT + NOISE)
    }
}

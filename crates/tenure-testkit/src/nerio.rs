//! Nerio: three processes of `tenure node`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::processes::{
    Deployment, Fault, Fleet, Host, Network, Timing, eventually, in_millis, output,
};

const CLUSTER: &str = "chaos";
const ROUND_TRIP: Duration = Duration::from_millis(20);
const REFRESH: Duration = Duration::from_millis(100);

/// Memory of a node at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// The first start of the node.
    New,
    /// The node remembers the content of its state directory, and notices if that is lost.
    State,
    /// The node has lost its memory and does not notice the loss. Only a test may run a node like
    /// this.
    Forgetful,
}

/// A cluster of Nerio in this network.
pub struct Nerio<N> {
    /// The network between all processes.
    pub network: N,
    timing: Timing,
    /// Memory of the nodes at their first start.
    memory: Memory,
}

impl<N: Network> Nerio<N> {
    /// A new cluster. The longest lease equals the lease, so that a node that lost its memory
    /// serves again after a short time.
    pub const fn new(network: N, timing: Timing) -> Self {
        Self { network, timing, memory: Memory::New }
    }

    /// A cluster whose nodes lose their memory and do not notice the loss.
    pub const fn forgetful(network: N, timing: Timing) -> Self {
        Self { network, timing, memory: Memory::Forgetful }
    }
}

impl<N: Network> Deployment for Nerio<N> {
    const NEEDED: usize = 2;

    fn timing(&self) -> Timing {
        self.timing
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("TENURE_CLUSTER", CLUSTER.to_owned())]
    }

    fn participate(&self, host: Host, command: &mut Command) {
        for (flag, value) in [
            ("--members", self.network.members()),
            ("--listen", self.network.listen(host).to_string()),
            ("--lease-max", in_millis(self.timing.lease)),
            ("--round-trip", in_millis(ROUND_TRIP)),
            ("--refresh", in_millis(REFRESH)),
        ] {
            command.arg(flag).arg(value);
        }
        match self.network.key_file(host) {
            Some(file) => drop(command.arg("--key-file").arg(file)),
            None if self.network.listen(host).ip().is_loopback() => {}
            None => drop(command.arg("--insecure-any-address")),
        }
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(&self.network)
    }

    /// Two candidates never lead at once, whatever is cut; runners have no connections, and join no
    /// group.
    fn knows(&self, fault: Fault) -> bool {
        !matches!(fault, Fault::RoutesCut | Fault::ClientMoved | Fault::RunnerJoins)
    }

    fn start(fleet: &mut Fleet<Self>) {
        let memory = fleet.deployment.memory;
        Host::nodes().for_each(|node| fleet.start_node(node, memory));
    }

    fn await_ready(fleet: &Fleet<Self>) {
        Host::nodes().for_each(|node| fleet.await_serving(node));
    }

    fn restart(fleet: &mut Fleet<Self>, node: Host) {
        fleet.start_node(node, Memory::State);
    }

    fn lose_state(fleet: &Fleet<Self>, node: Host) {
        fs::remove_dir_all(fleet.state(node)).unwrap();
    }
}

impl<N: Network> Fleet<Nerio<N>> {
    fn state(&self, node: Host) -> PathBuf {
        self.folder().join(format!("state-{node}"))
    }

    pub fn start_node(&mut self, node: Host, memory: Memory) {
        let mut command = self.tenure(node, &["node", "--name", node.name(), "--log", "debug"]);
        command.args(self.deployment.timing.flags());
        self.deployment.participate(node, &mut command);
        command.arg("--control").arg(self.control(node));
        let state = self.state(node);
        match memory {
            Memory::New => command.arg("--new").arg("--state").arg(state),
            Memory::State => command.arg("--state").arg(state),
            Memory::Forgetful => command.args(["--memory", "--new"]),
        };
        self.spawn(node, command);
    }

    /// Status of a node; null while the node does not answer.
    pub fn status(&self, node: Host) -> serde_json::Value {
        let mut status = self.tenure(node, &["node", "status", "--json", "--name", node.name()]);
        status.arg("--control").arg(self.control(node));
        serde_json::from_slice(&output(&mut status).stdout).unwrap_or_default()
    }

    /// Waits until the node serves, and so can grant.
    #[track_caller]
    fn await_serving(&self, node: Host) {
        eventually(&format!("node {node} serves"), || {
            (self.status(node)["service"] == "serving").then_some(())
        });
    }
}

//! How the processes of a protocol's elections are deployed.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tenure_services::Daemon;

use super::rounds::is_soak;
use super::{Fault, Fleet, Host, Manner, Network};

/// Timing of all runners.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub lease: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub grace: Duration,
    /// Time from SIGKILL to the end of the lease.
    pub kill_margin: Duration,
}

impl Timing {
    /// Timing with a lease and margins in milliseconds: the first pair in the soak, the second in
    /// all other runs.
    pub(crate) fn of_millis(soak: [u64; 2], elsewhere: [u64; 2]) -> Self {
        let millis = if is_soak() { soak } else { elsewhere };
        let [lease, margin] = millis.map(Duration::from_millis);
        Self { lease, grace: margin, kill_margin: margin }
    }

    /// The timing as flags of the command.
    pub fn flags(self) -> [String; 3] {
        let Self { lease, grace, kill_margin } = self;
        span_flags([("lease", lease), ("grace", grace), ("kill-margin", kill_margin)])
    }
}

/// A span in the command's notation.
pub(crate) fn in_millis(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}

/// Spans as flags of the command.
pub(crate) fn span_flags<const N: usize>(spans: [(&str, Duration); N]) -> [String; N] {
    spans.map(|(flag, span)| format!("--{flag}={}", in_millis(span)))
}

/// A protocol on this machine: its nodes in addition to the runners, and its faults.
pub trait Deployment: Sized {
    /// Number of nodes that a leader must reach to stay the leader.
    const NEEDED: usize;
    /// Number of nodes that must work for an election.
    const WORKING: usize = 2;
    /// If leaders may overlap: bound on an overlap after the leaders can reach each other again.
    const OVERLAP: Option<Duration> = None;
    /// Whether leaders may overlap even while they can reach each other, as in a protocol whose
    /// leaders keep leading until others can have taken over.
    const OVERLAPS_ANYWAY: bool = false;
    /// The arguments of `tenure` by which a leader resigns.
    const RESIGN: &[&str] = &["resign"];
    /// Ways in which a CMD reacts to SIGTERM; each runner draws one.
    const MANNERS: &[Manner] = &Manner::ALL;

    fn timing(&self) -> Timing;

    fn flags(&self) -> Vec<String> {
        self.timing().flags().into()
    }

    /// Environment of every command, of participants and of clients.
    fn environment(&self) -> Vec<(&'static str, String)>;

    /// Adds the arguments that `tenure run` needs in addition to id, timing, log level, control
    /// socket and CMD.
    fn participate(&self, runner: Host, command: &mut Command);

    /// The network between all participants, if it can be disturbed.
    fn network(&self) -> Option<&dyn Network>;

    /// Whether this deployment can suffer the fault.
    fn knows(&self, fault: Fault) -> bool;

    /// The server that acts as this node; `None` if nodes are processes of the fleet.
    fn server(&self, _node: Host) -> Option<&Daemon> {
        None
    }

    /// The process of the fleet that acts as this node.
    fn process(node: Host) -> Host {
        node
    }

    /// Starts all nodes that do not run yet.
    fn start(_fleet: &mut Fleet<Self>) {}

    /// Waits until every node works.
    fn await_ready(_fleet: &Fleet<Self>) {}

    /// Kills a node, as by `kill -9`, and waits for its end.
    fn kill(fleet: &mut Fleet<Self>, node: Host) {
        match fleet.deployment.server(node) {
            Some(server) => server.kill().unwrap(),
            None => fleet.kill(Self::process(node)),
        }
    }

    /// Starts a killed node again.
    fn restart(fleet: &mut Fleet<Self>, node: Host) {
        let server = fleet.deployment.server(node).expect("a server");
        // Two nodes may be one server, which then runs already.
        if server.pid().is_none() {
            server.restart().unwrap();
        }
    }

    /// Sends a node SIGSTOP, and waits until it stands still.
    fn stop(fleet: &mut Fleet<Self>, node: Host) {
        match fleet.deployment.server(node) {
            Some(server) => server.stop().unwrap(),
            None => fleet.freeze(Self::process(node)),
        }
    }

    /// Sends a node SIGCONT.
    fn cont(fleet: &mut Fleet<Self>, node: Host) {
        match fleet.deployment.server(node) {
            Some(server) => server.cont().unwrap(),
            None => fleet.signal(Self::process(node), Signal::CONT),
        }
    }

    /// Deletes everything that a killed node has written.
    fn lose_state(_fleet: &Fleet<Self>, _node: Host) {
        unreachable!("`knows` says so");
    }

    /// Bound on the time from a fault to the start of the next leadership, while the nodes work;
    /// `None` if the protocol promises none.
    fn take_over(&self) -> Option<Duration> {
        None
    }

    /// Checks the state at the end of the rounds.
    fn finish(fleet: Fleet<Self>) {
        fleet.expect_no_panics();
    }
}

//! How elections of one protocol are deployed.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tenure_services::Daemon;

use super::rounds::is_soak;
use super::{Fault, Fleet, Host, Manner, Network};

/// The timing of all runners.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub lease: Duration,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// From SIGKILL to the end of the lease.
    pub kill_margin: Duration,
}

impl Timing {
    /// Timing with a lease and margins of so many milliseconds: in the soak, and elsewhere.
    pub(super) fn of_millis(soak: [u64; 2], elsewhere: [u64; 2]) -> Self {
        let millis = if is_soak() { soak } else { elsewhere };
        let [lease, margin] = millis.map(Duration::from_millis);
        Self { lease, grace: margin, kill_margin: margin }
    }

    /// The same as flags.
    pub fn flags(self) -> [String; 3] {
        let Self { lease, grace, kill_margin } = self;
        span_flags([("lease", lease), ("grace", grace), ("kill-margin", kill_margin)])
    }
}

/// A span as the command reads it.
pub(super) fn in_millis(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}

/// Spans as flags of the command.
pub(super) fn span_flags<const N: usize>(spans: [(&str, Duration); N]) -> [String; N] {
    spans.map(|(flag, span)| format!("--{flag}={}", in_millis(span)))
}

/// A protocol on this machine: its nodes beside the runners, and its faults.
pub trait Deployment: Sized {
    /// How many nodes a leader must reach to stay the leader.
    const NEEDED: usize;
    /// How many nodes must work for that.
    const WORKING: usize = 2;
    /// Where two may lead at once: for how long at most once they can reach each other again.
    const OVERLAP: Option<Duration> = None;
    /// Whether two may lead at once also while all can reach each other, as where leaders lead on
    /// until others can have taken over.
    const OVERLAPS_ANYWAY: bool = false;
    /// The words by which a leader gives up what it leads.
    const RESIGN: &[&str] = &["resign"];
    /// How CMDs take SIGTERM.
    const MANNERS: &[Manner] = &Manner::ALL;

    /// The timing of the runners.
    fn timing(&self) -> Timing;

    /// The same as flags of a runner.
    fn flags(&self) -> Vec<String> {
        self.timing().flags().into()
    }

    /// Environment of every command, whether it takes part or asks.
    fn environment(&self) -> Vec<(&'static str, String)>;

    /// Adds what `tenure run` needs beside id, timing, log level, control socket and CMD.
    fn participate(&self, runner: Host, command: &mut Command);

    /// The network between all, where it can be made worse.
    fn network(&self) -> Option<&dyn Network>;

    /// Whether this can be done here.
    fn knows(&self, fault: Fault) -> bool;

    /// The server of a service that is this node; none where nodes are processes of the fleet.
    fn server(&self, _node: Host) -> Option<&Daemon> {
        None
    }

    /// The process of the fleet that is this node.
    fn process(node: Host) -> Host {
        node
    }

    /// Starts all nodes that do not run already.
    fn start(_fleet: &mut Fleet<Self>) {}

    /// Waits until every node works.
    fn await_ready(_fleet: &Fleet<Self>) {}

    /// Kills a node, as by `kill -9`, and waits until it is gone.
    fn kill(fleet: &mut Fleet<Self>, node: Host) {
        match fleet.deployment.server(node) {
            Some(server) => server.kill().unwrap(),
            None => fleet.kill(Self::process(node)),
        }
    }

    /// Starts a node again that was killed.
    fn restart(fleet: &mut Fleet<Self>, node: Host) {
        let server = fleet.deployment.server(node).expect("a server");
        // Another node may be the same server.
        if server.pid().is_none() {
            server.restart().unwrap();
        }
    }

    /// SIGSTOP, which has taken effect when this returns.
    fn stop(fleet: &mut Fleet<Self>, node: Host) {
        match fleet.deployment.server(node) {
            Some(server) => server.stop().unwrap(),
            None => fleet.freeze(Self::process(node)),
        }
    }

    /// SIGCONT.
    fn cont(fleet: &mut Fleet<Self>, node: Host) {
        match fleet.deployment.server(node) {
            Some(server) => server.cont().unwrap(),
            None => fleet.signal(Self::process(node), Signal::CONT),
        }
    }

    /// Deletes all that a killed node has written.
    fn lose_state(_fleet: &Fleet<Self>, _node: Host) {
        unreachable!("`knows` says so");
    }

    /// While the nodes work: how long after a fault the next leader may begin, if that is promised.
    fn take_over(&self) -> Option<Duration> {
        None
    }

    /// Checks the state at the very end.
    fn finish(fleet: Fleet<Self>) {
        fleet.expect_no_panics();
    }
}

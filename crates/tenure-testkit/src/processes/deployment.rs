//! How elections of one protocol are deployed.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::{Fault, Fleet, Host, Manner, Network};

/// The timing of all runners.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long a lease lasts.
    pub lease: Duration,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// From SIGKILL to the end of the lease.
    pub kill_margin: Duration,
}

impl Timing {
    /// The same as flags.
    #[must_use]
    pub fn flags(self) -> [String; 3] {
        let Self { lease, grace, kill_margin } = self;
        [("lease", lease), ("grace", grace), ("kill-margin", kill_margin)]
            .map(|(flag, span)| format!("--{flag}={}ms", span.as_millis()))
    }
}

/// What a protocol needs on this machine beside its runners, and what can go wrong there.
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

    /// What every command is given in its environment, whether it takes part or asks.
    fn environment(&self) -> Vec<(&'static str, String)>;

    /// Adds what `tenure run` needs beside id, timing, log level, control socket and CMD.
    fn participate(&self, runner: Host, command: &mut Command);

    /// The network between all, where it can be made worse.
    fn network(&self) -> Option<&dyn Network>;

    /// Whether this can be done here.
    fn knows(&self, fault: Fault) -> bool;

    /// Starts all nodes.
    fn start(fleet: &mut Fleet<Self>);

    /// Waits until every node works.
    fn await_ready(fleet: &Fleet<Self>);

    /// Kills a node, as by `kill -9`, and waits until it is gone.
    fn kill(fleet: &mut Fleet<Self>, node: Host);

    /// Starts a node again that was killed.
    fn restart(fleet: &mut Fleet<Self>, node: Host);

    /// SIGSTOP, which has taken effect when this returns, or SIGCONT.
    fn signal(fleet: &mut Fleet<Self>, node: Host, signal: Signal);

    /// Deletes all that a killed node has written.
    fn lose_state(fleet: &Fleet<Self>, node: Host);

    /// While the nodes work: how long after a fault the next leader may begin, if that is promised.
    fn take_over(&self) -> Option<Duration> {
        None
    }

    /// What is to be seen at the very end.
    fn finish(fleet: Fleet<Self>) {
        fleet.expect_no_panics();
    }
}

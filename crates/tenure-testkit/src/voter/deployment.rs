//! Regional voters: each runner is a voter, and there are no separate nodes.
//!
//! The nodes of the rounds stand for these voters: a fault of node `a` strikes the voter of runner
//! `x`, and so on.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::processes::rounds::{is_soak, timing};
use crate::processes::{
    Deployment, Fault, Fleet, Host, Manner, NODES, Namespaces, Network, PORT, RUNNERS, Timing,
    loopback, own_net, span_flags,
};

const TOLERANCE: u32 = 6;

/// H (`heartbeat`), and the time that an overloaded machine takes for an answer: longer outside the
/// soak.
fn paces() -> [Duration; 2] {
    let paces = if is_soak() { [500, 300] } else { [1_500, 1_000] };
    paces.map(Duration::from_millis)
}

/// Three voters of one list, on loopback or in namespaces of their own.
pub struct Voters {
    places: Places,
    state: TempDir,
}

enum Places {
    Loopback([u8; 2]),
    /// Namespaces, which can be cut off from each other.
    Apart(Namespaces),
}

impl Voters {
    /// Voters on loopback, without cuts.
    pub fn on_loopback() -> Self {
        Self { places: Places::Loopback(own_net()), state: tempfile::tempdir().unwrap() }
    }

    /// Voters in a network namespace each.
    pub fn in_namespaces() -> Self {
        let places = Places::Apart(Namespaces::create());
        Self { places, state: tempfile::tempdir().unwrap() }
    }

    fn address(&self, host: Host) -> SocketAddr {
        let runner = runner_at(host);
        match &self.places {
            Places::Loopback(net) => loopback(*net, runner.index()),
            Places::Apart(namespaces) => (namespaces.listen(runner).ip(), PORT).into(),
        }
    }

    fn namespaces(&self) -> &Namespaces {
        let Places::Apart(namespaces) = &self.places else { unreachable!("`knows` says so") };
        namespaces
    }

    fn list(&self) -> String {
        let one = |runner: Host| format!("{runner}=http://{}", self.address(runner));
        Host::runners().map(one).collect::<Vec<_>>().join(",")
    }
}

/// The runner whose voter acts as this node.
fn runner_at(host: Host) -> Host {
    if host.is_node() { Host::runner(host.index()) } else { host }
}

impl Network for Voters {
    fn command(&self, host: Host, program: &str) -> Command {
        self.namespaces().command(runner_at(host), program)
    }

    fn cut(&self, from: Host, to: Host) {
        let from = runner_at(from);
        let to = runner_at(to);
        if from != to {
            self.namespaces().cut(from, to);
        }
    }

    fn heal(&self) {
        self.namespaces().heal();
    }
}

impl Deployment for Voters {
    /// A leader needs one of the two other voters.
    const NEEDED: usize = 1;

    /// L (`lease`) follows from H and the tolerance.
    fn timing(&self) -> Timing {
        Timing { lease: paces()[0] * (TOLERANCE + 1), ..timing() }
    }

    /// The lease follows from these flags.
    fn flags(&self) -> Vec<String> {
        let Timing { grace, kill_margin, .. } = self.timing();
        let [heartbeat, request] = paces();
        let mut flags = Vec::from(span_flags([
            ("heartbeat-interval", heartbeat),
            ("request-timeout", request),
            ("grace", grace),
            ("kill-margin", kill_margin),
        ]));
        flags.push(format!("--missed-heartbeat-tolerance={TOLERANCE}"));
        flags
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("TENURE_PROTOCOL", "voter".to_owned()), ("TENURE_VOTER_LIST", self.list())]
    }

    fn participate(&self, runner: Host, command: &mut Command) {
        let address = self.address(runner).to_string();
        command.arg("--listen").arg(address);
        command.arg("--state").arg(self.state.path().join(runner.name()));
        if matches!(self.places, Places::Apart(_)) {
            command.arg("--insecure-any-address");
        }
    }

    fn network(&self) -> Option<&dyn Network> {
        matches!(self.places, Places::Apart(_)).then_some(self as &dyn Network)
    }

    /// A transfer names no successor, there are no routes and no clients, and TCP loses no data. A
    /// voter whose directory is lost gets its vote back only from an operator.
    fn knows(&self, fault: Fault) -> bool {
        let apart = matches!(self.places, Places::Apart(_));
        match fault {
            Fault::Transferred
            | Fault::RoutesCut
            | Fault::ClientMoved
            | Fault::RunnerJoins
            | Fault::StateDeleted
            | Fault::Storm => false,
            Fault::RunnerCutOff | Fault::NodeCutOff | Fault::GuardStopped => apart,
            _ => true,
        }
    }

    fn process(node: Host) -> Host {
        runner_at(node)
    }

    fn restart(fleet: &mut Fleet<Self>, node: Host) {
        fleet.start_runner(runner_at(node), Manner::Polite);
    }
}

const _: () = assert!(NODES == RUNNERS, "a place for each");

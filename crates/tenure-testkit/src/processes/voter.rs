//! Regional voters: each runner is one, and there is nothing else.
//!
//! The nodes of the rounds are places of these voters: what is done to node `a` is done to the
//! voter of runner `x`, and so on.

use std::net::{SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use super::host::NODES;
use super::rounds::{is_soak, timing};
use super::{Deployment, Fault, Fleet, Host, Manner, Namespaces, Network, Timing, Weather};

const TOLERANCE: u32 = 6;
const PORT: u16 = 7_100;

/// H, and what a machine with more to do than it can takes for an answer: more elsewhere than in
/// the soak.
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
    Apart(Apart),
}

/// Voters that can be cut off from each other.
struct Apart(Namespaces);

impl Voters {
    /// On loopback, where nothing can be cut.
    #[must_use]
    pub fn on_loopback() -> Self {
        Self { places: Places::Loopback(own_net()), state: tempfile::tempdir().unwrap() }
    }

    /// Each in a network namespace.
    #[must_use]
    pub fn in_namespaces() -> Self {
        let places = Places::Apart(Apart(Namespaces::create()));
        Self { places, state: tempfile::tempdir().unwrap() }
    }

    fn address(&self, host: Host) -> SocketAddr {
        let runner = runner_at(host);
        match &self.places {
            Places::Loopback(net) => loopback(*net, runner.index()),
            Places::Apart(Apart(namespaces)) => (namespaces.listen(runner).ip(), PORT).into(),
        }
    }

    fn list(&self) -> String {
        let one = |runner: Host| format!("{runner}=http://{}", self.address(runner));
        Host::runners().map(one).collect::<Vec<_>>().join(",")
    }
}

/// A part of loopback that this process has alone for as long as it lives: a name that one process
/// at a time can have stands for it. An address of its own beside the usual one, so that no
/// connection out of any port has taken it.
///
/// # Panics
/// When thousands are taken.
#[must_use]
pub fn own_net() -> [u8; 2] {
    static RESERVED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());
    // Only to be elsewhere than others from the start.
    let first = std::process::id();
    let reserve = |number: u32| {
        let [.., high, low] = number.to_be_bytes();
        let net = [64 + high % 128, low];
        let name = format!("tenure-net-{}-{}", net[0], net[1]);
        let name = UnixAddress::from_abstract_name(name).ok()?;
        let reserved = UnixDatagram::bind_addr(&name).ok()?;
        // A process that outlives its test may listen there still.
        TcpListener::bind(loopback(net, 0)).ok()?;
        RESERVED.lock().unwrap().push(reserved);
        Some(net)
    };
    (first..first + 10_000).find_map(reserve).expect("a free part of loopback")
}

/// The address of the `nth` of this part.
#[must_use]
pub fn loopback([high, low]: [u8; 2], nth: usize) -> SocketAddr {
    ([127, high, low, 10 + u8::try_from(nth).unwrap()], PORT).into()
}

/// Whose voter is meant.
fn runner_at(host: Host) -> Host {
    if host.is_node() { Host::runner(host.index()) } else { host }
}

impl Network for Apart {
    fn member(&self, node: Host) -> SocketAddr {
        self.listen(node)
    }

    fn listen(&self, host: Host) -> SocketAddr {
        self.0.listen(runner_at(host))
    }

    fn command(&self, host: Host, program: &str) -> Command {
        self.0.command(runner_at(host), program)
    }

    fn cut(&self, from: Host, to: Host) {
        let (from, to) = (runner_at(from), runner_at(to));
        if from != to {
            self.0.cut(from, to);
        }
    }

    fn set_weather(&self, _: Weather) {
        unreachable!("`knows` says so");
    }

    fn heal(&self) {
        self.0.heal();
    }
}

impl Deployment for Voters {
    /// Of the three places one is the leader's own.
    const NEEDED: usize = 1;

    /// L follows from H and the tolerance.
    fn timing(&self) -> Timing {
        Timing { lease: paces()[0] * (TOLERANCE + 1), ..timing() }
    }

    /// The lease follows.
    fn flags(&self) -> Vec<String> {
        let Timing { grace, kill_margin, .. } = self.timing();
        let [heartbeat, request] = paces();
        let times = [
            ("heartbeat-interval", heartbeat),
            ("request-timeout", request),
            ("grace", grace),
            ("kill-margin", kill_margin),
        ];
        let times = times.map(|(flag, span)| format!("--{flag}={}ms", span.as_millis()));
        times.into_iter().chain([format!("--missed-heartbeat-tolerance={TOLERANCE}")]).collect()
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
        match &self.places {
            Places::Loopback(_) => None,
            Places::Apart(apart) => Some(apart),
        }
    }

    /// Nobody is named in a hand-over, there are no routes and no clients, a connection loses
    /// nothing, and a voter whose directory is lost has no vote until an operator says so.
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

    fn start(_: &mut Fleet<Self>) {}

    fn await_ready(_: &Fleet<Self>) {}

    fn kill(fleet: &mut Fleet<Self>, node: Host) {
        fleet.kill(runner_at(node));
    }

    fn restart(fleet: &mut Fleet<Self>, node: Host) {
        fleet.start_runner(runner_at(node), Manner::Polite);
    }

    fn signal(fleet: &mut Fleet<Self>, node: Host, signal: Signal) {
        match signal == Signal::STOP {
            true => fleet.freeze(runner_at(node)),
            false => fleet.signal(runner_at(node), signal),
        }
    }

    fn lose_state(_: &Fleet<Self>, _: Host) {
        unreachable!("`knows` says so");
    }
}

const _: () = assert!(NODES == super::host::RUNNERS, "a place for each");

//! Elections on etcd: three members, and an observer in addition to the runners.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;
use tenure_core::Time;
use tenure_services::Daemon;
use tenure_services::etcd::{Cluster, ClusterConfig, Host as Place};

use crate::processes::rounds::is_soak;
use crate::processes::{
    Deployment, ELECTION, Fault, Fleet, Host, Leadership, Manner, Namespaces, Network, Timing,
    eventually,
};

const OBSERVER: Host = Host::runner(2);

/// A lease that etcd grants as requested. Outside the soak the machine may stand still for three
/// seconds at the end of a lease.
fn timing() -> Timing {
    Timing::of_millis([4_000, 800], [12_000, 3_000])
}

/// Bound on the delay of an expiry: etcd checks for expired leases twice a second, and decides
/// their end through Raft.
const EXPIRY: Duration = Duration::from_secs(1);
/// Delay that an overloaded machine may add to any step.
const NOISE: Duration = Duration::from_secs(10);
/// Bound on a notification: a hundred times the usual time, and much less than the 10 s after which
/// a waiting candidate checks by itself.
const PROMPT: Duration = Duration::from_secs(2);

/// Members of etcd, on this machine or each in a namespace.
pub struct Etcd {
    pub cluster: Cluster,
    network: Option<Namespaces>,
}

impl Etcd {
    /// Starts three members on this machine.
    pub fn start(config: ClusterConfig) -> Self {
        Self { cluster: config.start().unwrap(), network: None }
    }

    /// Starts three members in these namespaces.
    pub fn start_in(network: Namespaces, config: ClusterConfig) -> Self {
        let place = |(address, wrapper)| Place { address, wrapper };
        let places: Vec<Place> = Host::nodes().map(|node| network.place(node)).map(place).collect();
        Self { network: Some(network), ..Self::start(config.hosts(places)) }
    }
}

impl Deployment for Etcd {
    const NEEDED: usize = 1;

    fn timing(&self) -> Timing {
        timing()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let endpoints = self.cluster.endpoints().join(",");
        vec![("TENURE_PROTOCOL", "etcd".to_owned()), ("TENURE_ENDPOINTS", endpoints)]
    }

    fn participate(&self, runner: Host, command: &mut Command) {
        command.arg("--value").arg(runner.name());
    }

    fn network(&self) -> Option<&dyn Network> {
        self.network.as_ref().map(|network| network as _)
    }

    /// A member never restarts without its data, a transfer names no successor, and TCP turns lost
    /// packets into delay.
    fn knows(&self, fault: Fault) -> bool {
        match fault {
            Fault::RunnerCutOff | Fault::GuardStopped | Fault::NodeCutOff => self.network.is_some(),
            Fault::StateDeleted | Fault::Transferred | Fault::Storm => false,
            Fault::RoutesCut | Fault::ClientMoved | Fault::RunnerJoins => false,
            _ => true,
        }
    }

    /// Starts the observer, and the runners one after the other: the first leads, and the others
    /// wait in this order. The members run already.
    fn start(fleet: &mut Fleet<Self>) {
        let observe = fleet.tenure(OBSERVER, &["observe", "--json"]);
        fleet.spawn("observer", observe);
        for (number, runner) in Host::runners().enumerate() {
            fleet.start_runner(runner, Manner::ALL[number]);
            fleet.await_keys(number + 1);
        }
        fleet.await_any();
    }

    fn await_ready(fleet: &Fleet<Self>) {
        fleet.etcd().wait_ready().unwrap();
        fleet.await_keys(Host::runners().count());
    }

    fn server(&self, node: Host) -> Option<&Daemon> {
        Some(self.cluster.member(node.index()))
    }

    fn take_over(&self) -> Option<Duration> {
        Some(timing().lease + EXPIRY + NOISE)
    }

    fn finish(fleet: Fleet<Self>) {
        fleet.works_again();
    }
}

impl Fleet<Etcd> {
    fn etcd(&self) -> &Cluster {
        &self.deployment.cluster
    }

    /// The state that the observer printed last.
    fn observed(&self) -> Option<String> {
        let told = self.said("observer");
        let last = told[..=told.rfind('\n')?].lines().next_back()?;
        let told: serde_json::Value = serde_json::from_str(last).unwrap();
        told["state"].as_str().map(str::to_owned)
    }

    /// Number of candidates that have a key.
    fn keys(&self) -> usize {
        let prefix = format!("{ELECTION}/");
        // Without a quorum the members do not answer.
        let keys = self.etcd().etcdctl(&["get", &prefix, "--prefix", "--keys-only"]);
        keys.unwrap_or_default().split_whitespace().count()
    }

    /// Waits until this number of candidates has a key.
    #[track_caller]
    fn await_keys(&self, count: usize) {
        let what = format!("there are {count} candidates");
        eventually(&what, || (self.keys() == count).then_some(()));
    }

    /// Makes `leader` resign, and returns the time until the next leadership.
    #[track_caller]
    fn hand_over(&mut self, leader: &Leadership) -> Duration {
        let runner = Host::named(&leader.id).unwrap();
        eventually(&format!("{leader} resigns, see tell.log"), || {
            let told = self.tell(runner, &["resign"]);
            // The leadership may have ended by itself at this moment, on a machine that stood
            // still.
            (told == Some(0) || self.judged().fence() > leader.fence).then_some(())
        });
        let resigned = clock::now();
        let next = self.await_leader(leader.fence, Time::ZERO);
        let took = self.judged().began_after(leader.fence).unwrap().since(resigned);
        println!("resigned: {next} after {took:.2?}, at most {NOISE:?}");
        assert!(took <= NOISE || !is_soak(), "{took:?} is more than {NOISE:?}");
        took
    }

    /// Checks that all three runners campaign, lead one after the other, and leave no key.
    #[track_caller]
    fn works_again(mut self) {
        let missing = Host::runners().filter(|runner| !self.runs(*runner));
        for runner in missing.collect::<Vec<_>>() {
            self.start_runner(runner, Manner::Polite);
        }
        self.await_keys(Host::runners().count());
        let mut led = Vec::new();
        let mut took = Vec::new();
        for _ in Host::runners() {
            let leader = self.await_any();
            took.push(self.hand_over(&leader));
            led.push(leader.id);
        }
        let fastest = took.iter().min().unwrap();
        assert!(*fastest <= PROMPT || !is_soak(), "nobody is woken up: {took:?}");
        for runner in Host::runners() {
            self.signal(runner, Signal::TERM);
        }
        for runner in Host::runners() {
            assert_eq!(self.ended(runner).code(), Some(143), "128 + SIGTERM");
        }
        self.await_keys(0);
        let leases = || self.etcd().etcdctl(&["lease", "list"]);
        let none = || leases().is_ok_and(|leases| leases.contains("found 0 leases"));
        eventually("no lease is left", || none().then_some(()));
        eventually("the observer knows", || (self.observed()? == "vacant").then_some(()));
        let tallies = self.judged().tallies;
        println!(
            "{} leaderships, {} lines, 0 overlaps; {led:?} resigned",
            tallies.leaderships, tallies.lines
        );
        self.expect_no_panics();
    }
}

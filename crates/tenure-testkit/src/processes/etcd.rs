//! Elections on etcd: three of its members, and an observer beside the runners.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;
use tenure_core::{Fence, Time};
use tenure_services::Daemon;
use tenure_services::etcd::{Cluster, ClusterConfig, Host as Place, Member};

use super::rounds::is_soak;
use super::{
    Deployment, ELECTION, Fault, Fleet, Host, Leadership, Manner, Namespaces, Network, Timing,
    eventually, output,
};

/// The host of the observer, and of commands that ask once.
pub const OBSERVER: Host = Host::runner(2);

/// The lease as asked for and as granted, unless a test wants another. The machine may stand still
/// just when it ends: elsewhere than in the soak for three seconds.
pub fn timing() -> Timing {
    Timing::of_millis([4_000, 800], [12_000, 3_000])
}

/// The lease of [`timing`].
pub fn lease() -> Duration {
    timing().lease
}

/// etcd looks for expired leases twice a second, and takes what it finds through Raft.
pub const EXPIRY: Duration = Duration::from_secs(1);
/// Delay that an overloaded machine may add to anything.
pub const NOISE: Duration = Duration::from_secs(10);
/// More than being woken up takes, even where it takes a hundred times as long as elsewhere, and
/// much less than the 10 s after which a waiting candidate looks again by itself.
pub const PROMPT: Duration = Duration::from_secs(2);
/// From the last sign of life of a leader to the begin of the next.
pub fn take_over() -> Duration {
    lease() + EXPIRY + NOISE
}
/// How long etcd may take for a new leader of its own: two time-outs of a second, and a vote.
pub const ELECTION_OF_ETCD: Duration = Duration::from_secs(3);

/// Members of etcd, on this machine or each in a namespace.
pub struct Etcd {
    pub cluster: Cluster,
    network: Option<Namespaces>,
    lease: Duration,
}

impl Etcd {
    /// Starts three members on this machine.
    pub fn start(config: ClusterConfig) -> Self {
        Self { cluster: config.start().unwrap(), network: None, lease: lease() }
    }

    /// Starts three members in these namespaces.
    pub fn start_in(network: Namespaces, config: ClusterConfig) -> Self {
        let place = |(address, wrapper)| Place { address, wrapper };
        let places: Vec<Place> = Host::nodes().map(|node| network.place(node)).map(place).collect();
        Self { network: Some(network), ..Self::start(config.hosts(places)) }
    }

    /// The same with leases of this length.
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }
}

impl Deployment for Etcd {
    const NEEDED: usize = 1;

    fn timing(&self) -> Timing {
        Timing { lease: self.lease, ..timing() }
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

    /// No member comes back without its data, nobody is named in a hand-over, and what is lost of
    /// a stream of bytes is only late.
    fn knows(&self, fault: Fault) -> bool {
        match fault {
            Fault::RunnerCutOff | Fault::GuardStopped | Fault::NodeCutOff => self.network.is_some(),
            Fault::StateDeleted | Fault::Transferred | Fault::Storm => false,
            Fault::RoutesCut | Fault::ClientMoved | Fault::RunnerJoins => false,
            _ => true,
        }
    }

    /// The members run already: the observer, and the runners one after the other. The first
    /// leads, and the others wait in their order.
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
        Some(take_over())
    }

    fn finish(fleet: Fleet<Self>) {
        fleet.works_again();
    }
}

impl Fleet<Etcd> {
    /// The members.
    pub fn etcd(&self) -> &Cluster {
        &self.deployment.cluster
    }

    /// The host of the runner that leads.
    pub fn runner_of(leader: &Leadership) -> Host {
        Host::named(&leader.id).unwrap()
    }

    /// The member that `runner` asks: the one that it said last.
    pub fn asked_by(&self, runner: Host) -> &Member {
        // The runner may have a key before it has said where.
        let last = eventually("a runner says whom it asks", || {
            let said = self.said(runner);
            let endpoint = |line: &str| Some(line.split_once("connected to ")?.1.to_owned());
            said.lines().filter_map(endpoint).next_back()
        });
        let (last, _) = last.split_once(',').unwrap_or_else(|| panic!("no endpoint in {last}"));
        self.etcd().members().find(|member| member.endpoint() == last).unwrap()
    }

    /// Asks once who leads: the exit code, and what was printed.
    pub fn ask(&self) -> (Option<i32>, String) {
        let told = output(&mut self.tenure(OBSERVER, &["leader", "--json"]));
        (told.status.code(), String::from_utf8_lossy(&told.stdout).into_owned())
    }

    /// Reports of the observer so far.
    fn told(&self) -> Vec<serde_json::Value> {
        let told = self.said("observer");
        let whole = told.rfind('\n').map_or("", |end| &told[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The states that the observer has printed so far.
    pub fn observed(&self) -> Vec<String> {
        let told = self.told();
        told.iter().map(|told| told["state"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the observer has printed the present leader.
    #[track_caller]
    pub fn await_observed(&mut self) {
        let fence = self.await_any().fence.number();
        let told = || self.told().last().and_then(|told| told["fence"].as_u64());
        eventually("the observer knows who leads", || (told()? >= fence).then_some(()));
    }

    /// The keys of the election, the leader's first.
    pub fn keys(&self) -> Vec<String> {
        let prefix = format!("{ELECTION}/");
        let words = ["get", &prefix, "--prefix", "--keys-only", "--sort-by=CREATE"];
        // Without a quorum nobody answers.
        let keys = self.etcd().etcdctl(&words).unwrap_or_default();
        keys.split_whitespace().map(str::to_owned).collect()
    }

    /// The runner that comes after the leader, as soon as there is a second.
    pub fn next_in_line(&self) -> Host {
        let prefix = format!("{ELECTION}/");
        let words = ["get", &prefix, "--prefix", "--print-value-only", "--sort-by=CREATE"];
        eventually("somebody is next in line", || {
            let values = self.etcd().etcdctl(&words).ok()?;
            values.split_whitespace().nth(1).map(|value| Host::named(value).unwrap())
        })
    }

    /// Waits until there are so many, and says which.
    #[track_caller]
    pub fn await_keys(&self, count: usize) -> Vec<String> {
        let what = format!("there are {count} candidates");
        eventually(&what, || Some(self.keys()).filter(|keys| keys.len() == count))
    }

    /// Waits for the leader after the one with `fence`, who must begin `within` that time of
    /// `since` in the soak; says how long it took.
    #[track_caller]
    pub fn next_within(
        &mut self,
        fence: Fence,
        since: Time,
        within: Duration,
        what: &str,
    ) -> Duration {
        let next = self.await_leader(fence, Time::ZERO);
        let took = self.judged().began_after(fence).unwrap().since(since);
        println!("{what}: {next} after {took:.2?}, at most {within:?}");
        assert!(took <= within || !is_soak(), "{what}: {took:?} is more than {within:?}");
        took
    }

    /// `leader`, if etcd came back in time for its lease, or else the next one; in the soak
    /// somebody works no later after `struck` than etcd takes to elect a leader of its own and
    /// to end a lease that began anew with that.
    #[track_caller]
    pub fn someone_leads(&mut self, leader: &Leadership, struck: Time, what: &str) {
        let bound = ELECTION_OF_ETCD + take_over();
        let now = self.await_any();
        let seen = clock::now().since(struck);
        assert!(
            seen <= bound || !is_soak(),
            "{what}: nobody works after {seen:?}, more than {bound:?}"
        );
        if now.fence > leader.fence {
            self.next_within(leader.fence, struck, bound, what);
        } else {
            println!("{what}: {leader} stayed");
        }
    }

    /// Has `leader` resign, and waits until it is done.
    #[track_caller]
    pub fn resign(&mut self, leader: &Leadership) {
        eventually(&format!("{leader} resigns, see tell.log"), || {
            let told = self.tell(Self::runner_of(leader), &["resign"]);
            // A leadership may end by itself just then, on a machine that stands still.
            (told == Some(0) || self.judged().fence() > leader.fence).then_some(())
        });
    }

    /// Has `leader` resign, and says how long it then takes until the next one leads.
    #[track_caller]
    pub fn hand_over(&mut self, leader: &Leadership) -> Duration {
        self.resign(leader);
        self.next_within(leader.fence, clock::now(), NOISE, "resigned")
    }

    /// Checks that all three runners contend, lead one after the other, and leave nothing behind.
    #[track_caller]
    pub fn works_again(mut self) {
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
        eventually("the observer knows", || (self.observed().last()? == "vacant").then_some(()));
        let tallies = self.judged().tallies;
        println!(
            "{} leaderships, {} lines, 0 overlaps; {led:?} resigned",
            tallies.leaderships, tallies.lines
        );
        self.expect_no_panics();
    }
}

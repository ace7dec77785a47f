//! Three members of etcd, and three processes of `tenure run` with a worker as CMD.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure::clock;
use tenure_core::{Fence, Time};
use tenure_services::etcd::{Cluster, ClusterConfig, Member};

use crate::host::Host;
use crate::journal::Journal;
use crate::judge::{Judge, Leadership};
use crate::marked::{MARK, Marked, is_stopped};
use crate::scenes::{ELECTION_OF_ETCD, TAKE_OVER};
use crate::wait::{PATIENCE, ended, eventually, output};
use crate::worker::{self, Manner};

const TENURE: &str = env!("CARGO_BIN_EXE_tenure");
pub(crate) const ELECTION: &str = "chaos";
/// Where the observer is, and whoever asks once.
pub(crate) const OBSERVER: Host = Host::runner(2);

/// The length of leases, as asked for and as granted, unless a scene wants another.
pub(crate) const LEASE: Duration = Duration::from_secs(4);
pub(crate) const GRACE: Duration = Duration::from_millis(800);
/// How long the machine may stand still just when a lease ends.
const KILL_MARGIN: Duration = Duration::from_millis(500);

/// etcd looks for expired leases twice a second, and takes what it finds through Raft.
pub(crate) const EXPIRY: Duration = Duration::from_secs(1);
/// What a machine with more to do than it can may add to anything.
pub(crate) const NOISE: Duration = Duration::from_secs(10);
/// More than being woken up takes, even where it takes a hundred times as long as elsewhere, and
/// much less than the 10 s after which whoever waits looks again by itself.
pub(crate) const PROMPT: Duration = Duration::from_secs(2);

/// Makes a command that runs where a runner is; the caller adds its arguments.
pub(crate) type Place = Box<dyn Fn(Host, &str) -> Command>;

pub(crate) struct Team {
    pub(crate) etcd: Cluster,
    place: Place,
    lease: Duration,
    /// Set while this lives.
    folder: Option<TempDir>,
    processes: BTreeMap<Host, Child>,
    observer: Option<Child>,
    journal: Journal,
}

impl Team {
    /// On this machine.
    pub(crate) fn start(etcd: ClusterConfig) -> Self {
        Self::start_with(etcd, LEASE)
    }

    /// On this machine, with leases of this length.
    pub(crate) fn start_with(etcd: ClusterConfig, lease: Duration) -> Self {
        Self::start_at(etcd, lease, Box::new(|_, program| Command::new(program)))
    }

    /// Starts the members, an observer, and the runners one after the other: the first leads,
    /// and the others wait in their order.
    pub(crate) fn start_at(etcd: ClusterConfig, lease: Duration, place: Place) -> Self {
        let etcd = etcd.start().unwrap();
        let folder = tempfile::Builder::new().prefix("tenure-etcd-chaos-").tempdir().unwrap();
        let journal = Journal::create(folder.path().join("journal"));
        let (processes, folder) = (BTreeMap::new(), Some(folder));
        let mut team = Self { etcd, place, lease, folder, processes, observer: None, journal };
        let mut observe = team.tenure(OBSERVER, &["observe", "--json"]);
        let log = File::create(team.log("observer")).unwrap();
        team.observer = Some(observe.stdout(log).stderr(Stdio::null()).spawn().unwrap());
        for (number, runner) in Host::runners().enumerate() {
            team.start_runner(runner, Manner::ALL[number]);
            team.await_keys(number + 1);
        }
        team.await_any();
        team
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.log"))
    }

    fn control(&self, runner: Host) -> PathBuf {
        self.folder().join(format!("{runner}.sock"))
    }

    /// `tenure` at the place of `runner`, so that nobody's environment gets in.
    fn tenure(&self, runner: Host, words: &[&str]) -> Command {
        let mut command = (self.place)(runner, TENURE);
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TENURE_") {
                command.env_remove(name);
            }
        }
        command.env("TENURE_PROTOCOL", "etcd").env("TENURE_ELECTION", ELECTION);
        command.env("TENURE_ENDPOINTS", self.etcd.endpoints().join(","));
        command.env("XDG_RUNTIME_DIR", self.folder()).env(MARK, self.folder());
        command.args(words).stdin(Stdio::null());
        command
    }

    pub(crate) fn start_runner(&mut self, runner: Host, manner: Manner) {
        let mut command = self.tenure(runner, &["run", "--id", runner.name(), "--log", "debug"]);
        let spans = [("--lease", self.lease), ("--grace", GRACE), ("--kill-margin", KILL_MARGIN)];
        for (flag, span) in spans {
            command.arg(flag).arg(format!("{}ms", span.as_millis()));
        }
        command.arg("--value").arg(runner.name()).arg("--control").arg(self.control(runner));
        let worker = env::current_exe().unwrap();
        command.arg("--").arg(worker).arg(worker::ROLE).arg(self.journal.path());
        command.arg(manner.word());
        let log = File::options().append(true).create(true).open(self.log(runner.name()));
        let log = log.unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let before = self.processes.insert(runner, command.spawn().unwrap());
        assert!(before.is_none(), "{runner} runs already");
    }

    pub(crate) fn runner_of(leader: &Leadership) -> Host {
        Host::named(&leader.id).unwrap()
    }

    fn process(&mut self, runner: Host) -> &mut Child {
        self.processes.get_mut(&runner).unwrap_or_else(|| panic!("{runner} does not run"))
    }

    /// To the process that was started for `runner`. It is not reaped, so its number is its own.
    pub(crate) fn signal(&mut self, runner: Host, signal: Signal) {
        kill_process(Pid::from_child(self.process(runner)), signal).unwrap();
    }

    /// Stops it, and waits until it stands still.
    pub(crate) fn freeze(&mut self, runner: Host) {
        stop(Pid::from_child(self.process(runner)));
    }

    /// Stops the observer, and waits until it stands still.
    pub(crate) fn freeze_observer(&self) {
        stop(Pid::from_child(self.observer.as_ref().unwrap()));
    }

    pub(crate) fn thaw_observer(&self) {
        kill_process(Pid::from_child(self.observer.as_ref().unwrap()), Signal::CONT).unwrap();
    }

    /// The member that `runner` asks: the one that it said last.
    pub(crate) fn asked_by(&self, runner: Host) -> Member<'_> {
        // It may have a key before it has said where.
        let last = eventually("a runner says whom it asks", || {
            let said = self.said(runner);
            let endpoint = |line: &str| Some(line.split_once("connected to ")?.1.to_owned());
            said.lines().filter_map(endpoint).next_back()
        });
        let (last, _) = last.split_once(',').unwrap_or_else(|| panic!("no endpoint in {last}"));
        self.etcd.members().find(|member| member.endpoint() == last).unwrap()
    }

    /// As by `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self, runner: Host) {
        self.process(runner).kill().unwrap();
        self.ended(runner);
    }

    /// Waits until it ends; its exit code.
    pub(crate) fn ended(&mut self, runner: Host) -> Option<i32> {
        let status = ended(&format!("{runner} ends"), self.process(runner));
        self.processes.remove(&runner);
        status.code()
    }

    /// What it has said so far.
    pub(crate) fn said(&self, runner: Host) -> String {
        fs::read_to_string(self.log(runner.name())).unwrap()
    }

    /// Asks once who leads: the exit code, and what was printed.
    pub(crate) fn ask(&self) -> (Option<i32>, String) {
        let told = output(&mut self.tenure(OBSERVER, &["leader", "--json"]));
        (told.status.code(), String::from_utf8_lossy(&told.stdout).into_owned())
    }

    /// What the observer has told so far.
    fn told(&self) -> Vec<serde_json::Value> {
        let told = fs::read_to_string(self.log("observer")).unwrap();
        let whole = told.rfind('\n').map_or("", |end| &told[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The states that the observer has told so far.
    pub(crate) fn observed(&self) -> Vec<String> {
        let told = self.told();
        told.iter().map(|told| told["state"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the observer has told of the leader that there is.
    #[track_caller]
    pub(crate) fn await_observed(&mut self) {
        let fence = self.await_any().fence.number();
        let told = || self.told().last().and_then(|told| told["fence"].as_u64());
        eventually("the observer knows who leads", || (told()? >= fence).then_some(()));
    }

    /// The keys of the election, the leader's first.
    pub(crate) fn keys(&self) -> Vec<String> {
        let prefix = format!("{ELECTION}/");
        let words = ["get", &prefix, "--prefix", "--keys-only", "--sort-by=CREATE"];
        // Without a quorum nobody answers.
        let keys = self.etcd.etcdctl(&words).unwrap_or_default();
        keys.split_whitespace().map(str::to_owned).collect()
    }

    /// Who comes after the leader, as soon as somebody does.
    pub(crate) fn next_in_line(&self) -> Host {
        let prefix = format!("{ELECTION}/");
        let words = ["get", &prefix, "--prefix", "--print-value-only", "--sort-by=CREATE"];
        eventually("somebody is next in line", || {
            let values = self.etcd.etcdctl(&words).ok()?;
            values.split_whitespace().nth(1).map(|value| Host::named(value).unwrap())
        })
    }

    /// Waits until there are so many, and says which.
    #[track_caller]
    pub(crate) fn await_keys(&self, count: usize) -> Vec<String> {
        let what = format!("there are {count} candidates");
        eventually(&what, || Some(self.keys()).filter(|keys| keys.len() == count))
    }

    /// Judges all that was written since the last time.
    #[track_caller]
    pub(crate) fn judged(&mut self) -> &Judge {
        self.journal.read_on().unwrap_or_else(|violation| panic!("{violation}"))
    }

    /// The journal as it is, for whoever judges it in another way.
    pub(crate) fn journal(&self) -> String {
        fs::read_to_string(self.journal.path()).unwrap()
    }

    /// Waits until a leader with a fence above `fence` works, after `since`.
    #[track_caller]
    pub(crate) fn await_leader(&mut self, fence: Fence, since: Time) -> Leadership {
        let give_up = clock::now().after(PATIENCE);
        loop {
            let leader = self.judged().current().cloned();
            let is_it = |l: &Leadership| l.fence > fence && l.ticks > 0 && l.last > since;
            match leader {
                Some(leader) if is_it(&leader) => return leader,
                leader => assert!(
                    clock::now() < give_up,
                    "no leader with a fence above {fence} in {PATIENCE:?}; the last: {leader:?}"
                ),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until somebody leads.
    #[track_caller]
    pub(crate) fn await_any(&mut self) -> Leadership {
        self.await_leader(Fence::NONE, clock::now())
    }

    /// Waits for the leader after the one with `fence`, who must begin `within` that time of
    /// `since`; says how long it took.
    #[track_caller]
    pub(crate) fn next_within(
        &mut self,
        fence: Fence,
        since: Time,
        within: Duration,
        what: &str,
    ) -> Duration {
        let next = self.await_leader(fence, Time::ZERO);
        let took = self.judged().began_after(fence).unwrap().since(since);
        println!("{what}: {next} after {took:.2?}, at most {within:?}");
        assert!(took <= within, "{what}: {took:?} is more than {within:?}");
        took
    }

    /// `leader`, if etcd came back in time for its lease, or else the next one; in any case
    /// somebody works no later after `struck` than etcd takes to elect a leader of its own and
    /// to end a lease that began anew with that.
    #[track_caller]
    pub(crate) fn someone_leads(&mut self, leader: &Leadership, struck: Time, what: &str) {
        let bound = ELECTION_OF_ETCD + TAKE_OVER;
        let now = self.await_any();
        let seen = clock::now().since(struck);
        assert!(seen <= bound, "{what}: nobody works after {seen:?}, more than {bound:?}");
        if now.fence > leader.fence {
            self.next_within(leader.fence, struck, bound, what);
        } else {
            println!("{what}: {leader} stayed");
        }
    }

    /// Has `leader` resign, and waits until it is done.
    #[track_caller]
    pub(crate) fn resign(&mut self, leader: &Leadership) {
        let runner = Self::runner_of(leader);
        let mut resign = self.tenure(runner, &["resign", "--control"]);
        let told = output(resign.arg(self.control(runner)));
        // A leadership may end by itself just then, on a machine that stands still.
        let lost = self.judged().fence() > leader.fence;
        assert!(told.status.success() || lost, "{}", String::from_utf8_lossy(&told.stderr));
    }

    /// Has `leader` resign, and says how long it then takes until the next one leads.
    #[track_caller]
    pub(crate) fn hand_over(&mut self, leader: &Leadership) -> Duration {
        self.resign(leader);
        self.next_within(leader.fence, clock::now(), NOISE, "resigned")
    }

    /// That all three contend, lead one after the other, and leave nothing behind.
    #[track_caller]
    pub(crate) fn works_again(mut self) {
        let missing = Host::runners().filter(|runner| !self.processes.contains_key(runner));
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
        assert!(*fastest <= PROMPT, "nobody is woken up: {took:?}");
        for runner in Host::runners() {
            self.signal(runner, Signal::TERM);
        }
        for runner in Host::runners() {
            assert_eq!(self.ended(runner), Some(143), "128 + SIGTERM");
        }
        self.await_keys(0);
        let leases = || self.etcd.etcdctl(&["lease", "list"]);
        let none = || leases().is_ok_and(|leases| leases.contains("found 0 leases"));
        eventually("no lease is left", || none().then_some(()));
        eventually("the observer knows", || (self.observed().last()? == "vacant").then_some(()));
        let tallies = self.judged().tallies;
        println!(
            "{} leaderships, {} lines, 0 overlaps; {led:?} resigned",
            tallies.leaderships, tallies.lines
        );
        for runner in Host::runners() {
            let said = self.said(runner);
            let panic = said.lines().find(|line| line.contains("panicked at"));
            assert!(panic.is_none(), "{runner}: {}", panic.unwrap_or_default());
        }
    }
}

/// Stops a process of ours, and waits until it stands still.
fn stop(pid: Pid) {
    kill_process(pid, Signal::STOP).unwrap();
    eventually("a process stands still", || is_stopped(pid.as_raw_pid()).then_some(()));
}

impl Drop for Team {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        // First by their handles: in the middle of `execve` a process shows no environment, and
        // so no mark.
        for child in self.processes.values_mut().chain(&mut self.observer) {
            child.kill().ok();
        }
        let give_up = clock::now().after(PATIENCE);
        loop {
            let alive = Marked::all(folder.path());
            for child in self.processes.values_mut().chain(&mut self.observer) {
                child.try_wait().ok();
            }
            if alive.is_empty() || clock::now() > give_up {
                break;
            }
            alive.iter().for_each(|process| process.signal(Signal::KILL));
            thread::sleep(Duration::from_millis(1));
        }
        if thread::panicking() {
            println!("journal and logs are kept in {}", folder.keep().display());
        }
    }
}

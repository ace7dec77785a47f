//! Two CMDs never run at once on etcd, although etcd revokes leases that were renewed
//! (`docs/decisions/late-revocations.md`).
//!
//! The test cuts etcd's leader off from the other members until it is deposed, and then connects it
//! again. The old leader makes its successor revoke each lease that has ended by the old leader's
//! clock, except for the first 16 leases. A crowd of unrenewed leases makes it unlikely that our
//! leases are among these 16. When the revocations come, the leading runners stand still, as paused
//! machines do: a leader that loses its key then has a successor while its CMD works on.
//!
//! Needs root, `ip` (iproute2) and `iptables`; a minute for each trial. `cargo xtask soak` runs it;
//! `TENURE_TRIALS` sets the number of trials.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::process::{Child, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{CallId, LeaseId, Op, Reply, Request};
use tenure_etcd::Options;
use tenure_etcd::wire::{Incoming, Wire};
use tenure_services::etcd::{self, Cluster, ClusterConfig, Member, Version};
use tenure_testkit::processes::{
    Host, Journal, Namespaces, Network, PACE, ROLE, eventually, main as started,
};

const TENURE: &str = env!("CARGO_BIN_EXE_tenure");
/// The number of trials in which a late revocation must threaten a lease of ours, unless the
/// variable gives another number.
const TRIALS: usize = 10;
const TRIALS_VARIABLE: &str = "TENURE_TRIALS";
const ELECTIONS: usize = 28;
const LEASE: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(1);
/// The election timeout of etcd.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for which etcd's leader is cut off: long enough that it no longer believes that it leads.
const CUT: Duration = Duration::from_secs(11);
/// Time after the cut at which the leading runners are stopped. Leases end at most `LEASE` after
/// the cut. The first 16 revocations of a lot time out `ReqTimeout` = 15 s later, and etcd then
/// sends the other revocations.
const STOP: Duration = Duration::from_millis(22_300);
/// Time for which the runners stand still: all their leases are over by then.
const STOPPED: Duration = Duration::from_secs(14);
/// The number of unrenewed leases, and the time in which they are granted.
const CROWD: u64 = 1_000;
const CROWD_SPAN: Duration = Duration::from_secs(5);
const CROWD_ROLE: &str = "__crowd";
/// The host of all runners.
const RUNNERS: Host = Host::runner(0);

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|role| role == CROWD_ROLE) {
        return crowd(args);
    }
    started(tests)
}

fn tests() -> ExitCode {
    let trial = Trial::test("late revocations", || {
        trials();
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

fn trials() {
    let trials = env::var(TRIALS_VARIABLE).ok().map_or(TRIALS, |text| text.parse().unwrap());
    let mut lab = Lab::start();
    let (mut met, mut tried, mut overlaps) = (0, 0, 0);
    while met < trials && tried < 3 * trials {
        tried += 1;
        let TrialFindings { late, stayed, overlapping } = lab.trial();
        println!(
            "trial {tried}: {late} of our leases would have been revoked late, {stayed} of \
             {ELECTIONS} leaders stayed, {overlapping} elections with two CMDs"
        );
        met += usize::from(late > 0 || overlapping > 0);
        overlaps += overlapping;
    }
    println!("{met} of {tried} trials met their moment; {overlaps} elections with two CMDs");
    assert!(met >= trials, "too few trials met their moment");
    assert_eq!(overlaps, 0, "elections with two CMDs");
}

struct TrialFindings {
    /// Leases that carried our keys at the cut, and that the deposed leader wanted to end later.
    late: usize,
    /// Elections with the same leader until the runners were stopped.
    stayed: usize,
    overlapping: usize,
}

struct Lab {
    etcd: Cluster,
    runners: BTreeMap<String, Child>,
    journals: Vec<Journal>,
    network: Namespaces,
    folder: TempDir,
}

impl Lab {
    fn start() -> Self {
        let network = Namespaces::create();
        let place = |node| {
            let (address, wrapper) = network.place(node);
            etcd::Host { address, wrapper }
        };
        let etcd = ClusterConfig::new(Version::Newest, 3)
            .hosts(Host::nodes().map(place).collect())
            .argument(format!("--heartbeat-interval={}", ELECTION_TIMEOUT.as_millis() / 10))
            .argument(format!("--election-timeout={}", ELECTION_TIMEOUT.as_millis()));
        let etcd = etcd.start().unwrap();
        let folder = tempfile::Builder::new().prefix("tenure-etcd-late-").tempdir().unwrap();
        let journal = |n| Journal::create(folder.path().join(format!("journal-{n}")));
        let journals = (0..ELECTIONS).map(journal).collect();
        let mut lab = Self { etcd, runners: BTreeMap::new(), journals, network, folder };
        for who in ["a", "b"] {
            (0..ELECTIONS).for_each(|n| lab.start_runner(who, n));
            lab.await_keys(lab.runners.len());
        }
        lab
    }

    /// The endpoints of the runners: all but the first, whose member is etcd's leader and is cut
    /// off.
    fn endpoints(&self) -> String {
        self.etcd.endpoints()[1..].join(",")
    }

    fn start_runner(&mut self, who: &str, n: usize) {
        let id = format!("{who}{n}");
        let mut command = self.network.command(RUNNERS, TENURE);
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TENURE_") {
                command.env_remove(name);
            }
        }
        command.args(["run", "--protocol", "etcd", "--election", &format!("e{n}"), "--id", &id]);
        command.arg("--endpoints").arg(self.endpoints());
        for (flag, span) in [("--lease", LEASE), ("--grace", GRACE)] {
            command.arg(flag).arg(format!("{}s", span.as_secs()));
        }
        command.arg("--control").arg(self.folder.path().join(format!("{id}.sock")));
        command.env("XDG_RUNTIME_DIR", self.folder.path()).env(PACE, "50");
        command.arg("--").arg(env::current_exe().unwrap()).arg(ROLE);
        command.arg(self.journals[n].path()).arg("polite").stdin(Stdio::null());
        let log = File::create(self.folder.path().join(format!("{id}.log"))).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.runners.insert(id, command.spawn().unwrap());
    }

    /// The leases of our keys.
    fn leases(&self) -> Vec<u64> {
        let words = ["get", "e", "--prefix", "--write-out=json"];
        let Ok(said) = self.etcd.member(1).etcdctl(&words) else { return Vec::new() };
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let keys = said["kvs"].as_array().cloned().unwrap_or_default();
        keys.iter().map(|key| key["lease"].as_u64().unwrap()).collect()
    }

    fn await_keys(&self, count: usize) {
        eventually("all stand in line", || (self.leases().len() == count).then_some(()));
    }

    /// The working process of each election, once all have one.
    fn working(&mut self) -> Vec<String> {
        let since = clock::now();
        eventually("somebody works in each election", || {
            let working = |journal: &mut Journal| {
                let leader = journal.read_on().ok()?.current()?;
                (leader.last > since).then(|| leader.id.clone())
            };
            self.journals.iter_mut().map(working).collect()
        })
    }

    /// Makes etcd's first member its leader, and returns the time at which the test saw this.
    fn lead(&self) -> Time {
        let leads = |member: &Member| member.status().is_ok_and(|status| status.leads());
        let to = |member: usize| {
            eventually("etcd is led by the member that is asked to", || {
                if leads(self.etcd.member(member)) {
                    return Some(clock::now());
                }
                let id = format!("{:x}", self.etcd.member(member).status().ok()?.member);
                let leader = self.etcd.leader().ok()??;
                leader.etcdctl(&["move-leader", &id]).ok()?;
                None
            })
        };
        to(1);
        to(0)
    }

    fn trial(&mut self) -> TrialFindings {
        let since = self.lead();
        self.await_keys(self.runners.len());
        // Leases of this term have been renewed at least once.
        sleep(LEASE / 2);
        self.working();
        // etcd's leader checks once in each election timeout whether it hears a quorum. Cut it off
        // just after such a check, so that it believes for the longest time that it leads.
        let looks = clock::now().since(since).as_nanos() / ELECTION_TIMEOUT.as_nanos() + 2;
        let looks = u32::try_from(looks).unwrap();
        let cut = since.after(ELECTION_TIMEOUT * looks + Duration::from_millis(100));
        sleep(cut.since(clock::now().after(CROWD_SPAN)));
        let mut crowd =
            self.network.command(RUNNERS, env::current_exe().unwrap().to_str().unwrap());
        let crowd = crowd.arg(CROWD_ROLE).arg(&self.etcd.endpoints()[1]).spawn();
        sleep(cut.since(clock::now()));
        let ours: BTreeSet<u64> = self.leases().into_iter().collect();
        let told = self.etcd.member(0).log().len();
        let cut = clock::now();
        self.network.unplug(Host::node(0));
        let leaders = self.working();
        sleep(CUT.saturating_sub(clock::now().since(cut)));
        self.network.plug(Host::node(0));
        assert!(crowd.unwrap().wait().unwrap().success(), "the crowd has its leases");
        sleep(STOP.saturating_sub(clock::now().since(cut)));
        let still = self.working();
        let stayed = leaders.iter().zip(&still).filter(|(before, now)| before == now).count();
        still.iter().for_each(|id| self.signal(id, Signal::STOP));
        sleep(STOPPED);
        still.iter().for_each(|id| self.signal(id, Signal::CONT));
        let log = self.etcd.member(0).log().split_off(told);
        let late = ours.iter().filter(|lease| is_late(&log, **lease)).count();
        TrialFindings { late, stayed, overlapping: self.overlapping() }
    }

    /// The number of elections with two CMDs at once. Prints each violation; a later call reads
    /// only later lines.
    fn overlapping(&mut self) -> usize {
        let mut overlapping = 0;
        for (n, journal) in self.journals.iter_mut().enumerate() {
            if let Err(violation) = journal.read_on() {
                println!("e{n}: {violation}");
                overlapping += 1;
            }
        }
        overlapping
    }

    fn signal(&self, id: &str, signal: Signal) {
        kill_process(Pid::from_child(&self.runners[id]), signal).unwrap();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for (id, child) in &mut self.runners {
            kill_process(Pid::from_child(child), Signal::CONT).ok();
            // The guard ends CMD.
            if let Err(error) = child.kill().and_then(|()| child.wait().map(drop)) {
                println!("{id}: {error}");
            }
        }
    }
}

/// Whether a member's log says that the member tried to revoke this lease, and did not find it.
fn is_late(log: &str, lease: u64) -> bool {
    let name = format!("{lease:016x}");
    let is_it = |line: &str| line.contains("failed to revoke lease") && line.contains("not found");
    log.lines().any(|line| is_it(line) && line.contains(&name))
}

/// Grants the crowd of unrenewed leases: `CROWD` leases, evenly over `CROWD_SPAN`.
fn crowd(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let endpoint = args.next().unwrap().into_string().unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut wire = Wire::new(Options::new(vec![endpoint]).check().unwrap());
        let base = clock::now().as_nanos().cast_signed();
        let mut pace = tokio::time::interval(CROWD_SPAN / u32::try_from(CROWD).unwrap());
        let (mut asked, mut answered, mut granted) = (0, 0, 0);
        while answered < CROWD {
            tokio::select! {
                _ = pace.tick(), if asked < CROWD => {
                    asked += 1;
                    let lease = LeaseId(base + asked.cast_signed());
                    let ttl = u32::try_from(LEASE.as_secs()).unwrap();
                    let (call, within) = (CallId(asked), LEASE / 2);
                    wire.send(Request { call, within, op: Op::Grant { lease, ttl } });
                }
                news = wire.next() => {
                    if let Incoming::Answer(answer) = news {
                        answered += 1;
                        granted += u64::from(matches!(answer.reply, Reply::Granted { .. }));
                    }
                }
            }
        }
        // The cut may have prevented some of the grants; half of them are enough.
        if granted >= CROWD / 2 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

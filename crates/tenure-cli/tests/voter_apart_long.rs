//! Four voters in namespaces, cut into two halves: in `majority` neither half can elect, in
//! `available` each has its leader, and after the heal one leader is left.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::wait::eventually;
use tenure_testkit::processes::{Host, Machine, Namespaces, Network, RunningCommand};

/// A lease of 3.5 s.
const TIMES: [&str; 8] = [
    "--heartbeat-interval=500ms",
    "--missed-heartbeat-tolerance=6",
    "--request-timeout=300ms",
    "--grace=300ms",
    "--election=billing",
    "--protocol=voter",
    "--insecure-any-address",
    "--listen",
];

/// Marks every moment of work, by the clock of the machine, in hundredths of a second.
const WORK: &str = "while :; do echo \"${TENURE_FENCE-0} $(sed 's/ .*//;s/[.]//' /proc/uptime)\" \
                    >>\"$0\"; sleep 0.05; done";

/// The longest span between marks of a working process, in hundredths of a second, on a busy
/// machine.
const WORKING: u64 = 100;

/// Time to watch for a forbidden event: longer than an election takes.
const LONG: Duration = Duration::from_secs(10);

struct Halves {
    // Voters end before their namespaces are removed.
    _voters: Vec<RunningCommand>,
    namespaces: Namespaces,
    machine: Machine,
}

impl Halves {
    fn hosts() -> [Host; 4] {
        [Host::node(0), Host::node(1), Host::node(2), Host::runner(0)]
    }

    fn start(mode: &str) -> Self {
        let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
        let namespaces = Namespaces::create();
        let address = |host| format!("{}:7100", namespaces.listen(host).ip());
        let member = |host: Host| format!("{host}=http://{}", address(host));
        let list = Self::hosts().map(member).join(",");
        let start = |host: Host| {
            let (_, around) = namespaces.place(host);
            let path = |kind: &str| machine.path(&format!("{kind}-{host}")).display().to_string();
            let (state, marks, address) = (path("state"), path("marks"), address(host));
            let own = [&*address, "--id", host.name(), "--mode", mode, "--voter-list", &list];
            let state = match mode {
                "majority" => vec!["--state", &*state],
                _ => Vec::new(),
            };
            let work = ["--", "sh", "-c", WORK, &marks];
            let words = [&["run"], &TIMES[..], &own, &state, &work].concat();
            let around: Vec<_> = around.iter().map(String::as_str).collect();
            machine.spawn(host.name(), machine.command_in(&around, &words))
        };
        let voters = Self::hosts().map(start).into();
        Self { _voters: voters, namespaces, machine }
    }

    /// The first and last mark of each worker, by host and fence.
    fn terms(&self) -> BTreeMap<(&'static str, u64), (u64, u64)> {
        let mut terms = BTreeMap::new();
        for host in Self::hosts().map(Host::name) {
            let marks = fs::read_to_string(self.machine.path(&format!("marks-{host}")));
            for line in marks.unwrap_or_default().lines() {
                let mark = line.split_once(' ').and_then(|(fence, at)| {
                    Some((fence.parse::<u64>().ok()?, at.parse::<u64>().ok()?))
                });
                // A killed process may have left half a line.
                let Some((fence, at)) = mark else { continue };
                terms.entry((host, fence)).or_insert((at, at)).1 = at;
            }
        }
        terms
    }

    /// The hosts with a working process.
    fn working(&self) -> Vec<&'static str> {
        let now = uptime();
        let terms = self.terms().into_iter();
        terms.filter(|(_, (_, last))| now - last < WORKING).map(|((host, _), _)| host).collect()
    }

    fn halve(&self) {
        let [a, b, c, d] = Self::hosts();
        for one in [a, b] {
            for other in [c, d] {
                self.namespaces.cut(one, other);
                self.namespaces.cut(other, one);
            }
        }
    }

    fn await_working(&self, what: &str, wanted: impl Fn(&[&'static str]) -> bool) {
        eventually(what, || wanted(&self.working()).then_some(()));
    }

    /// Checks `wanted` for a while.
    fn always(&self, what: &str, wanted: impl Fn(&[&'static str]) -> bool) {
        for _ in 0..LONG.as_millis() / 200 {
            let working = self.working();
            assert!(wanted(&working), "{what}, and {working:?} work");
            sleep(Duration::from_millis(200));
        }
    }
}

fn uptime() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap();
    text.split(' ').next().unwrap().replace('.', "").parse().unwrap()
}

/// Whether each half has one working process.
fn one_each(working: &[&'static str]) -> bool {
    let left = working.iter().filter(|host| ["a", "b"].contains(host)).count();
    (left, working.len() - left) == (1, 1)
}

fn majority() {
    let halves = Halves::start("majority");
    halves.await_working("somebody leads", |working| working.len() == 1);
    halves.halve();
    halves.await_working("nobody leads", <[_]>::is_empty);
    let before = halves.terms();
    halves.always("two of four are no quorum", <[_]>::is_empty);
    halves.namespaces.heal();
    halves.await_working("somebody leads again", |working| working.len() == 1);
    let terms = halves.terms();
    let fence = |terms: &BTreeMap<(_, u64), _>| terms.keys().map(|(_, fence)| *fence).max();
    assert!(fence(&terms) > fence(&before), "{before:?}, then {terms:?}");
    let mut by_time: Vec<_> = terms.iter().collect();
    by_time.sort_by_key(|(_, (first, _))| *first);
    for pair in by_time.windows(2) {
        let [(_, (_, last)), (_, (first, _))] = pair else { unreachable!() };
        assert!(last <= first, "two worked at once: {by_time:?}");
    }
}

fn available() {
    let halves = Halves::start("available");
    halves.await_working("one leads", |working| working.len() == 1);
    halves.halve();
    halves.await_working("each half has a leader", one_each);
    halves.always("each half keeps its leader", |working| working.len() <= 2);
    halves.await_working("each half has a leader still", one_each);
    halves.namespaces.heal();
    halves.await_working("one of two gives way", |working| working.len() == 1);
    halves.always("one leads", |working| working.len() == 1);
}

fn main() -> ExitCode {
    let trial = |name, run: fn()| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    };
    let trials = vec![
        trial("of_two_halves_neither_elects", majority),
        trial("each_half_has_a_leader_where_leaders_may_overlap", available),
    ];
    let mut arguments = Arguments::from_args();
    // The namespaces of all tests have the same names.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

//! Rounds of faults: strike, heal, wait for a leader, judge.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use tenure::clock;
use tenure_core::{Fence, Time};

use crate::cluster::{Cluster, Timing};
use crate::faults::{Blow, Fault};
use crate::host::Host;
use crate::judge::Leadership;
use crate::network::Network;
use crate::proxy::Proxy;
use crate::rng::Rng;
use crate::worker::Manner;

crate::tests!(two_commands_never_run_at_once);

const LONG_ROUNDS: usize = 200;

pub(crate) const TIMING: Timing = Timing {
    lease: Duration::from_millis(1500),
    grace: Duration::from_millis(400),
    kill_margin: Duration::from_millis(250),
};

fn two_commands_never_run_at_once() {
    let long = env::var_os("TENURE_LONG").is_some();
    let rounds = if long { LONG_ROUNDS } else { Fault::ALL.len() };
    let command = "cargo test -p tenure-cli --test chaos -- rounds";
    let only = env::var("ONLY").ok(); let all: Vec<Fault> = Fault::ALL.into_iter().filter(|f| only.as_ref().is_none_or(|o| format!("{f:?}") == *o)).collect(); let rounds = env::var("ROUNDS").map_or(rounds, |r| r.parse().unwrap()); play(rounds, &all, command, Proxy::start);
}

/// Plays `rounds` rounds, each kind of fault about equally often.
pub(crate) fn play<N: Network>(
    rounds: usize,
    faults: &[Fault],
    command: &str,
    network: impl FnOnce(u64) -> N,
) {
    let repeat = Repeat::begin(command, rounds > faults.len());
    let mut rng = Rng::new(repeat.seed);
    let cluster = Cluster::start(network(rng.next()), TIMING);
    let mut chaos = Chaos { cluster, rng, left: VecDeque::new(), record: Record::default() };
    chaos.heal(&[]);
    chaos.cluster.await_any();
    for round in 1..=rounds {
        let fault = chaos.next(faults);
        chaos.round(round, fault);
    }
    chaos.cluster.expect_no_panics();
    chaos.report(repeat.began);
}

/// The seed, printed first, and the command that repeats it, printed last if it fails.
struct Repeat {
    seed: u64,
    command: String,
    began: Time,
}

impl Repeat {
    fn begin(command: &str, long: bool) -> Self {
        let chosen = env::var("TENURE_SEED").ok().map(|seed| seed.parse().expect("a number"));
        let seed = chosen.unwrap_or_else(|| RandomState::new().hash_one(0_u8));
        let long = if long { "TENURE_LONG=1 " } else { "" };
        println!("seed {seed}");
        let command = format!("{long}TENURE_SEED={seed} {command}");
        Self { seed, command, began: clock::now() }
    }
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("the same faults again: {}", self.command);
        }
    }
}

struct Chaos<N> {
    cluster: Cluster<N>,
    rng: Rng,
    /// Faults before the next shuffle.
    left: VecDeque<Fault>,
    record: Record,
}

/// What came of each kind of fault.
#[derive(Default)]
struct Record {
    rounds: BTreeMap<Fault, usize>,
    /// From the fault to the next CMD's begin, where the leadership changed.
    taken_over: BTreeMap<Fault, Vec<Duration>>,
    exits: BTreeMap<String, usize>,
}

impl<N: Network> Chaos<N> {
    fn next(&mut self, faults: &[Fault]) -> Fault {
        if self.left.is_empty() {
            let mut shuffled = faults.to_vec();
            self.rng.shuffle(&mut shuffled);
            self.left = shuffled.into();
        }
        self.left.pop_front().unwrap()
    }

    fn round(&mut self, round: usize, fault: Fault) {
        Host::nodes().for_each(|node| self.cluster.await_serving(node));
        let leader = self.cluster.await_any();
        let runner = Host::named(&leader.id).unwrap();
        // The fault may come at any moment between two renewals.
        thread::sleep(self.rng.span(&(Duration::ZERO..TIMING.lease / 3)));
        let leader = self.latest(&leader);
        let struck_at = clock::now();
        let mut rng = Rng::new(self.rng.next());
        let (cluster, rng) = (&mut self.cluster, &mut rng);
        let struck = Blow { cluster, rng, leader: &leader, runner }.strike(fault);
        self.heal(&struck.ended);
        let above = if struck.ends_leadership { leader.fence } else { Fence::NONE };
        let after = self.cluster.await_leader(above, clock::now());
        let taken_over = self.cluster.judged().began_after(leader.fence);
        let taken_over = taken_over.map(|began| began.since(struck_at));
        *self.record.rounds.entry(fault).or_default() += 1;
        self.record.taken_over.entry(fault).or_default().extend(taken_over);
        let took = taken_over.map_or("kept".to_owned(), |took| format!("{} ms", took.as_millis()));
        println!("{round:3} {fault:?} ({}): {leader} -> {after}, {took}", struck.how);
    }

    /// The leadership as it is now: a change without a fault is possible on a busy machine.
    fn latest(&mut self, leader: &Leadership) -> Leadership {
        let now = self.cluster.judged().current().cloned();
        let now = now.unwrap_or_else(|| leader.clone());
        assert_eq!(now.id, leader.id, "the leader changed without a fault");
        now
    }

    /// Ends all faults, and starts again what has ended: only `may_end` may have ended by itself.
    fn heal(&mut self, may_end: &[Host]) {
        self.cluster.network.heal();
        for (host, status) in self.cluster.departed() {
            assert!(may_end.contains(&host), "{host} ended by itself: {status}");
            *self.record.exits.entry(format!("{host}: {status}")).or_default() += 1;
        }
        for runner in
            Host::runners().filter(|runner| !self.cluster.runs(*runner)).collect::<Vec<_>>()
        {
            let manner = Manner::ALL[self.rng.within(0..Manner::ALL.len())];
            self.cluster.start_runner(runner, manner);
        }
    }

    fn report(&mut self, began: Time) {
        let tallies = self.cluster.judged().tallies;
        let fence = self.cluster.judged().fence();
        println!("{:18} {:>6} {:>9} {:>9} {:>9}", "fault", "rounds", "changes", "p50 ms", "max ms");
        for (fault, rounds) in &self.record.rounds {
            let mut times = self.record.taken_over.get(fault).cloned().unwrap_or_default();
            times.sort_unstable();
            let show = |time: Option<&Duration>| {
                time.map_or("-".to_owned(), |time| time.as_millis().to_string())
            };
            let (p50, max) = (show(times.get(times.len() / 2)), show(times.last()));
            println!(
                "{:18} {rounds:>6} {:>9} {p50:>9} {max:>9}",
                format!("{fault:?}"),
                times.len()
            );
        }
        println!("exits: {:?}", self.record.exits);
        println!(
            "{} leaderships, {} lines, 0 overlaps, last fence {fence}, least left of a lease at \
             work {:?}, {:?} in all",
            tallies.leaderships,
            tallies.lines,
            tallies.least_left.unwrap_or_default(),
            clock::now().since(began),
        );
    }
}

//! Rounds of faults: strike, heal, wait for a leader, judge.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use tenure::clock;
use tenure_core::{Fence, Time};

use crate::cluster::{Cluster, Memory, Timing};
use crate::faults::{Blow, Fault};
use crate::host::Host;
use crate::judge::Leadership;
use crate::network::Network;
use crate::rng::Rng;
use crate::worker::Manner;

pub(crate) const TIMING: Timing = Timing {
    lease: Duration::from_millis(1500),
    grace: Duration::from_millis(400),
    kill_margin: Duration::from_millis(250),
};

/// Plays `rounds` rounds, each kind of fault about equally often. `command` repeats them, with
/// the seed in place of `{}`.
pub(crate) fn play<N: Network>(rounds: usize, command: &str, network: impl FnOnce(u64) -> N) {
    let repeat = Repeat::begin(command);
    let mut rng = Rng::new(repeat.seed);
    let cluster = Cluster::start(network(rng.next()), TIMING, Memory::New);
    let mut chaos = Chaos { cluster, rng, left: VecDeque::new(), record: Record::default() };
    chaos.heal();
    chaos.cluster.await_any();
    for round in 1..=rounds {
        let fault = chaos.next();
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
    fn begin(command: &str) -> Self {
        let chosen = env::var("TENURE_SEED").ok().map(|seed| seed.parse().expect("a number"));
        let seed = chosen.unwrap_or_else(|| RandomState::new().hash_one(0_u8));
        println!("seed {seed}");
        Self { seed, command: command.replace("{}", &seed.to_string()), began: clock::now() }
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
}

impl<N: Network> Chaos<N> {
    fn next(&mut self) -> Fault {
        if self.left.is_empty() {
            let mut shuffled = Fault::ALL;
            self.rng.shuffle(&mut shuffled);
            self.left = shuffled.into();
        }
        self.left.pop_front().unwrap()
    }

    fn round(&mut self, round: usize, fault: Fault) {
        Host::nodes().for_each(|node| self.cluster.await_serving(node));
        let leader = self.settled_leader();
        let runner = Host::named(&leader.id).unwrap();
        let struck_at = clock::now();
        let mut rng = Rng::new(self.rng.next());
        let (cluster, rng) = (&mut self.cluster, &mut rng);
        let struck = Blow { cluster, rng, leader: &leader, runner }.strike(fault);
        self.heal();
        let above = if struck.ends_leadership { leader.fence } else { Fence::NONE };
        let after = self.cluster.await_leader(above, clock::now());
        let taken_over = self.cluster.judged().began_after(leader.fence);
        let taken_over = taken_over.map(|began| began.since(struck_at));
        *self.record.rounds.entry(fault).or_default() += 1;
        self.record.taken_over.entry(fault).or_default().extend(taken_over);
        let took = taken_over.map_or("kept".to_owned(), |took| format!("{} ms", took.as_millis()));
        println!("{round:3} {fault:?} ({}): {leader} -> {after}, {took}", struck.how);
    }

    /// A leader, at any moment between two renewals.
    fn settled_leader(&mut self) -> Leadership {
        loop {
            let leader = self.cluster.await_any();
            thread::sleep(self.rng.span(&(Duration::ZERO..TIMING.lease / 3)));
            // A change without a fault is possible on a busy machine.
            if self.cluster.judged().fence() == leader.fence {
                return leader;
            }
        }
    }

    /// Ends all faults, and starts the runners again that have ended.
    fn heal(&mut self) {
        self.cluster.network.heal();
        let departed = self.cluster.departed();
        assert!(departed.is_empty(), "ended by themselves: {departed:?}");
        let missing = Host::runners().filter(|runner| !self.cluster.runs(*runner));
        for runner in missing.collect::<Vec<_>>() {
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

//! Rounds of faults: strike, heal, wait for a leader, judge.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use tenure::clock;
use tenure_core::{Fence, Time};

use super::faults::Blow;
use super::{Deployment, Fault, Fleet, Host, Leadership, Network, PATIENCE, Timing, eventually};
use crate::Rng;

/// Short leases, so that a round is soon over. Outside the soak the margin allows a guard to wake
/// up three seconds late at the end of a lease.
pub fn timing() -> Timing {
    Timing::of_millis([3_000, 600], [10_000, 3_000])
}

/// Seed of a run without a given seed: so a commit always meets the same faults.
const SEED: u64 = 0;

/// Silence after which a writer counts as ended.
const ALONE: Duration = Duration::from_millis(300);

/// Whether the variable `TESTS_LONG` is set: the test then has the machine alone, so it checks
/// spans and draws its seed.
pub fn is_soak() -> bool {
    env::var_os("TESTS_LONG").is_some()
}

/// Plays each kind of fault once; in the soak `rounds` rounds, each kind about equally often.
/// Prints the seed first; `command` repeats the rounds, with the seed in place of `{}`. Outside the
/// soak `play` checks only what holds on a machine of any speed.
pub fn play<D: Deployment>(rounds: usize, command: &str, start: impl FnOnce(u64) -> Fleet<D>) {
    let began = clock::now();
    let chosen = env::var("TESTS_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let drawn = || if is_soak() { RandomState::new().hash_one(0_u8) } else { SEED };
    let seed = chosen.unwrap_or_else(drawn);
    println!("seed {seed}");
    let set = if is_soak() { "TESTS_LONG=1 " } else { "" };
    let _repeat = Repeat(set.to_owned() + &command.replace("{}", &seed.to_string()));
    let mut rng = Rng::new(seed);
    let fleet = start(rng.number());
    let moves = fleet.deployment.network().is_some_and(Network::moves);
    let knows =
        |fault: &Fault| fleet.deployment.knows(*fault) && (moves || *fault != Fault::NodesMoved);
    let known = Fault::ALL.into_iter().filter(knows).collect();
    let record = BTreeMap::new();
    let seen = clock::now();
    let mut chaos = Chaos { fleet, rng, known, left: VecDeque::new(), record, seen };
    chaos.heal();
    chaos.fleet.await_any();
    let rounds = if is_soak() { rounds } else { chaos.known.len() };
    for round in 1..=rounds {
        let fault = chaos.next();
        chaos.round(round, fault);
    }
    chaos.report(began);
    D::finish(chaos.fleet);
}

/// The command that repeats the faults, printed last if a round fails.
struct Repeat(String);

impl Drop for Repeat {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("the same faults again: {}", self.0);
        }
    }
}

struct Chaos<D> {
    fleet: Fleet<D>,
    rng: Rng,
    /// Faults that this deployment can suffer.
    known: Vec<Fault>,
    /// Faults before the next shuffle.
    left: VecDeque<Fault>,
    record: BTreeMap<Fault, Record>,
    /// Time up to which overlaps were checked.
    seen: Time,
}

/// Results of one kind of fault.
#[derive(Default)]
struct Record {
    rounds: usize,
    /// Times from the fault to the start of the next CMD, in rounds with a new leader.
    taken_over: Vec<Duration>,
    /// Longest overlaps: while the leaders cannot reach each other, and after they can.
    overlap: [Duration; 2],
}

impl<D: Deployment> Chaos<D> {
    fn next(&mut self) -> Fault {
        if self.left.is_empty() {
            let mut shuffled = self.known.clone();
            self.rng.shuffle(&mut shuffled);
            self.left = shuffled.into();
        }
        self.left.pop_front().unwrap()
    }

    fn round(&mut self, round: usize, fault: Fault) {
        D::await_ready(&self.fleet);
        let leader = self.settled_leader();
        let runner = Host::named(&leader.id).unwrap();
        let struck_at = clock::now();
        let mut rng = Rng::new(self.rng.number());
        let fleet = &mut self.fleet;
        let rng = &mut rng;
        let struck = Blow { fleet, rng, leader: &leader, runner }.strike(fault);
        self.heal();
        D::await_ready(&self.fleet);
        let above = if struck.ends_leadership { leader.fence } else { Fence::NONE };
        let after = self.fleet.await_leader(above, clock::now());
        let taken_over = self.fleet.judged().began_after(leader.fence);
        let taken_over = taken_over.map(|began| began.since(struck_at));
        if let (Some(took), Some(most)) = (taken_over, self.most(fault))
            && struck.ends_leadership
        {
            assert!(took <= most, "{fault:?} ({}): {took:?} is more than {most:?}", struck.how);
        }
        let record = self.record.entry(fault).or_default();
        record.rounds += 1;
        record.taken_over.extend(taken_over);
        let took = taken_over.map_or("kept".to_owned(), |took| format!("{} ms", took.as_millis()));
        println!("{round:3} {fault:?} ({}): {leader} -> {after}, {took}", struck.how);
        match D::OVERLAP {
            None => {}
            // A slow machine may end an overlap late, but must end it.
            Some(_) if !is_soak() => self.await_single(fault, struck_at, PATIENCE),
            Some(most) if D::OVERLAPS_ANYWAY => self.await_single(fault, struck_at, most),
            Some(most) => self.judge_overlap(fault, struck_at, most),
        }
    }

    /// Checks that leaders overlap only while they cannot reach each other, and then for at most
    /// `most` longer.
    fn judge_overlap(&mut self, fault: Fault, struck_at: Time, most: Duration) {
        D::await_ready(&self.fleet);
        let reachable = clock::now();
        // Wait long enough to see an overlap of more than `most`.
        thread::sleep(2 * most);
        let seen = std::mem::replace(&mut self.seen, clock::now());
        let after = self.record_overlap(fault, struck_at, reachable);
        let before = self.fleet.judged().overlap(seen);
        assert!(after <= most, "{fault:?}: two led for {after:?}, more than {most:?}");
        let cut = !fault.spares_network();
        assert!(cut || before.is_zero(), "{fault:?}: two led for {before:?}, with no cut");
    }

    /// Records the overlap of two leaders. Returns its length after the leaders could reach each
    /// other.
    fn record_overlap(&mut self, fault: Fault, struck_at: Time, reachable: Time) -> Duration {
        let judge = self.fleet.judged();
        let meanwhile = judge.overlap(struck_at);
        let after = judge.overlap(reachable);
        let record = self.record.entry(fault).or_default();
        let [cut, healed] = record.overlap;
        record.overlap = [meanwhile.max(cut), after.max(healed)];
        after
    }

    /// Waits for a single leader, at most `most` after all participants can reach each other.
    fn await_single(&mut self, fault: Fault, struck_at: Time, most: Duration) {
        D::await_ready(&self.fleet);
        let reachable = clock::now();
        loop {
            let seen = clock::now();
            let lines = self.fleet.judged().tallies.lines;
            thread::sleep(ALONE);
            let judge = self.fleet.judged();
            // While the journal gets no new lines, the machine stands still, and the absence of an
            // overlap proves nothing.
            if judge.overlap(seen).is_zero() && judge.tallies.lines > lines {
                break;
            }
            let late = seen.since(reachable);
            assert!(late <= most, "{fault:?}: two lead for {late:?} still, more than {most:?}");
        }
        self.record_overlap(fault, struck_at, reachable);
    }

    /// In the soak: bound on the time from a fault to the start of the next leadership.
    fn most(&self, fault: Fault) -> Option<Duration> {
        let most =
            self.fleet.deployment.take_over().filter(|_| fault.spares_nodes() && is_soak())?;
        // A leader that can still send may renew its lease once more.
        let renewed = fault == Fault::RunnerCutOff;
        Some(if renewed { most + self.fleet.deployment.timing().lease } else { most })
    }

    /// A leader, at any moment between two renewals.
    fn settled_leader(&mut self) -> Leadership {
        let pause = self.rng.span(&(Duration::ZERO..self.fleet.deployment.timing().lease / 3));
        eventually("a leader that leads on", || {
            let leader = self.fleet.await_any();
            thread::sleep(pause);
            // On a busy machine the leader may change without a fault.
            (self.fleet.judged().fence() == leader.fence).then_some(leader)
        })
    }

    /// Ends all faults, and starts ended runners again.
    fn heal(&mut self) {
        if let Some(network) = self.fleet.deployment.network() {
            network.heal();
        }
        let departed = self.fleet.departed();
        assert!(departed.is_empty(), "ended by themselves: {departed:?}");
        let missing = Host::runners().filter(|runner| !self.fleet.runs(*runner));
        for runner in missing.collect::<Vec<_>>() {
            let manner = *self.rng.pick(D::MANNERS);
            self.fleet.start_runner(runner, manner);
        }
    }

    fn report(&mut self, began: Time) {
        let tallies = self.fleet.judged().tallies;
        let fence = self.fleet.judged().fence();
        println!("{:18} {:>6} {:>9} {:>9} {:>9}", "fault", "rounds", "changes", "p50 ms", "max ms");
        for (fault, record) in &mut self.record {
            let fault = format!("{fault:?}");
            let rounds = record.rounds;
            let times = &mut record.taken_over;
            times.sort_unstable();
            let show = |time: Option<&Duration>| {
                time.map_or("-".to_owned(), |time| time.as_millis().to_string())
            };
            let p50 = show(times.get(times.len() / 2));
            let max = show(times.last());
            println!("{fault:18} {rounds:>6} {:>9} {p50:>9} {max:>9}", times.len());
            if D::OVERLAP.is_some() {
                let [meanwhile, after] = record.overlap;
                println!("{fault:18} two led for {meanwhile:?}, {after:?} of it once connected");
            }
        }
        let overlaps = if D::OVERLAP.is_some() { "overlaps as above" } else { "0 overlaps" };
        println!(
            "{} leaderships, {} lines, {overlaps}, {} lines beyond a lease for a moment, last \
             fence {fence}, least left of a lease at work {:?}, {:?} in all",
            tallies.leaderships,
            tallies.lines,
            tallies.beyond,
            tallies.least_left.unwrap_or_default(),
            clock::now().since(began),
        );
    }
}

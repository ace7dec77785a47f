use proptest::prelude::*;

use super::super::config::{Config, Member};
use super::*;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn rho(parts: u32) -> Drift {
    Drift::from_parts_per_billion(parts).unwrap()
}

/// The reading of a clock that advances by `parts` in a billion more than true time, from `origin`
/// on.
fn shows(origin: u64, parts: i64, at: u64) -> Time {
    let more = i128::from(at) * i128::from(parts) / 1_000_000_000;
    Time::from_nanos(u64::try_from(i128::from(origin) + i128::from(at) + more).unwrap())
}

impl Rates {
    fn apart(&self) -> MemberSet {
        self.faster.or(self.slower)
    }
}

/// A member's clock and this node's, in true time.
struct Pair {
    drift: Drift,
    /// Parts per billion by which the member's clock and this node's are fast.
    parts: [i64; 2],
    rates: Rates,
    counter: u32,
    inc: u128,
    boot: u64,
}

impl Pair {
    fn new(drift: u32, parts: [i64; 2]) -> Self {
        Self { drift: rho(drift), parts, rates: Rates::default(), counter: 0, inc: 1, boot: 1 }
    }

    /// An ok to a request that leaves at `at`. The request takes `there`, and the ok takes `back`.
    fn ok(&mut self, at: u64, there: u64, back: u64) -> Option<Apart> {
        let own = |at| shows(7_000 * SECOND, self.parts[1], at);
        let times = (own(at), own(at + there + back));
        self.counter += 1;
        let clock = shows(900 * SECOND, self.parts[0], at + there);
        let stamp = Stamp { boot: Boot(self.boot), clock, counter: self.counter };
        self.rates.observe(times, 1, (Instance(1), Inc(self.inc)), stamp, self.drift)
    }

    fn rate(&self) -> Rate {
        self.rates.clocks.get(1).unwrap().rate().unwrap()
    }
}

fn membership(members: usize) -> alloc::sync::Arc<Membership> {
    let member = |n: usize| {
        let name = alloc::format!("m{n}").parse().unwrap();
        Member::at(name, ([127, 0, 0, 1], 7_100 + u16::try_from(n).unwrap()).into())
    };
    let config = Config::new("x".parse().unwrap(), (0..members).map(member).collect());
    alloc::sync::Arc::clone(config.check().unwrap().membership())
}

/// Samples of two clocks: when each request left, and how long both ways took.
fn samples() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let one = (1..400 * MS, 1..20 * MS, 1..20 * MS);
    proptest::collection::vec(one, 2..40).prop_map(|all| {
        let mut at = 0;
        all.into_iter()
            .map(|(pause, there, back)| {
                at += pause;
                (at, there, back)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn clocks_within_drift_agree(
        drift in 0..250_000_000_u32,
        of in (-1_000_i64..=1_000, -1_000_i64..=1_000),
        all in samples(),
        order in any::<u64>(),
    ) {
        let part = |of: i64| i64::from(drift) * of / 1_000;
        let mut pair = Pair::new(drift, [part(of.0), part(of.1)]);
        for (nth, (at, there, back)) in all.iter().enumerate() {
            prop_assert_eq!(pair.ok(*at, *there, *back), None);
            // This ok or an older ok arrives a second time.
            let old = all[usize::try_from(order).unwrap_or(0) % (nth + 1)];
            let late = (at + there + back).saturating_sub(old.0 + old.1).max(old.2);
            pair.counter -= 1;
            prop_assert_eq!(pair.ok(old.0, old.1, late), None);
        }
        let exact = |parts| 1e9 + parts as f64;
        let ratio = (exact(part(of.0)) / exact(part(of.1)) - 1.) * 1e9;
        if let Some(Rate { low, high, over }) = pair.rates.clocks.get(1).unwrap().rate() {
            let slack = 1e10 / over.as_nanos() as f64 + 2.;
            prop_assert!(low as f64 <= ratio + slack && ratio <= high as f64 + slack);
        }
    }

    /// Two samples for each member prove whatever the whole history proves.
    #[test]
    fn anchors_replace_the_history(
        drift in 0..10_000_000_u32,
        of in (-40_000_000_i64..=40_000_000, -40_000_000_i64..=40_000_000),
        all in samples(),
    ) {
        let mut pair = Pair::new(drift, [of.0, of.1]);
        let mut history: Vec<Sample> = Vec::new();
        let (mut last, mut known) = (Time::ZERO, [false; 2]);
        for (at, there, back) in all {
            pair.ok(at, there, back);
            let own = |at| shows(7_000 * SECOND, of.1, at);
            let (sent, received) = (own(at), own(at + there + back));
            let sample = Sample { sent, stamp: shows(900 * SECOND, of.0, at + there), received };
            if sample.stamp < last {
                continue;
            }
            last = sample.stamp;
            let drift = rho(drift);
            for before in &history {
                let (theirs, most) =
                    ([before.stamp, sample.stamp], [before.sent, sample.received]);
                known[0] |= drift.surplus(theirs, most) > RESOLUTION;
                let least = [before.received, sample.sent];
                known[1] |= drift.surplus(least, theirs) > RESOLUTION;
            }
            history.push(sample);
            let clock = pair.rates.clocks.get(1).unwrap();
            prop_assert_eq!([clock.faster.is_some(), clock.slower.is_some()], known);
        }
    }
}

/// ρ is 10⁻³ and messages take a millisecond each way. The test counts the seconds until a node
/// notices a wrong clock.
#[test]
fn breach_is_proven_within_seconds() {
    let after = |parts: [i64; 2]| {
        let mut pair = Pair::new(1_000_000, parts);
        (0..3_600).find_map(|nth| pair.ok(nth * SECOND, MS, MS).map(|apart| (nth, apart.is_faster)))
    };
    assert_eq!(after([1_000_000, -1_000_000]), None, "both at the bound");
    assert_eq!(after([1_100_000, -1_000_000]), Some((21, true)), "a tenth beyond ρ");
    assert_eq!(after([-1_000_000, 1_100_000]), Some((21, false)));
    assert_eq!(after([3_000_000, 0]), Some((3, true)), "three times ρ beside true time");
    assert_eq!(after([100_000_000, 0]), Some((1, true)), "ten per cent");
}

#[test]
fn stopped_clock_is_slower() {
    let mut pair = Pair::new(1_000_000, [-1_000_000_000, 0]);
    assert_eq!(pair.ok(0, MS, MS), None);
    let apart = pair.ok(SECOND, MS, MS).unwrap();
    assert_eq!((apart.is_faster, apart.theirs), (false, Duration::ZERO));
    assert_eq!(apart.ours, Duration::from_millis(998), "from a receipt to a send");
}

#[test]
fn proof_is_news_once() {
    let mut pair = Pair::new(0, [100_000_000, 0]);
    let proofs: Vec<_> = (0..100).filter_map(|nth| pair.ok(nth * SECOND, MS, MS)).collect();
    assert_eq!(proofs.len(), 1);
    assert_eq!(pair.rates.faster(), MemberSet::EMPTY.with(1));
    pair.rates.clear();
    assert_eq!((pair.rates.faster(), pair.ok(200 * SECOND, MS, MS)), (MemberSet::EMPTY, None));
    assert!(pair.ok(201 * SECOND, MS, MS).is_some(), "still wrong");
}

#[test]
fn processes_have_clocks_of_their_own() {
    let mut pair = Pair::new(1_000_000, [0, 0]);
    pair.ok(0, MS, MS);
    // The machine starts anew, and its clock with it.
    (pair.boot, pair.inc, pair.parts[0]) = (2, 2, -900_000_000);
    assert_eq!(pair.ok(1_000 * SECOND, MS, MS), None);
    pair.parts[0] = 0;
    (pair.boot, pair.inc) = (1, 1);
    assert_eq!(pair.ok(1_001 * SECOND, MS, MS), None, "a late ok of the first process");
    // A copy of the directory runs on another machine.
    (pair.boot, pair.inc) = (2, 3);
    assert_eq!(pair.ok(1_002 * SECOND, MS, MS), None);
    assert_eq!(pair.rates.apart(), MemberSet::EMPTY);
}

/// A member goes on with an older directory, whose clock samples count as well.
#[test]
fn older_directory_is_compared() {
    let mut rates = Rates::default();
    let mut ok = |instance, nth: u64| {
        let at = Time::from_nanos(nth * SECOND);
        let stamp = Stamp { boot: Boot(1), clock: at.after(span([Time::ZERO, at])), counter: 0 };
        rates.observe((at, at), 1, (Instance(instance), Inc(instance)), stamp, rho(1_000_000))
    };
    assert_eq!((ok(2, 1), ok(1, 2)), (None, None));
    assert!(ok(1, 3).is_some_and(|apart| apart.is_faster));
}

#[test]
fn restart_withdraws_a_proof() {
    let mut pair = Pair::new(1_000_000, [100_000_000, 0]);
    (0..3).for_each(|nth| _ = pair.ok(nth * SECOND, MS, MS));
    assert_eq!(pair.rates.faster(), MemberSet::EMPTY.with(1));
    (pair.boot, pair.inc, pair.parts[0]) = (2, 2, 0);
    pair.ok(10 * SECOND, MS, MS);
    assert_eq!(pair.rates.apart(), MemberSet::EMPTY, "another process, another clock");
}

#[test]
fn estimate_narrows_over_hours() {
    let mut pair = Pair::new(1_000_000, [40_000, 0]);
    for nth in 0..4 * 3_600 {
        assert_eq!(pair.ok(nth * SECOND, MS, MS), None);
    }
    let Rate { low, high, over } = pair.rate();
    assert!(low <= 40_000 && 40_000 <= high, "{low} {high}");
    assert!(high - low < 2_000, "less than 2 · 10⁻⁶: {low} {high}");
    assert!(over >= BASE_AGE && over <= BASE_AGE * 2, "{over:?}");
}

#[test]
fn one_clock_accuses_no_node() {
    let accused = |members: usize, apart: &[usize]| {
        let faster = apart.iter().copied().collect();
        Rates { faster, ..Rates::default() }.accuses_itself(&membership(members))
    };
    assert!(!accused(3, &[]) && !accused(3, &[1]) && !accused(5, &[0, 4]));
    assert!(accused(3, &[0, 1]) && accused(5, &[0, 2, 4]));
    // Without these members no majority is left.
    assert!(accused(1, &[0]) && accused(2, &[1]) && accused(4, &[1, 2]));
}

#[test]
fn clocks_follow_names_of_members() {
    let mut pair = Pair::new(0, [100_000_000, 0]);
    (0..3).for_each(|nth| _ = pair.ok(nth * SECOND, MS, MS));
    let before = membership(3);
    let names = ["m1", "m2", "m7"].map(|name| {
        Member::at(name.parse().unwrap(), ([127, 0, 0, 1], name.as_bytes()[1].into()).into())
    });
    let after = Config::new("x".parse().unwrap(), names.into()).check().unwrap();
    pair.rates.switch(&before, after.membership());
    assert_eq!(pair.rates.faster(), MemberSet::EMPTY.with(0), "m1 is the first now");
    let alone = Config::new("x".parse().unwrap(), [pair_member()].into()).check().unwrap();
    pair.rates.switch(after.membership(), alone.membership());
    assert_eq!((pair.rates.faster(), pair.rates.clocks.len()), (MemberSet::EMPTY, 0));
}

fn pair_member() -> Member {
    Member::at("m9".parse().unwrap(), ([127, 0, 0, 1], 7_109).into())
}

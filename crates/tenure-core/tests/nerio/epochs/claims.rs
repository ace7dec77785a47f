//! Claims of an epoch and what its successors inherit, in true time. Clocks run at 3, 4 or 5
//! nanoseconds for each unit of true time, so ρ is a quarter: a lease of δ units is held for 5δ on
//! a grantor's clock, and the claim on it ends within δ units.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use tenure_core::nerio::Instance;
use tenure_core::nerio::epoch::{HeldRest, Inheritance, Page, RestBounds, Source};
use tenure_core::{ElectionName, Fence, Time};

use super::{ballot, membership, who};
use crate::story::address;

const ELECTIONS: [&str; 2] = ["x", "y"];
const HOLDERS: [&str; 2] = ["p", "q"];
/// Units for which the longest lease is held.
const LONGEST: u64 = 16;
/// The unit from which the grantors are wedged: all grants are older.
const WEDGED: u64 = 6;

struct Clock {
    origin: u64,
    rate: u64,
}

impl Clock {
    fn at(&self, units: u64) -> Time {
        Time::from_nanos(self.origin + self.rate * units)
    }
}

/// A wedged member of the first epoch.
struct Grantor {
    clock: Clock,
    /// Holder and end of the grant of each election.
    grants: BTreeMap<ElectionName, (usize, Time)>,
    quarantine: Time,
}

/// A member of a later epoch: 0 to 2 are the second epoch, 3 is in the third.
struct Heir {
    clock: Clock,
    inheritance: Inheritance,
}

/// A page of an answer on its way.
#[derive(Clone)]
struct Letter {
    to: usize,
    source: Source,
    bounds: RestBounds,
    after: Option<ElectionName>,
    rests: Vec<HeldRest>,
    more: bool,
}

struct World {
    units: u64,
    grantors: Vec<Grantor>,
    heirs: Vec<Heir>,
    letters: Vec<Letter>,
    /// Claims on a quorum of grants: the election, and the unit by which the claim ends.
    claims: Vec<(ElectionName, u64)>,
}

/// The drawn part of a world.
#[derive(Clone, Debug)]
struct Plan {
    members: usize,
    rates: Vec<u64>,
    /// Begin and length of the lease of each holder in each election.
    leases: Vec<(u64, u64)>,
    /// The holder to which each member grants each election, and the time; some members grant to no
    /// holder.
    grants: Vec<(usize, u64)>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let rates = prop::collection::vec(3_u64..=5, 9);
    let leases = prop::collection::vec((0..WEDGED, 1..=LONGEST), 4);
    let grants = prop::collection::vec((0_usize..3, any::<u64>()), 10);
    (prop_oneof![Just(3_usize), Just(5)], rates, leases, grants)
        .prop_map(|(members, rates, leases, grants)| Plan { members, rates, leases, grants })
}

fn election(nth: usize) -> ElectionName {
    ELECTIONS[nth].parse().unwrap()
}

impl World {
    fn new(plan: &Plan) -> Self {
        let clock = |nth: usize| Clock { origin: 1_000 + nth as u64, rate: plan.rates[nth] };
        let first = membership(["a b c", "a b c d e"][usize::from(plan.members == 5)]);
        let second = membership("f g h");
        let heir = |nth: usize| {
            let (before, into) = match nth {
                3 => (second.clone(), membership("i j k").id()),
                _ => (first.clone(), second.id()),
            };
            Heir { clock: clock(5 + nth), inheritance: Inheritance::begin(before, into, 100) }
        };
        let grantor =
            |nth| Grantor { clock: clock(nth), grants: BTreeMap::new(), quarantine: Time::ZERO };
        let mut world = Self {
            units: WEDGED,
            grantors: (0..plan.members).map(grantor).collect(),
            heirs: (0..4).map(heir).collect(),
            letters: Vec::new(),
            claims: Vec::new(),
        };
        for (nth, (begin, length)) in plan.leases.iter().enumerate() {
            world.lease(plan, nth % 2, nth / 2, *begin, *length);
        }
        world
    }

    /// The lease of one holder in one election: the grants, and the claim if they are a quorum.
    fn lease(&mut self, plan: &Plan, holder: usize, nth: usize, begin: u64, length: u64) {
        let mut grants = 0;
        for (member, grantor) in self.grantors.iter_mut().enumerate() {
            let (granted, draw) = plan.grants[2 * member + nth];
            if granted == holder {
                let held = Duration::from_nanos(5 * length);
                let finish = grantor.clock.at(begin + draw % (WEDGED - begin)).after(held);
                grantor.grants.insert(election(nth), (holder, finish));
                grants += 1;
            }
        }
        if grants > plan.members / 2 {
            self.claims.push((election(nth), begin + length));
        }
    }

    /// A page of a wedged member's answer.
    fn answer(&mut self, member: usize, to: usize, after: Option<ElectionName>, part: bool) {
        let grantor = &self.grantors[member];
        let now = grantor.clock.at(self.units);
        let rest = |(election, (holder, finish)): (&ElectionName, &(usize, Time))| HeldRest {
            election: election.clone(),
            who: who(HOLDERS[*holder]),
            address: address(HOLDERS[*holder]),
            start: Time::ZERO,
            rest: finish.since(now),
        };
        let all: Vec<HeldRest> = grantor.grants.iter().map(rest).collect();
        let unknown = grantor.quarantine.since(now);
        let longest = all.iter().map(|rest| rest.rest).fold(unknown, Duration::max);
        let bounds = RestBounds { rest: longest, unknown, floor: Fence::NONE };
        let is_next = |rest: &HeldRest| after.as_ref().is_none_or(|after| rest.election > *after);
        let rests = all.into_iter().filter(|rest| is_next(rest) && !rest.rest.is_zero()).collect();
        let into = membership("f g h").id();
        let source = Source::Wedged { member, ballot: ballot(1), into };
        self.send(to, source, bounds, after, rests, part);
    }

    /// A page of the answer of a member of the second epoch, for the third epoch.
    fn pass_on(&mut self, from: usize, to: usize, after: Option<ElectionName>, part: bool) {
        let Heir { clock, inheritance } = &self.heirs[from];
        if !inheritance.is_enough() || from == to {
            return;
        }
        let now = clock.at(self.units);
        let (rest, unknown) = (inheritance.bound().since(now), inheritance.unknown().since(now));
        let bounds = RestBounds { rest, unknown, floor: Fence::NONE };
        let rests = inheritance.rests(after.as_ref(), now).collect();
        let source = match to {
            3 => {
                let into = membership("i j k").id();
                Source::Wedged { member: from, ballot: ballot(1), into }
            }
            _ => Source::Entered { instance: Instance(from as u128) },
        };
        self.send(to, source, bounds, after, rests, part);
    }

    /// Sends all these rests, or only the rests of their first election.
    fn send(
        &mut self,
        to: usize,
        source: Source,
        bounds: RestBounds,
        after: Option<ElectionName>,
        mut rests: Vec<HeldRest>,
        part: bool,
    ) {
        let whole = rests.len();
        if let Some(first) = rests.first().filter(|_| part).map(|rest| rest.election.clone()) {
            rests.retain(|rest| rest.election == first);
        }
        let more = rests.len() < whole;
        self.letters.push(Letter { to, source, bounds, after, rests, more });
    }

    fn deliver(&mut self, letter: &Letter) {
        let heir = &mut self.heirs[letter.to];
        let after = letter.after.as_ref();
        let page = Page { after, rests: &letter.rests, more: letter.more };
        heir.inheritance.page(heir.clock.at(self.units), letter.source, letter.bounds, page);
    }

    fn step(&mut self, kind: u8, one: usize, other: usize) {
        let member = one % self.grantors.len();
        let after = [None, None, Some(election(0)), Some(election(1))][other / 4 % 4].clone();
        let part = (other / 16).is_multiple_of(2);
        match (kind, one.checked_rem(self.letters.len())) {
            (0..=2, _) => self.units += 1 + one as u64 % 3,
            (3..=6, _) => self.answer(member, other % 3, after, part),
            (7..=9, _) => self.pass_on(one % 3, other % 4, after, part),
            (10..=17, Some(at)) => {
                let letter = self.letters.swap_remove(at);
                self.deliver(&letter);
            }
            (18, Some(at)) => self.deliver(&self.letters[at].clone()),
            (19, _) => {
                // The machine starts again, and its clock with it.
                let grantor = &mut self.grantors[member];
                grantor.clock.origin += 1_000;
                grantor.grants.clear();
                let longest = Duration::from_nanos(5 * LONGEST);
                grantor.quarantine = grantor.clock.at(self.units).after(longest);
            }
            _ => {}
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        for (nth, heir) in self.heirs.iter().enumerate() {
            let now = heir.clock.at(self.units);
            for (election, until) in self.claims.iter().filter(|(_, until)| self.units < *until) {
                let is_free = heir.inheritance.rival(election, &who("r"), now).is_none();
                let is_granted = heir.inheritance.is_enough() && is_free;
                prop_assert!(!is_granted, "heir {} grants {} before {}", nth, election, until);
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// 2.4: while a claim of the first epoch lasts, no member of a later epoch grants the claimed
    /// election to another candidate.
    #[test]
    fn inherited_rests_cover_claims(
        plan in plan(),
        steps in prop::collection::vec((0_u8..20, any::<Index>(), any::<Index>()), 0..80),
    ) {
        let mut world = World::new(&plan);
        for (kind, one, other) in steps {
            world.step(kind, one.index(1 << 20), other.index(1 << 20));
            world.check()?;
        }
    }
}

//! The rests of leases that a member inherits from the epoch before its own.
//!
//! Section 10.6 lets a grantor wedge only without an outstanding grant, so each change waits for
//! leases to end. Here a grantor wedges at once, and its [answer](Page) names each holder with the
//! rest of its grant, `F - C`. A member of the next epoch collects answers of a quorum and grants
//! to no candidate while another may still lead by the epoch before. So the holder leads on.
//!
//! Each answer is a statement that stays true for ever: a wedged member grants nothing, and a rest
//! that counts from its receipt ends no earlier than the claim on any clock. (The claim ends within
//! `(F - C) / (1 + ρ)` of real time, which is at most `F - C` on any clock. The same holds for a
//! rest that another member passes on.)
//!
//! Rules, by their number in the design of epochs, each with the trace that refutes a simpler one:
//!
//! - 2.1.7: *One ballot ends the epoch.* Three of five have accepted S, each by another ballot. A
//!   proposer may find T above S, and then two epochs run (T1).
//! - 2.1.8: *Ballots after a known decision count as well.* a and b accept S by ballot 1: decided.
//!   b accepts it again by ballot 2, whose proposer dies; c is down. No member ever finds two
//!   acceptances of one ballot (T2).
//! - 2.2.2: *A member with incomplete answers names an unknown holder to others.* d enters, and the
//!   page with the election of p has not arrived. e asks d alone.
//! - 2.3.1: *A quorum answers.* p leads by a and b. The only answer is that of c, which granted
//!   nothing.
//! - 2.4.1: *A rest counts from its receipt.* A question of 0 is answered at 6. A fast clock that
//!   counts from the question has the rest over before the claim ends.
//! - 2.4.1: *An election that an answer does not cover is held by somebody unknown.* The page with
//!   the election of p is lost.
//! - 2.4.1: *A member that forgot its grants names an unknown holder of everything.* a, which
//!   granted to p, has started again, and answers with c. A page of a from before that start may
//!   arrive later: the longest unknown rest of a member's pages counts.
//! - 2.4.2: *A rest is over when a quorum of answers has it over.* p leads by a and c; b has just
//!   started again and names an unknown holder. With the longest rest of all three, p loses (T3).
//! - 2.4.5: *Each holder keeps its own rest.* p leads by a and c, and b granted to q for longer. If
//!   only the longest rest of the election is kept, it is that of q, and q is granted.
//! - 2.4.6: *A grant lasts at least as long as the inherited rest of its holder.* p, with a long
//!   lease, renews with a short one in the next epoch. The new grant ends
//!   first, and q is granted.
//! - 2.4.10: *A release ends a rest from its Start on.* p leads a second time, and the release of
//!   its first leadership arrives in the next epoch (T13).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::by_member::ByMember;
use super::super::identity::{Instance, Who};
use super::super::quorum::MemberSet;
use super::{Ballot, EpochId, Membership};
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::time::Time;

/// The member that answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A member of the epoch before that accepted the successor `into` by `ballot`.
    Wedged {
        /// Position in the epoch before.
        member: usize,
        ballot: Ballot,
        into: EpochId,
    },
    /// A member that has entered the epoch, and so answers for all of the epoch before. The caller
    /// checks that the document of the epoch names the instance.
    Entered { instance: Instance },
}

/// The part of an answer that bounds everything, whichever pages arrive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RestBounds {
    /// Longest of the rests that the member may have granted or inherited.
    pub rest: Duration,
    /// Longest rest of grants that the member forgot or cannot name: in any election some holder
    /// may have such a grant.
    pub unknown: Duration,
    /// Highest fence that the member has seen.
    pub floor: Fence,
}

/// The rest of one holder of one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HeldRest {
    pub election: ElectionName,
    pub who: Who,
    /// Highest Start granted to the holder, on its clock.
    pub start: Time,
    pub rest: Duration,
}

/// Rests of an answer, in the order of elections. All rests of one election are in one page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Page<'a> {
    /// Election after which the page begins; `None` for the first page.
    pub after: Option<&'a ElectionName>,
    pub rests: &'a [HeldRest],
    /// Whether elections are left after the last of the page.
    pub more: bool,
}

impl Page<'_> {
    /// Whether the elections ascend, beginning after that of the page before. A page that goes back
    /// would be asked for again and again.
    fn ascends(&self) -> bool {
        let elections = || self.rests.iter().map(|rest| &rest.election);
        let is_next = |first: &ElectionName| self.after.is_none_or(|after| after < first);
        elections().next().is_none_or(is_next) && elections().is_sorted()
    }
}

/// The answer of one member, on the clock of the member that received it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Answer {
    /// Latest end of the rests for which the member answers.
    bound: Time,
    /// Latest end of a rest, in a covered election, whose holder has no entry.
    unknown: Time,
    /// Last election of the pages so far, which follow each other without a gap.
    covered: Option<ElectionName>,
    /// Whether the last page has arrived.
    is_whole: bool,
    /// Number of rests in the pages.
    rests: usize,
}

impl Answer {
    fn covers(&self, election: &ElectionName) -> bool {
        self.is_whole || self.covered.as_ref().is_some_and(|last| election <= last)
    }
}

/// A rest of one answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Held {
    /// Position of the answering member; `None` for a member that has entered.
    from: Option<usize>,
    who: Who,
    start: Time,
    until: Time,
}

/// The answers about the epoch before that a member has received, and what follows from them.
///
/// All instants are on the member's own clock. The inheritance does not outlive the process: the
/// caller keeps [`bound`](Self::bound), and a process that starts again waits for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inheritance {
    before: Arc<Membership>,
    /// The epoch that the member enters.
    into: EpochId,
    /// Most rests to be kept of one answer.
    rests_max: usize,
    /// Earliest ballot that is known to have decided `into`.
    told: Option<Ballot>,
    /// Members that accepted `into`, by ballot.
    accepted: BTreeMap<Ballot, MemberSet>,
    /// Answers of wedged members, whichever successor they accepted.
    wedged: ByMember<Answer>,
    /// First answer of a member that has entered.
    entered: Option<(Instance, Answer)>,
    held: BTreeMap<ElectionName, Vec<Held>>,
    /// Elections whose rests are part of a grant of the member itself.
    granted: BTreeSet<ElectionName>,
    floor: Fence,
    longest: Duration,
}

impl Inheritance {
    /// Begins without answers. `into` follows the epoch of `before`; at most `rests_max` rests of
    /// each answer are kept.
    #[must_use]
    pub fn begin(before: Arc<Membership>, into: EpochId, rests_max: usize) -> Self {
        Self {
            before,
            into,
            rests_max,
            told: None,
            accepted: BTreeMap::new(),
            wedged: ByMember::default(),
            entered: None,
            held: BTreeMap::new(),
            granted: BTreeSet::new(),
            floor: Fence::NONE,
            longest: Duration::ZERO,
        }
    }

    /// Takes the news that `ballot` decided the successor.
    pub fn told(&mut self, ballot: Ballot) {
        self.told = Some(self.told.map_or(ballot, |told| told.min(ballot)));
    }

    /// Takes the bounds of an answer that was received `at`. The caller passes the member's own
    /// answer, if it is wedged in the epoch before, like the others.
    pub fn header(&mut self, at: Time, source: Source, bounds: RestBounds) {
        let bound = at.after(bounds.rest);
        let new = Answer { bound, unknown: Time::ZERO, covered: None, is_whole: false, rests: 0 };
        if let Source::Wedged { member, ballot, into } = source
            && into == self.into
        {
            let members = self.accepted.entry(ballot).or_default();
            *members = members.with(member);
        }
        let known = match source {
            Source::Wedged { member, .. } => Some(self.wedged.get_or_insert(member, new)),
            Source::Entered { instance } => {
                let (first, known) = self.entered.get_or_insert((instance, new));
                (*first == instance).then_some(known)
            }
        };
        if let Some(known) = known {
            known.bound = known.bound.min(bound);
        }
        self.floor = self.floor.max(bounds.floor);
        self.longest = self.longest.max(bounds.rest);
    }

    /// Takes a page of an answer that was received `at`, with the bounds that came with it. A page
    /// that does not follow the pages before it, or goes back, teaches only its bounds.
    pub fn page(&mut self, at: Time, source: Source, bounds: RestBounds, page: Page<'_>) {
        self.header(at, source, bounds);
        let (from, answer) = match source {
            Source::Wedged { member, .. } => (Some(member), self.wedged.get_mut(member)),
            Source::Entered { instance } => {
                let first = self.entered.as_mut().filter(|(first, _)| *first == instance);
                (None, first.map(|(_, answer)| answer))
            }
        };
        let Some(answer) = answer else { return };
        let follows = !answer.is_whole && answer.covered.as_ref() == page.after;
        if !follows || !page.ascends() || answer.rests + page.rests.len() > self.rests_max {
            return;
        }
        answer.unknown = answer.unknown.max(at.after(bounds.unknown));
        answer.rests += page.rests.len();
        if let Some(last) = page.rests.last() {
            answer.covered = Some(last.election.clone());
        }
        answer.is_whole = !page.more;
        for rest in page.rests.iter().filter(|rest| !self.granted.contains(&rest.election)) {
            let held = self.held.entry(rest.election.clone()).or_default();
            let (who, until) = (rest.who.clone(), at.after(rest.rest));
            held.push(Held { from, who, start: rest.start, until });
        }
    }

    /// Whether the member may enter its epoch: a quorum accepted the epoch by one ballot, or by
    /// ballots from a known decision on; or another member has entered.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        let is_quorum = |members: MemberSet| self.before.quorums().is_quorum(members);
        let by_one = self.accepted.values().any(|members| is_quorum(*members));
        let later = self.told.map_or(MemberSet::EMPTY, |told| {
            let later = self.accepted.range(told..).map(|(_, members)| *members);
            later.fold(MemberSet::EMPTY, MemberSet::or)
        });
        self.entered.is_some() || by_one || is_quorum(later)
    }

    /// `U`: until when this holder may lead the election by the epoch before; `None` for a holder
    /// that no answer names. [`Time::MAX`] while too few members have answered.
    #[must_use]
    pub fn until(&self, election: &ElectionName, who: Option<&Who>) -> Time {
        if self.granted.contains(election) {
            return Time::ZERO;
        }
        self.over(|from, answer| {
            if !answer.covers(election) {
                return answer.bound;
            }
            let held = self.held.get(election).into_iter().flatten();
            let own = held.filter(|held| held.from == from && Some(&held.who) == who);
            own.map(|held| held.until).fold(answer.unknown, Time::max).min(answer.bound)
        })
    }

    /// The holder that keeps `who` from a grant at `at` for longest, and the end of its rest. The
    /// holder is `None` if no answer names it.
    #[must_use]
    pub fn rival(
        &self,
        election: &ElectionName,
        who: &Who,
        at: Time,
    ) -> Option<(Option<&Who>, Time)> {
        let named = self.held.get(election).into_iter().flatten().map(|held| &held.who);
        let others = named.filter(|holder| *holder != who).map(Some);
        let rivals = [None].into_iter().chain(others);
        let ends = rivals.map(|holder| (holder, self.until(election, holder)));
        ends.filter(|(_, until)| at < *until).max_by_key(|(_, until)| *until)
    }

    /// Ends the rests of a holder that gave up all its Starts up to `start`.
    pub fn released(&mut self, election: &ElectionName, who: &Who, start: Time) {
        if let Some(held) = self.held.get_mut(election) {
            held.retain(|held| held.who != *who || start < held.start);
        }
    }

    /// Notes that the member grants the election to `who`. The grant must last at least until the
    /// returned instant: from now on the grant stands for all rests of the election.
    #[must_use]
    pub fn granted(&mut self, election: &ElectionName, who: &Who) -> Time {
        let until = self.until(election, Some(who));
        self.held.remove(election);
        self.granted.insert(election.clone());
        until
    }

    /// The rests at `at` of all named holders of elections after this one, for the member's own
    /// answers.
    pub fn rests(&self, after: Option<&ElectionName>, at: Time) -> impl Iterator<Item = HeldRest> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let elections = self.held.range::<ElectionName, _>((after, Bound::Unbounded));
        elections.flat_map(move |(election, held)| {
            let mut starts = BTreeMap::<&Who, Time>::new();
            for held in held {
                let start = starts.entry(&held.who).or_default();
                *start = held.start.max(*start);
            }
            starts.into_iter().filter_map(move |(who, start)| {
                let rest = self.until(election, Some(who)).since(at);
                let (election, who) = (election.clone(), who.clone());
                (!rest.is_zero()).then_some(HeldRest { election, who, start, rest })
            })
        })
    }

    /// The latest end of a rest that [`rests`](Self::rests) does not name, in any election, for the
    /// member's own answers.
    #[must_use]
    pub fn unknown(&self) -> Time {
        self.over(|_, answer| match answer.is_whole {
            true => answer.unknown.min(answer.bound),
            false => answer.bound,
        })
    }

    /// `B`: the latest end of all rests of the epoch before.
    #[must_use]
    pub fn bound(&self) -> Time {
        let entered = self.entered.iter().map(|(_, answer)| answer);
        let bounds = self.wedged.values().chain(entered).map(|answer| answer.bound);
        bounds.max().unwrap_or(Time::MAX)
    }

    /// The highest fence of all answers: fences of the epoch are above it.
    #[must_use]
    pub const fn floor(&self) -> Fence {
        self.floor
    }

    /// The longest rest of all answers, which a quarantine covers.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// The first instant at which `end` has come for enough answers: for those of a quorum of the
    /// epoch before, or for that of a member that has entered.
    fn over(&self, end: impl Fn(Option<usize>, &Answer) -> Time) -> Time {
        let ends = self.wedged.iter().map(|(member, answer)| (end(Some(*member), answer), *member));
        let wedged = self.before.quorums().soonest(ends);
        let entered = self.entered.as_ref().map(|(_, answer)| end(None, answer));
        wedged.into_iter().chain(entered).min().unwrap_or(Time::MAX)
    }
}

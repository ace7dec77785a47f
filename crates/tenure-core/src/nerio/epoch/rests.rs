//! The rests of leases that a member inherits from the previous epoch.
//!
//! In section 10.6 a grantor wedges only when its grants have ended, so each change waits for
//! leases to end. Here a grantor wedges at once, and its [answer](Page) names each holder with the
//! rest of its grant, `F - C`. A member of the next epoch collects answers of a quorum. The member
//! grants to no candidate while another candidate may still lead by the previous epoch. So the
//! holder keeps leading.
//!
//! Each answer stays true for ever, because a wedged member grants nothing. A rest that is measured
//! from its receipt ends no earlier than the claim, on any clock. (The claim ends within
//! `(F - C) / (1 + ρ)` of real time, which is at most `F - C` on any clock. The same holds for a
//! rest that another member passes on.)
//!
//! Rules, by the numbers that tests and patches cite, each with the trace that refutes a simpler
//! rule:
//!
//! - 2.1.7: *One ballot ends the epoch.* Three of five members have accepted S, each by another
//!   ballot. A later proposer may still adopt another successor T. If a member entered S now, two
//!   epochs would run (T1).
//! - 2.1.8: *Acceptances after a known decision are added up.* Members a and b accept S by ballot
//!   1, which decides S. Then b accepts S again by ballot 2, whose proposer dies, and c is down.
//!   The present answers of a and b name two ballots, so no member would ever find a quorum of one
//!   ballot (T2).
//! - 2.2.2: *A member with incomplete answers names an unknown holder to others.* Member d enters
//!   before the page with the election of p has arrived. Member e asks d alone. If d named no
//!   unknown holder, e would grant to q while p leads.
//! - 2.3.1: *A quorum answers.* p leads by grants of a and b. The first answer is that of c, which
//!   granted nothing. If one answer were enough, the member would grant to q.
//! - 2.4.1: *A rest is measured from its receipt.* A member asks at second 0, and has the answer at
//!   second 6. If the member measured the rest from its question, the rest would end before the
//!   claim.
//! - 2.4.1: *An election that an answer does not cover has an unknown holder.* Otherwise the page
//!   with the election of p is lost, and the member grants to q while p leads.
//! - 2.4.1: *A member that forgot its grants names an unknown holder of everything.* Member a
//!   granted to p, has restarted, and answers without naming p. A page that a sent before the
//!   restart may arrive later, so the longest unknown rest of a member's pages is used.
//! - 2.4.2: *A rest is over once it is over by each answer of a quorum.* p leads by grants of a and
//!   c. Member b has just restarted and names an unknown holder. If the longest rest of all three
//!   answers were used, p could not renew and would lose its lease (T3).
//! - 2.4.5: *Each holder keeps its own rest.* p leads by grants of a and c, and b granted to q for
//!   longer. If a member kept only the longest rest of the election, it would forget the rest of p
//!   and grant to q.
//! - 2.4.6: *A grant lasts at least as long as the inherited rest of its holder.* p has a long
//!   lease, and renews with a short lease in the next epoch. If the new grant ended first, q would
//!   get a grant while the long lease lasts.
//! - 2.4.10: *A release ends only rests of Starts up to its own.* p leads a second time, and the
//!   release of its first leadership arrives in the next epoch. This release must not end the rest
//!   of the second leadership (T13).
//! - 2.4.10: *A release also ends rests that later pages name.* p resigns, and the page that names
//!   p arrives after the release. If the member forgot the release, no candidate could lead until
//!   p's rest ends.
//! - 2.4.10: *A release comes from the address of the holder.* Observers can learn the incarnation
//!   of p. Without this rule any observer could end the lease of p.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Bound;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::identity::{Instance, Who};
use super::super::quorum::MemberSet;
use super::{Ballot, EpochId, Membership};
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::time::Time;

/// Maximum number of ballots whose acceptances are kept; the earliest is dropped.
const BALLOTS_MAX: usize = 64;

/// The member that answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A member of the previous epoch that accepted the successor `into` by `ballot`.
    Wedged {
        /// Position in the previous epoch.
        member: usize,
        ballot: Ballot,
        into: EpochId,
    },
    /// A member that has entered the epoch, and so answers for all of the previous epoch. The
    /// caller checks that the document of the epoch names the instance.
    Entered { instance: Instance },
}

impl Source {
    const fn by(self) -> Answerer {
        match self {
            Self::Wedged { member, .. } => Answerer::Member(member),
            Self::Entered { instance } => Answerer::Entered(instance),
        }
    }
}

/// The member to whose answer a page belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Answerer {
    /// A wedged member, by its position in the previous epoch.
    Member(usize),
    /// A member that has entered the epoch.
    Entered(Instance),
}

/// The part of an answer that bounds all rests, whichever pages arrive.
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
    /// Address from which the holder sends requests.
    pub address: SocketAddr,
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
    /// Whether elections are left after the last election of the page.
    pub more: bool,
}

impl Page<'_> {
    /// Whether the elections ascend, and begin after the last election of the previous page.
    /// Otherwise the member would ask for the same pages again and again.
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
    /// Latest end of rests in covered elections whose holders the answer does not name.
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
    from: Answerer,
    who: Who,
    address: SocketAddr,
    start: Time,
    until: Time,
}

/// The holder that keeps a candidate out for longest, and the end of its rest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rival<'a> {
    /// `None` for a holder that no answer names.
    pub holder: Option<RivalHolder<'a>>,
    pub until: Time,
}

/// A holder as an answer names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RivalHolder<'a> {
    pub who: &'a Who,
    pub address: SocketAddr,
    pub start: Time,
}

/// The answers about the previous epoch that a member has received, and the leases that may last.
///
/// All instants are on the member's own clock. The inheritance does not outlive the process: the
/// caller keeps [`bound`](Self::bound), and a process that starts again waits for that bound.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inheritance {
    /// The previous epoch; `None` while its document is not known. Without the document, only
    /// answers of members that have entered are usable.
    before: Option<Arc<Membership>>,
    /// The epoch that the member enters.
    into: EpochId,
    /// Maximum number of kept rests of one answer, and of kept releases.
    rests_max: usize,
    /// Earliest ballot that is known to have decided `into`.
    told: Option<Ballot>,
    /// Members that accepted `into`, by ballot.
    accepted: BTreeMap<Ballot, MemberSet>,
    /// Answers of wedged members, whichever successor they accepted, and of members that have
    /// entered. Pages of two members are never mixed.
    answers: BTreeMap<Answerer, Answer>,
    held: BTreeMap<ElectionName, Vec<Held>>,
    /// Latest Start that each holder gave up, for each address of a sender: so a stranger's release
    /// in the name of a holder does not replace the holder's own release.
    released: BTreeMap<(ElectionName, Who, SocketAddr), Time>,
    /// Elections whose rests are part of a grant of the member itself.
    granted: BTreeSet<ElectionName>,
    floor: Fence,
    longest: Duration,
}

impl Inheritance {
    /// Begins without answers. `into` follows the epoch of `before`; at most `rests_max` rests of
    /// each answer are kept.
    #[must_use]
    pub fn begin(
        before: impl Into<Option<Arc<Membership>>>,
        into: EpochId,
        rests_max: usize,
    ) -> Self {
        Self {
            before: before.into(),
            into,
            rests_max,
            told: None,
            accepted: BTreeMap::new(),
            answers: BTreeMap::new(),
            held: BTreeMap::new(),
            released: BTreeMap::new(),
            granted: BTreeSet::new(),
            floor: Fence::NONE,
            longest: Duration::ZERO,
        }
    }

    /// The previous epoch, if its document is known.
    #[must_use]
    pub const fn before(&self) -> Option<&Arc<Membership>> {
        self.before.as_ref()
    }

    /// Takes the document of the previous epoch, whose wedged members can then answer.
    pub fn learn_before(&mut self, before: Arc<Membership>) {
        self.before.get_or_insert(before);
    }

    /// Takes the news that `ballot` decided the successor.
    pub fn told(&mut self, ballot: Ballot) {
        self.told = Some(self.told.map_or(ballot, |told| told.min(ballot)));
    }

    /// Takes the bounds of an answer that was received `at`. A member that is wedged in the
    /// previous epoch also passes its own answer.
    pub fn header(&mut self, at: Time, source: Source, bounds: RestBounds) {
        let bound = at.after(bounds.rest.max(bounds.unknown));
        let new = Answer { bound, unknown: Time::ZERO, covered: None, is_whole: false, rests: 0 };
        if let Source::Wedged { member, ballot, into } = source
            && into == self.into
        {
            let members = self.accepted.entry(ballot).or_default();
            *members = members.with(member);
            if self.accepted.len() > BALLOTS_MAX {
                self.accepted.pop_first();
            }
        }
        let known = self.answers.entry(source.by()).or_insert(new);
        known.bound = known.bound.min(bound);
        self.floor = self.floor.max(bounds.floor);
        self.longest = self.longest.max(bounds.rest.max(bounds.unknown));
    }

    /// Takes a page of an answer that was received `at`, with the bounds that came with it. From a
    /// page that does not follow the pages before it, or goes back, only the bounds are taken.
    pub fn page(&mut self, at: Time, source: Source, bounds: RestBounds, page: Page<'_>) {
        self.header(at, source, bounds);
        let from = source.by();
        let Some(answer) = self.answers.get_mut(&from) else { return };
        let follows = !answer.is_whole && answer.covered.as_ref() == page.after;
        let has_room = answer.rests + page.rests.len() <= self.rests_max;
        if !follows || !has_room || !page.ascends() {
            return;
        }
        answer.unknown = answer.unknown.max(at.after(bounds.unknown));
        answer.rests += page.rests.len();
        if let Some(last) = page.rests.last() {
            answer.covered = Some(last.election.clone());
        }
        answer.is_whole = !page.more;
        let Self { held, released, granted, .. } = self;
        for HeldRest { election, who, address, start, rest } in page.rests.iter().cloned() {
            let release = released.get(&(election.clone(), who.clone(), address));
            let is_released = release.is_some_and(|up_to| start <= *up_to);
            if !is_released && !granted.contains(&election) {
                let until = at.after(rest);
                held.entry(election).or_default().push(Held { from, who, address, start, until });
            }
        }
    }

    /// Drops the answer of a wedged member, because another answer shows that the member's memory
    /// is replaced.
    pub fn forget(&mut self, member: usize) {
        let from = Answerer::Member(member);
        self.answers.remove(&from);
        let without = MemberSet::EMPTY.with(member);
        self.accepted.values_mut().for_each(|members| *members = members.minus(without));
        self.held.values_mut().for_each(|held| held.retain(|held| held.from != from));
    }

    /// Whether an answer of this member has come.
    #[must_use]
    pub fn has_heard(&self, source: Source) -> bool {
        self.answers.contains_key(&source.by())
    }

    /// The election after which the next page of this answer begins. `None` when the answer is
    /// complete, or when no more of its rests can be kept.
    #[must_use]
    pub fn next_page(&self, source: Source) -> Option<Option<&ElectionName>> {
        let Some(answer) = self.answers.get(&source.by()) else { return Some(None) };
        let has_more = !answer.is_whole && answer.rests < self.rests_max;
        has_more.then_some(answer.covered.as_ref())
    }

    /// Whether the member may enter its epoch: a quorum accepted the epoch by one ballot, or by
    /// ballots that are not before a known decision; or another member has entered.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        let is_quorum = |members: MemberSet| {
            self.before.as_ref().is_some_and(|before| before.quorums().is_quorum(members))
        };
        let by_one = self.accepted.values().any(|members| is_quorum(*members));
        let later = self.told.map_or(MemberSet::EMPTY, |told| {
            let later = self.accepted.range(told..).map(|(_, members)| *members);
            later.fold(MemberSet::EMPTY, MemberSet::or)
        });
        self.has_entered().next().is_some() || by_one || is_quorum(later)
    }

    fn has_entered(&self) -> impl Iterator<Item = (Answerer, &Answer)> {
        let entered = (Bound::Excluded(Answerer::Member(usize::MAX)), Bound::Unbounded);
        self.answers.range(entered).map(|(by, answer)| (*by, answer))
    }

    /// `U`: the instant until which `who` may lead the election by the previous epoch. A `who` of
    /// `None` is a holder that no answer names. [`Time::MAX`] while too few members have answered.
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

    /// The holder that keeps `who` from a grant at `at` for longest, and the end of its rest.
    #[must_use]
    pub fn rival(&self, election: &ElectionName, who: &Who, at: Time) -> Option<Rival<'_>> {
        let named = self.held.get(election).into_iter().flatten();
        let others = named.filter(|held| held.who != *who).map(Some);
        let rivals = [None].into_iter().chain(others);
        let ends = rivals.map(|held| (held, self.until(election, held.map(|held| &held.who))));
        let (held, until) =
            ends.filter(|(_, until)| at < *until).max_by_key(|(_, until)| *until)?;
        let holder = held.map(|held| RivalHolder {
            who: &held.who,
            address: held.address,
            start: held.start,
        });
        Some(Rival { holder, until })
    }

    /// The instant from which no candidate leads the election by the previous epoch.
    #[must_use]
    pub fn end(&self, election: &ElectionName) -> Time {
        let named = self.held.get(election).into_iter().flatten().map(|held| &held.who);
        let ends = named.map(|who| self.until(election, Some(who)));
        ends.fold(self.until(election, None), Time::max)
    }

    /// Ends the rests of a holder that gave up all its Starts up to `start`, by a release from
    /// `address`. Keeps the release, because later pages may still name these rests.
    pub fn released(
        &mut self,
        election: &ElectionName,
        (who, address): (&Who, SocketAddr),
        start: Time,
    ) {
        if let Some(held) = self.held.get_mut(election) {
            let is_its = |held: &Held| held.who == *who && held.address == address;
            held.retain(|held| !is_its(held) || start < held.start);
        }
        let key = (election.clone(), who.clone(), address);
        let has_room = self.released.len() < self.rests_max;
        match self.released.get_mut(&key) {
            Some(up_to) => *up_to = start.max(*up_to),
            None if has_room => {
                self.released.insert(key, start);
            }
            None => {}
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

    /// The rests at `at` of all named holders of elections after `after`, for the member's own
    /// answers.
    pub fn rests(&self, after: Option<&ElectionName>, at: Time) -> impl Iterator<Item = HeldRest> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let elections = self.held.range::<ElectionName, _>((after, Bound::Unbounded));
        elections.flat_map(move |(election, held)| {
            let mut last = BTreeMap::<&Who, &Held>::new();
            for held in held {
                let known = last.entry(&held.who).or_insert(held);
                if known.start < held.start {
                    *known = held;
                }
            }
            last.into_iter().filter_map(move |(who, held)| {
                let rest = self.until(election, Some(who)).since(at);
                let (address, start) = (held.address, held.start);
                let (election, who) = (election.clone(), who.clone());
                (!rest.is_zero()).then_some(HeldRest { election, who, address, start, rest })
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

    /// The ballot by which `member` accepted the epoch, and the bounds of its answer at `at`.
    /// `None` unless the answer is whole.
    #[must_use]
    pub fn answer_of(&self, member: usize, at: Time) -> Option<(Ballot, RestBounds)> {
        let answer = self.answers.get(&Answerer::Member(member)).filter(|one| one.is_whole)?;
        let mut accepted = self.accepted.iter().rev();
        let (ballot, _) = accepted.find(|(_, members)| members.contains(member))?;
        let (rest, unknown) = (answer.bound.since(at), answer.unknown.since(at));
        Some((*ballot, RestBounds { rest, unknown, floor: self.floor }))
    }

    /// The rests at `at` in the answer of `member`, of elections after `after`.
    pub fn rests_of(
        &self,
        member: usize,
        after: Option<&ElectionName>,
        at: Time,
    ) -> impl Iterator<Item = HeldRest> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let elections = self.held.range::<ElectionName, _>((after, Bound::Unbounded));
        elections.flat_map(move |(election, held)| {
            let is_its =
                move |held: &&Held| held.from == Answerer::Member(member) && at < held.until;
            held.iter().filter(is_its).map(move |held| HeldRest {
                election: election.clone(),
                who: held.who.clone(),
                address: held.address,
                start: held.start,
                rest: held.until.since(at),
            })
        })
    }

    /// `B`: the latest end of all rests of the previous epoch. [`Time::MAX`] while too few members
    /// have answered.
    #[must_use]
    pub fn bound(&self) -> Time {
        let bounds = self.answers.values().map(|answer| answer.bound).max();
        bounds.filter(|_| self.is_enough()).unwrap_or(Time::MAX)
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

    /// The first instant at which `end` has come for enough answers: the answers of a quorum of the
    /// previous epoch, or the answer of a member that has entered.
    fn over(&self, end: impl Fn(Answerer, &Answer) -> Time) -> Time {
        let ends = self.answers.iter().filter_map(|(by, answer)| match by {
            Answerer::Member(member) => Some((end(*by, answer), *member)),
            Answerer::Entered(_) => None,
        });
        let wedged = self.before.as_ref().and_then(|before| before.quorums().soonest(ends));
        let entered = self.has_entered().map(|(by, answer)| end(by, answer)).min();
        wedged.into_iter().chain(entered).min().unwrap_or(Time::MAX)
    }
}

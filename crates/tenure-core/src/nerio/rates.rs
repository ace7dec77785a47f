//! Rates of the members' clocks beside this node's own, from the oks that arrive anyway. The paper
//! assumes the bound ρ; this node notices a breach of ρ.
//!
//! A sample has three instants: this node's clock before it sent a request (`s`) and after it
//! received the ok (`r`), and the member's clock in between (`T`). From a first to a second sample
//! of one process the member's clock advances by `T₂ − T₁`. This node's clock meanwhile advances by
//! at least `s₂ − r₁` and at most `r₂ − s₁`, however long the messages take. So for two clocks
//! within ρ:
//!
//! ```text
//! (1 − ρ)(T₂ − T₁) ≤ (1 + ρ)(r₂ − s₁)    otherwise the member's clock is too fast beside this one
//! (1 − ρ)(s₂ − r₁) ≤ (1 + ρ)(T₂ − T₁)    otherwise it is too slow
//! ```
//!
//! In each line the first sample appears only as a number, such as `(1 − ρ)T₁ − (1 + ρ)s₁`: the
//! sample with the least number proves all that any earlier sample proves. So two samples for each
//! member replace a history.
//!
//! # What follows from a proof
//!
//! *Oks of a faster member do not count.* The member keeps its grant for `(1 + ρ)δ` of its clock,
//! and this node claims `(1 − ρ)δ` of its own. So the grant outlasts the claim exactly if the
//! member's clock is faster by at most `(1 + ρ)/(1 − ρ)`. True time is not needed, nor is it known
//! which of the two clocks is wrong. A slower member keeps its grants longer, and its oks count.
//!
//! *A node takes its own clock to be wrong if no quorum is left without the faster members*: it
//! leads nothing and grants nothing, until an operator clears the breach or the process starts
//! again. Two clocks within ρ are never apart. So a node with a right clock accuses itself only if
//! the members with fast clocks leave no quorum. For a node with a slow clock, all clocks except
//! other slow clocks are faster. A single fast clock costs its member's vote, and a single slow
//! clock stops its own node: other nodes go on.
//!
//! *Slower members accuse no node.* A node with a fast clock sees all other clocks as slower. Its
//! claims end early, which harms nobody, and other candidates leave out its grants. If slower
//! members counted, a machine that pauses would also leave a lasting proof. Several such proofs
//! would accuse a node that never paused.
//!
//! *With a bound on skew all this is reported only.* Claims and grants then rest on wall clocks as
//! well, and a virtual machine that pauses may break ρ.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use super::by_member::ByMember;
use super::epoch::Membership;
use super::identity::{Boot, Inc, Instance, Stamp};
use super::quorum::MemberSet;
use crate::drift::Drift;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::List;

/// Room for the resolution of clocks, in the unit of [`Drift::surplus`]: 1 µs.
const RESOLUTION: i128 = 1_000 * 1_000_000_000;
/// Age at which the base of an estimate gets a successor. The successor replaces the base at twice
/// this age.
const BASE_AGE: Duration = Duration::from_secs(60 * 60);
/// Span after the base of an estimate in which a sample with half the round trip replaces the base.
const BASE_CHOICE: Duration = Duration::from_secs(60);

/// A comparison of two clocks at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sample {
    /// This node's clock before it sent the request.
    sent: Time,
    /// The member's clock.
    stamp: Time,
    /// This node's clock after it received the ok.
    received: Time,
}

/// The process whose clock was sampled. Only samples of one process have a common origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Process {
    memory: (Instance, Boot),
    inc: Inc,
}

impl Process {
    /// Whether this process is an earlier start of the same memory. Two memories have no order: an
    /// older directory may replace a lost one.
    fn is_before(self, other: Self) -> bool {
        let ((instance, boot), (of, later)) = (self.memory, other.memory);
        instance == of && boot < later
    }
}

/// The proof that a member's clock and this node's are not both within ρ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Apart {
    /// Whether the member's clock is the faster one.
    pub is_faster: bool,
    /// Advance of the member's clock.
    pub theirs: Duration,
    /// Advance of this node's clock meanwhile: at most this if the member's clock is faster, else
    /// at least this.
    pub ours: Duration,
}

/// A proof about the clock of one member, with the bound ρ.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClockApart {
    pub member: NodeName,
    pub apart: Apart,
    pub drift: Drift,
    /// Whether wall clocks bound leases as well, so that the proof has no consequence.
    pub is_only_reported: bool,
}

/// The rate of a member's clock beside this node's: the bounds of `member / own − 1`, in parts per
/// billion, over a span of this node's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    pub low: i64,
    pub high: i64,
    pub over: Duration,
}

/// The clock of a member, as this node knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberClock {
    pub member: NodeName,
    /// The measured rate; `None` before it has bounds.
    pub rate: Option<Rate>,
    /// The proofs that the clocks are apart, at most one in each direction.
    pub apart: Vec<Apart>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct PeerClock {
    process: Process,
    last: Stamp,
    latest: Sample,
    /// Sample with the least `(1 − ρ)T − (1 + ρ)s`, by which a later sample proves a faster clock.
    before_faster: Sample,
    /// Sample with the greatest `(1 + ρ)T − (1 − ρ)r`, by which a later sample proves a slower
    /// clock.
    before_slower: Sample,
    faster: Option<Apart>,
    slower: Option<Apart>,
    /// First sample of the estimate, and its successor.
    base: Sample,
    next_base: Option<Sample>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rates {
    clocks: ByMember<PeerClock>,
    /// Members whose clocks are proven faster than this node's.
    faster: MemberSet,
    /// Members whose clocks are proven slower than this node's.
    slower: MemberSet,
    /// Whether this node takes its own clock to be wrong.
    is_wrong: bool,
}

/// Leaves out the samples: among clocks within ρ they decide nothing, and the model check in
/// `tenure-sim`, which compares hashes, need not distinguish them.
impl Hash for Rates {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.faster, self.slower, self.is_wrong).hash(state);
    }
}

impl Rates {
    /// Compares the clock of `member` with this node's: an ok from the process `(instance, inc)`,
    /// to the request that left at `sent`, arrived at `now`. Returns a new proof.
    pub(super) fn observe(
        &mut self,
        (sent, now): (Time, Time),
        member: usize,
        (instance, inc): (Instance, Inc),
        stamp: Stamp,
        drift: Drift,
    ) -> Option<Apart> {
        if sent > now {
            return None;
        }
        let process = Process { memory: (instance, stamp.boot), inc };
        let sample = Sample { sent, stamp: stamp.clock, received: now };
        let known = match self.clocks.get_mut(member) {
            Some(known) if known.process == process => known,
            // A message of an earlier process may be late.
            Some(known) if process.is_before(known.process) => return None,
            Some(_) | None => {
                self.clocks.insert(member, PeerClock::new(process, stamp, sample));
                self.mark();
                return None;
            }
        };
        let proof = known.take(stamp, sample, drift);
        if proof.is_some() {
            self.mark();
        }
        proof
    }

    fn mark(&mut self) {
        let of = |has: fn(&PeerClock) -> bool| {
            let clocks = self.clocks.iter().filter(|(_, clock)| has(clock));
            clocks.map(|(member, _)| *member).collect()
        };
        let faster = of(|clock| clock.faster.is_some());
        let slower = of(|clock| clock.slower.is_some());
        (self.faster, self.slower) = (faster, slower);
    }

    /// Members whose oks do not count where drift alone bounds claims.
    pub(super) const fn faster(&self) -> MemberSet {
        self.faster
    }

    /// Whether this node takes its own clock to be wrong.
    pub(super) const fn is_wrong(&self) -> bool {
        self.is_wrong
    }

    /// True if this node takes its own clock to be wrong from now on: without the members whose
    /// clocks are faster no quorum is left.
    pub(super) fn accuses_itself(&mut self, membership: &Membership) -> bool {
        let rest = membership.everyone().minus(self.faster);
        let is_news = !self.is_wrong && !membership.quorums().is_quorum(rest);
        self.is_wrong |= is_news;
        is_news
    }

    /// Compares all clocks anew, from the next samples on.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps the clocks of members of both epochs, under their positions in `after`.
    pub(super) fn switch(&mut self, before: &Membership, after: &Membership) {
        let mut kept = ByMember::default();
        for (member, clock) in self.clocks.iter() {
            if let Some(position) = after.position(before.name(*member)) {
                kept.insert(position, clock.clone());
            }
        }
        self.clocks = kept;
        self.mark();
    }

    /// The clocks that were sampled.
    pub(super) fn describe(&self, membership: &Membership) -> Vec<MemberClock> {
        let one = |(member, clock): &(usize, PeerClock)| MemberClock {
            member: membership.name(*member).clone(),
            rate: clock.rate(),
            apart: clock.faster.into_iter().chain(clock.slower).collect(),
        };
        self.clocks.iter().map(one).collect()
    }
}

impl PeerClock {
    const fn new(process: Process, last: Stamp, sample: Sample) -> Self {
        Self {
            process,
            last,
            latest: sample,
            before_faster: sample,
            before_slower: sample,
            faster: None,
            slower: None,
            base: sample,
            next_base: None,
        }
    }

    /// Takes the next sample, unless it is older than the last one, and returns a new proof.
    fn take(&mut self, stamp: Stamp, sample: Sample, drift: Drift) -> Option<Apart> {
        // Only the order of the member's clock shows which of two samples came first.
        if stamp <= self.last {
            return None;
        }
        self.last = stamp;
        self.latest = sample;
        self.keep_base(sample);
        let faster = self.proves_faster(sample, drift);
        let slower = self.proves_slower(sample, drift);
        let first = self.before_faster;
        if drift.surplus([first.stamp, sample.stamp], [first.sent, sample.sent]) <= 0 {
            self.before_faster = sample;
        }
        let first = self.before_slower;
        if drift.surplus([first.received, sample.received], [first.stamp, sample.stamp]) <= 0 {
            self.before_slower = sample;
        }
        let is_new = |known: &mut Option<Apart>, proof: Option<Apart>| {
            let proof = proof.filter(|_| known.is_none())?;
            *known = Some(proof);
            Some(proof)
        };
        is_new(&mut self.faster, faster).or(is_new(&mut self.slower, slower))
    }

    fn proves_faster(&self, sample: Sample, drift: Drift) -> Option<Apart> {
        let first = self.before_faster;
        let (theirs, ours) = ([first.stamp, sample.stamp], [first.sent, sample.received]);
        let proven = drift.surplus(theirs, ours) > RESOLUTION;
        let (theirs, ours) = (span(theirs), span(ours));
        proven.then_some(Apart { is_faster: true, theirs, ours })
    }

    fn proves_slower(&self, sample: Sample, drift: Drift) -> Option<Apart> {
        let first = self.before_slower;
        let (theirs, ours) = ([first.stamp, sample.stamp], [first.received, sample.sent]);
        let proven = drift.surplus(ours, theirs) > RESOLUTION;
        let (theirs, ours) = (span(theirs), span(ours));
        proven.then_some(Apart { is_faster: false, theirs, ours })
    }

    /// Keeps the beginning of the estimate: a sample with a short round trip, one to two hours ago.
    fn keep_base(&mut self, sample: Sample) {
        let age = sample.received.since(self.base.received);
        if age >= BASE_AGE * 2 {
            self.base = self.next_base.take().unwrap_or(sample);
        } else if age >= BASE_AGE {
            self.next_base.get_or_insert(sample);
        } else if age < BASE_CHOICE && sample.trip() <= self.base.trip() / 2 {
            self.base = sample;
        }
    }

    fn rate(&self) -> Option<Rate> {
        let Self { base, latest, .. } = self;
        let theirs = span([base.stamp, latest.stamp]);
        let (least, most) =
            (span([base.received, latest.sent]), span([base.sent, latest.received]));
        let (low, high) = (ratio(theirs, most)?, ratio(theirs, least)?);
        Some(Rate { low, high, over: least })
    }
}

impl Sample {
    fn trip(&self) -> Duration {
        span([self.sent, self.received])
    }
}

fn span([from, to]: [Time; 2]) -> Duration {
    to.since(from)
}

/// `theirs / ours − 1` in parts per billion; `None` without a span.
fn ratio(theirs: Duration, ours: Duration) -> Option<i64> {
    let (theirs, ours) = (theirs.as_nanos(), ours.as_nanos());
    let (theirs, ours) = (i128::try_from(theirs).ok()?, i128::try_from(ours).ok()?);
    ((theirs - ours) * 1_000_000_000).checked_div(ours).and_then(|ratio| ratio.try_into().ok())
}

impl fmt::Display for ClockApart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, apart, drift, .. } = self;
        let Apart { is_faster, theirs, ours } = apart;
        let (pace, bound) = if *is_faster { ("faster", "most") } else { ("slower", "least") };
        write!(
            f,
            "the clock of {member} runs {pace} than this node's by more than drift {drift} allows: \
             it advanced by {theirs:?} while this node's clock advanced by {ours:?} at {bound}"
        )
    }
}

/// The sentence of a node that takes its own clock to be wrong, with a remedy.
pub(super) fn wrong_clock(apart: &[NodeName]) -> String {
    alloc::format!(
        "this node's clock runs faster or slower than those of {} by more than drift allows. \
         Without these members there is no quorum, so this node takes its own clock to be wrong: \
         it leads nothing and grants nothing. Correct the clock of this machine, then run `tenure \
         node clear-breach`, or start this process again (\"clock\" in docs/troubleshooting.md)",
        List(apart, ", ")
    )
}

impl ClockApart {
    /// Prints the proof, its consequence and a remedy.
    pub(super) fn sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let consequence = match (self.is_only_reported, self.apart.is_faster) {
            (true, _) => {
                "Leases from that member still count, because clock-skew-max bounds them, too"
            }
            (false, true) => "Leases from that member do not count here",
            (false, false) => {
                "Leases from that member still count, because a slower clock makes them last longer"
            }
        };
        write!(
            f,
            "{self}. {consequence}. Correct the clock that is wrong, then start its process again \
             (\"clock\" in docs/troubleshooting.md)"
        )
    }
}

#[cfg(test)]
mod tests;

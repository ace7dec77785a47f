//! A proposer of the successor of an epoch: single-decree Paxos over the members of that epoch.
//!
//! ```text
//!            promises of a quorum,      a quorum of the proposed     a quorum accepted
//!            none names a successor     successor is ready           by the present ballot
//!  Prepare ────────────────────────> Ready ─────────────────> Accept ────────────────> Decided
//!    ^  │ a promise names one                                 ^    │
//!    │  └─────────────────────────────────────────────────────┘    │
//!    └── a member promised a later ballot ─────────────────────────┘
//! ```
//!
//! The proposer has no clock. Its caller sends the question of the present [phase](Phase) to all
//! [missing](Proposer::missing) members when the phase changes and at each timeout. The caller
//! draws the length of the timeout: two proposers that retry at once bar each other for ever.
//!
//! Rules, by the numbers that tests and patches cite, each with the trace that refutes a simpler
//! rule:
//!
//! - 2.1.1: *The next ballot is above all ballots heard of.* Members refuse a ballot below their
//!   promise for ever.
//! - 2.1.5: *The proposer adopts the accepted successor of the highest ballot.* Three of five
//!   members, a, b and c, accept S, which is decided. Then c, d and e promise the next ballot. If
//!   its proposer ignored the S of c, they would accept T, and T would be decided too.
//! - 2.1.5: *A proposer without the document of that successor asks for promises anew.* Only a, one
//!   of five members, has accepted T. a promises the ballot, then a is lost, and with it the only
//!   copy of T. The promises of the others name no successor, so the proposer goes on with its own.
//! - 2.1.6: *A quorum of the proposed successor is ready before the first accept.* Otherwise the
//!   members could accept the successor {d, e, f}, whose machines never start. The members would
//!   stay wedged, and no other epoch could follow.
//! - 2.1.7: *Acceptances of one ballot decide.* The members are a to e. Members a, b and d have
//!   accepted S by the ballots 1, 3 and 4, and c has accepted T by ballot 2. Three members have
//!   accepted S, yet nothing is decided. A proposer of ballot 5 with promises of a, c and e adopts
//!   T, because ballot 2 is above ballot 1 (T1).
//! - 2.1.9: *A wedged member proposes the successor that it has accepted.* The proposer of S may
//!   have died, and only a decision frees a member that has accepted S. So that member proposes S,
//!   even if the seats of S are not ready.
//! - 2.1.10: *A proposal cannot be cancelled once a member may have accepted it.* That member is
//!   wedged, and only a decision lets it serve again.
//!
//! In an upgraded epoch the caller [leaves out](Proposer::forget) the answers of replaced memories
//! (T10).
//!
//! A founding is a change from no epoch to epoch 0. The members on the list of the settings count
//! as those of the epoch that is to end:
//!
//! - 3.1: *A founding needs the promises of all members.* Members a and b accept D, which is
//!   decided. Then the directory of b is lost, and only a knows of D. If two promises were enough,
//!   c and the new memory of b would found D' as well.

use alloc::sync::Arc;

use super::super::identity::Inc;
use super::super::quorum::MemberSet;
use super::{Ballot, EpochId, Membership, Origin};

/// The present step of a proposer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The members of the epoch are asked to promise the ballot.
    Prepare,
    /// The seats of the proposed successor are asked whether they are ready.
    Ready,
    /// The members of the epoch are asked to accept this successor.
    Accept { successor: EpochId },
    /// A successor is decided: the proposed one, or another.
    Decided { successor: EpochId },
    /// The proposal was withdrawn before any member could accept it.
    Cancelled,
}

/// A proposal of one successor of an epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Proposer {
    /// The epoch that is to end.
    before: Arc<Membership>,
    /// The proposed successor.
    own: Arc<Membership>,
    inc: Inc,
    ballot: Ballot,
    /// Highest ballot that an answer named.
    heard: Ballot,
    phase: Phase,
    /// Members of the ending epoch that answered the present question for the present ballot.
    answers: MemberSet,
    /// Accepted successor of the highest ballot, among the promises so far and `carried`.
    highest: Option<(Ballot, EpochId)>,
    /// Successor that the proposing member itself has accepted, and its ballot.
    carried: Option<(Ballot, EpochId)>,
    /// Seats of the proposed successor that are ready.
    ready: MemberSet,
    /// Whether a member may have accepted a successor.
    is_begun: bool,
}

impl Proposer {
    /// Begins to propose `own` as the successor of `before`. `above` is the highest ballot of this
    /// epoch that the incarnation has heard of or used: a ballot that is used twice can decide two
    /// successors. `None` when no later ballot exists.
    #[must_use]
    pub fn start(
        before: Arc<Membership>,
        own: Arc<Membership>,
        inc: Inc,
        above: Ballot,
    ) -> Option<Self> {
        Some(Self {
            before,
            own,
            inc,
            ballot: above.next(inc)?,
            heard: above,
            phase: Phase::Prepare,
            answers: MemberSet::EMPTY,
            highest: None,
            carried: None,
            ready: MemberSet::EMPTY,
            is_begun: false,
        })
    }

    /// Notes that the proposing member itself has accepted this successor. The proposer goes on
    /// with this successor, unless a promise names a successor of a higher ballot. The member need
    /// not promise first: if a ballot has decided a successor, all higher ballots have the same
    /// successor.
    pub fn carry(&mut self, accepted: (Ballot, EpochId)) {
        self.is_begun = true;
        self.carried = self.carried.max(Some(accepted));
        self.highest = self.highest.max(self.carried);
        if self.phase == Phase::Ready
            && let Some((_, successor)) = self.highest
        {
            self.propose(successor);
        }
    }

    /// Leaves out the answer of a member to the present question.
    pub fn forget(&mut self, member: usize) {
        self.answers = self.answers.minus(MemberSet::EMPTY.with(member));
    }

    /// The present ballot. Answers for another ballot are ignored.
    #[must_use]
    pub const fn ballot(&self) -> Ballot {
        self.ballot
    }

    /// The present step, whose question goes to [`missing`](Self::missing).
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The members that have not answered the present question: positions in the epoch that is to
    /// end, or seats of the proposed successor while the phase is [`Phase::Ready`].
    #[must_use]
    pub fn missing(&self) -> MemberSet {
        match self.phase {
            Phase::Prepare | Phase::Accept { .. } => self.before.everyone().minus(self.answers),
            Phase::Ready => self.own.everyone().minus(self.ready),
            Phase::Decided { .. } | Phase::Cancelled => MemberSet::EMPTY,
        }
    }

    /// Takes a member's promise of `ballot`, with the successor that the member had accepted. True
    /// if the phase changed.
    pub fn on_promise(
        &mut self,
        member: usize,
        ballot: Ballot,
        accepted: Option<(Ballot, EpochId)>,
    ) -> bool {
        self.is_begun |= accepted.is_some();
        if self.phase != Phase::Prepare || ballot != self.ballot {
            return false;
        }
        self.answers = self.answers.with(member);
        let founds = self.is_founding();
        if accepted.map(|(ballot, _)| ballot) > self.highest.map(|(ballot, _)| ballot) {
            self.highest = accepted;
        }
        if !self.is_promised() {
            return false;
        }
        match self.highest {
            Some((_, successor)) => self.propose(successor),
            // In a founding, the members that have promised are also the seats.
            None if founds || self.is_ready() => self.propose(self.own.id()),
            None => self.phase = Phase::Ready,
        }
        true
    }

    /// Notes that a seat of `successor` is ready: the member has the document, can write its
    /// directory, and serves the previous epoch or no epoch. True if the phase changed.
    pub fn on_ready(&mut self, seat: usize, successor: EpochId) -> bool {
        if successor == self.own.id() {
            self.ready = self.ready.with(seat);
        }
        let proposes = self.phase == Phase::Ready && self.is_ready();
        if proposes {
            self.propose(self.own.id());
        }
        proposes
    }

    /// Notes that a member accepted `successor` by `ballot`. True if that decides.
    pub fn on_accepted(&mut self, member: usize, ballot: Ballot, successor: EpochId) -> bool {
        if self.phase != (Phase::Accept { successor }) || ballot != self.ballot {
            return false;
        }
        self.answers = self.answers.with(member);
        let is_decided = self.is_answered();
        if is_decided {
            self.phase = Phase::Decided { successor };
        }
        is_decided
    }

    /// Handles the refusal of a member that promised `above`. The next timeout goes on above that
    /// ballot.
    pub fn on_refused(&mut self, above: Ballot) {
        self.heard = self.heard.max(above);
    }

    /// Takes the news that `successor` is decided. True if this is new to the proposer.
    pub fn on_decided(&mut self, successor: EpochId) -> bool {
        let is_news = self.is_open();
        if is_news {
            self.phase = Phase::Decided { successor };
        }
        is_news
    }

    /// Handles missing answers: begins a larger ballot if a member promised a later ballot. The
    /// caller then asks the missing members again.
    pub fn on_timeout(&mut self) {
        if self.heard > self.ballot {
            self.prepare_anew();
        }
    }

    /// Begins a larger ballot. The caller then asks the missing members.
    pub fn prepare_anew(&mut self) {
        if self.is_open()
            && let Some(ballot) = self.heard.max(self.ballot).next(self.inc)
        {
            self.ballot = ballot;
            self.phase = Phase::Prepare;
            self.answers = MemberSet::EMPTY;
            self.highest = self.carried;
        }
    }

    /// Withdraws the proposal; false if a member may have accepted a successor, or a successor is
    /// decided.
    pub fn cancel(&mut self) -> bool {
        let is_cancelled = self.is_open() && !self.is_begun;
        if is_cancelled {
            self.phase = Phase::Cancelled;
        }
        is_cancelled
    }

    const fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Decided { .. } | Phase::Cancelled)
    }

    /// Whether the proposed document founds the cluster.
    #[must_use]
    pub fn is_founding(&self) -> bool {
        self.own.document().origin == Origin::Founded
    }

    fn is_promised(&self) -> bool {
        match self.is_founding() {
            true => self.missing().is_empty(),
            false => self.is_answered(),
        }
    }

    fn is_answered(&self) -> bool {
        self.before.quorums().is_quorum(self.answers)
    }

    fn is_ready(&self) -> bool {
        self.own.quorums().is_quorum(self.ready)
    }

    fn propose(&mut self, successor: EpochId) {
        self.is_begun = true;
        self.phase = Phase::Accept { successor };
        self.answers = MemberSet::EMPTY;
    }
}

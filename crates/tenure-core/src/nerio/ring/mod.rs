//! The virtual ring of section 9, and the weak leaders of 10.3: opt-in, by [`RingConfig`].
//!
//! Members stand on a ring in the order of their names. Each member monitors two neighbours, the
//! closest predecessor and the closest successor that it considers correct. At each tick the member
//! asks both. The member also asks every suspected member in between, and so notices a member that
//! comes back. A member that suspects all smaller members considers itself the weak leader. Each
//! answer names the weak leader of its sender, so that the name passes from predecessor to
//! successor.
//!
//! ```text
//!            every quarter of the silence
//!  member ──────────── ping ───────────> neighbour, and suspected members before it
//!         <──── pong, its weak leader ──
//!
//!  unwatched ──watched──> correct ──no evidence for longer than the bound──> suspected
//!      ^                   │  ^                                                │   │
//!      └── a closer one ───┘  └──────────── a fresh answer ────────────────────┘   │
//!      └──────────────────────────────── a closer one ─────────────────────────────┘
//! ```
//!
//! A node that is no member, or has no grantor, stands behind the last member: the node asks like a
//! member, and is nobody's weak leader.
//!
//! Nothing of the ring touches grants or claims. The rule that only a weak leader campaigns is in
//! [`candidate/held_back.rs`](super::candidate).

mod config;
mod detector;
mod message;
mod weak_leader;

use alloc::vec::Vec;

pub use self::config::{Detector, RingConfig};
use self::detector::Evidence;
pub use self::message::{Ping, Pong};
pub use self::weak_leader::WeakLeader;
use super::epoch::Membership;
use super::event::OwnEvent;
use super::identity::Who;
use super::quorum::MemberSet;
use crate::name::NodeName;
use crate::time::Time;

/// The ring as one node sees it, in one epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ring {
    config: RingConfig,
    /// Position of this member; `None` for a node that stands behind the last member.
    own: Option<usize>,
    /// Evidence of each member by position; the evidence of this member is unused.
    members: Vec<Evidence>,
    /// Start of the latest pings.
    asked: Option<Time>,
    next_at: Time,
    /// Weak leader of the last report.
    told: Option<WeakLeader>,
    /// Grant of this node's own grantor in the election of the present input.
    pub(super) own_grant: Option<OwnGrant>,
}

/// A live grant of a node's own grantor (`A`, while `C < F`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OwnGrant {
    pub(super) to: Who,
    /// Whether the holder has announced a fence, and so leads.
    pub(super) leads: bool,
}

impl Ring {
    /// A ring whose first pings are due at `now`. `own` is the position of this member.
    pub(super) fn new(
        config: RingConfig,
        own: Option<usize>,
        membership: &Membership,
        now: Time,
    ) -> Self {
        let members = membership.names().iter().map(|_| Evidence::default()).collect();
        Self { config, own, members, asked: None, next_at: now, told: None, own_grant: None }
    }

    /// Begins anew with the members of another epoch. Positions differ there.
    pub(super) fn switch(&mut self, own: Option<usize>, membership: &Membership, now: Time) {
        let told = self.told.take();
        *self = Self { told, ..Self::new(self.config, own, membership, now) };
    }

    /// Time of the next tick; [`Time::MAX`] never comes.
    pub(super) fn due(&self) -> Option<Time> {
        Some(self.next_at).filter(|due| *due < Time::MAX)
    }

    /// At a tick, judges the evidence and returns the members to ask.
    pub(super) fn run_due(&mut self, now: Time) -> MemberSet {
        if now < self.next_at {
            return MemberSet::EMPTY;
        }
        let interval = self.config.interval();
        let late = now.since(self.next_at);
        // A process that stood still received nothing: its own pause is no silence of others.
        let pause = if late > interval { late } else { core::time::Duration::ZERO };
        for member in &mut self.members {
            member.judge(now, pause, &self.config);
        }
        let watched = self.watched();
        for (member, evidence) in self.members.iter_mut().enumerate() {
            evidence.watch(watched.contains(member).then_some(now));
        }
        self.asked = Some(now);
        self.next_at = now.after(interval);
        watched
    }

    /// Takes the answer of `member` to the ping with this Start. `named` is the weak leader of
    /// `member`. Returns false for an answer that was not asked for, or that says nothing new.
    pub(super) fn on_pong(
        &mut self,
        now: Time,
        member: usize,
        start: Time,
        named: Option<usize>,
    ) -> bool {
        let is_asked = self.asked.is_some_and(|asked| start <= asked);
        match self.members.get_mut(member) {
            Some(evidence) if is_asked && self.own != Some(member) => {
                evidence.hear(now, start, named, &self.config)
            }
            Some(_) | None => false,
        }
    }

    /// The closest predecessor and the closest successor that are considered correct, and the
    /// suspected members in between.
    fn watched(&self) -> MemberSet {
        let count = self.members.len();
        let until_correct = |order: &mut dyn Iterator<Item = usize>| {
            let mut found = MemberSet::EMPTY;
            for member in order {
                found = found.with(member);
                if !self.members[member].is_suspected() {
                    break;
                }
            }
            found
        };
        let Some(own) = self.own else { return until_correct(&mut (0..count).rev()) };
        let before = until_correct(&mut (1..count).map(|step| (own + count - step) % count));
        let behind = until_correct(&mut (1..count).map(|step| (own + step) % count));
        before.or(behind)
    }

    /// Whether this member considers itself the weak leader, because it suspects every smaller
    /// member.
    pub(super) fn is_weak_leader(&self) -> bool {
        self.own.is_some() && self.predecessor().is_none()
    }

    /// The closest smaller member that is considered correct.
    fn predecessor(&self) -> Option<usize> {
        let smaller = 0..self.own.unwrap_or(self.members.len());
        smaller.rev().find(|member| !self.members[*member].is_suspected())
    }

    /// The weak leader: this member, or the member that its predecessor names.
    fn view(&self) -> Option<usize> {
        match self.predecessor() {
            None => self.own,
            // The predecessor names a smaller weak leader, or is the weak leader itself.
            Some(member) => self.members[member].named.filter(|named| *named <= member),
        }
    }

    /// The name of the weak leader.
    pub(super) fn named<'a>(&self, membership: &'a Membership) -> Option<&'a NodeName> {
        membership.names().get(self.view()?)
    }

    /// A report of the weak leader, if it has changed since the last report.
    pub(super) fn news(&mut self, membership: &Membership) -> Option<OwnEvent> {
        let now = self.named(membership).map(|member| WeakLeader {
            member: member.clone(),
            here: self.is_weak_leader(),
            epoch: membership.id().number,
        });
        (now != self.told).then(|| {
            self.told.clone_from(&now);
            OwnEvent::WeakLeader(now)
        })
    }

    /// Whether candidates of this node leave the election to the weak leader.
    pub(super) const fn holds_back(&self) -> bool {
        self.config.only_weak_leader && self.own.is_some()
    }

    /// Time without a leader after which a candidate campaigns, whatever the ring says: twice the
    /// silence, so that the members have agreed on a weak leader, and the weak leader has had its
    /// turn.
    pub(super) const fn patience(&self) -> core::time::Duration {
        self.config.silence.saturating_mul(2)
    }
}

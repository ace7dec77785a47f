//! State that all candidates and observers of a node share.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use super::candidate::LeaderSilence;
use super::config::Checked;
use super::epoch::{Confirmation, Membership};
use super::event::OwnEvent;
use super::following_lease::FollowingLease;
use super::gone::Supervisor;
use super::identity::{Inc, Who};
use super::quorum_trips::QuorumTrips;
use super::rates::Rates;
use super::ring::Ring;
use super::round_trips::RoundTrips;
use super::words::{Out, send};
use crate::clocks::BothClocks;
use crate::draw::Draw;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::Obstacle;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Context {
    pub(super) config: Checked,
    /// The members that candidates and observers ask.
    pub(super) membership: Arc<Membership>,
    /// Whether these members have confirmed the membership.
    pub(super) confirmation: Confirmation,
    /// Membership of the previous epoch of this cluster, and the time until which candidates also
    /// send releases to its members. At that time all leases of that epoch have ended.
    pub(super) before: Option<(Arc<Membership>, Time)>,
    /// Start of the latest question to the members.
    pub(super) asked: Option<Time>,
    pub(super) who: Who,
    pub(super) draw: Draw,
    pub(super) trips: RoundTrips,
    pub(super) quorum_trips: QuorumTrips,
    pub(super) silence: LeaderSilence,
    /// Neighbours on the ring of section 9; `None` without that setting, and before the start.
    pub(super) ring: Option<Ring>,
    /// The member that watches this process.
    pub(super) supervisor: Option<NodeName>,
    /// Readings of both clocks at the present input; `None` without a bound on skew.
    pub(super) clocks: Option<BothClocks>,
    /// The lease of `config` follows the network, if the settings say so.
    pub(super) following: Option<Box<FollowingLease>>,
    pub(super) rates: Rates,
    /// The reason why the members answer no candidate of this node: its memory is in no epoch.
    pub(super) not_let_in: Option<Obstacle>,
}

impl Context {
    /// The state before the start of a node.
    pub(super) fn new(config: Checked, name: NodeName) -> Self {
        let membership = Arc::clone(config.membership());
        let who = Who { name, inc: Inc(0) };
        let (draw, silence) = (Draw::new(0), LeaderSilence::default());
        let (confirmation, trips) = (Confirmation::default(), RoundTrips::default());
        let following = FollowingLease::of(&config).map(Box::new);
        Self {
            config,
            membership,
            confirmation,
            before: None,
            asked: None,
            who,
            draw,
            trips,
            quorum_trips: QuorumTrips::default(),
            silence,
            ring: None,
            supervisor: None,
            clocks: None,
            following,
            rates: Rates::default(),
            not_let_in: None,
        }
    }

    /// Names the supervisor to `member`, ahead of a request (supervised release 4).
    pub(super) fn name_supervisor(&self, member: usize, out: &mut Out) {
        if let Some(name) = self.supervisor.clone() {
            send(out, self.membership.to(member), Supervisor { name });
        }
    }

    /// δ of the first request of a leadership.
    pub(super) fn lease_first(&self) -> Duration {
        let first = self.config.lease_first();
        match &self.following {
            None => first,
            Some(following) => {
                first.max(following.first_needed(&self.config)).min(self.config.lease)
            }
        }
    }

    /// The time for which a candidate waits for an answer. After that, an ok for a first lease
    /// would have ended.
    pub(super) fn answers_within(&self) -> Duration {
        self.config.parked_for().max(self.lease_first())
    }

    /// The longest lease for which this node may have asked.
    pub(super) fn longest_lease(&self) -> Duration {
        let longest = self.config.lease.max(self.config.lease_first());
        self.following.as_ref().map_or(longest, |following| longest.max(following.longest()))
    }

    /// Adapts a lease that follows the network to the latest round trips.
    pub(super) fn follow_network(&mut self, now: Time) -> Option<OwnEvent> {
        self.following.as_mut()?.follow(now, &mut self.config, &self.quorum_trips)
    }

    /// Shortens a lease that follows the network to the longest that a grantor gives.
    pub(super) fn follow_refusal(&mut self, now: Time, delta_max: Duration) -> Option<OwnEvent> {
        self.following.as_mut()?.refused(now, delta_max, &mut self.config)
    }

    /// Membership of the previous epoch, while its leases may last.
    pub(super) fn before(&self, now: Time) -> Option<&Arc<Membership>> {
        self.before.as_ref().filter(|(_, until)| now < *until).map(|(before, _)| before)
    }

    /// Whether this node may have sent a question with this Start: no question is later than the
    /// latest. A member that invents an earlier Start gains nothing.
    pub(super) fn has_asked(&self, start: Time) -> bool {
        self.asked.is_some_and(|asked| start <= asked)
    }

    pub(super) fn round_trip(&self) -> Duration {
        self.trips.high(self.config.round_trip)
    }

    pub(super) fn retry(&self) -> Duration {
        self.config.retry_after(self.round_trip())
    }

    /// Pause before the next request of a leader that hands over.
    pub(super) fn retry_of_transfer(&self) -> Duration {
        self.retry().min(self.config.refresh)
    }
}

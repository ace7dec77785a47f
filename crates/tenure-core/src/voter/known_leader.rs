//! The leader that a voter knows of, and the last view of its application.

use core::time::Duration;

use super::identity::{Leadership, VoterUrl};
use super::message::{LeaderDto, LeaseDto};
use super::promise::Promise;
use crate::name::{NodeName, Value};
use crate::time::Time;
use crate::view::View;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Watch {
    pub(super) followed: Option<FollowedLeader>,
    pub(super) observed: Option<Observation>,
    /// In mode `available`: the time by which this voter would have heard of a leader.
    informed_at: Time,
    /// The last leader that asked for a lease of another length than this voter would, and that
    /// length.
    other_times: Option<(NodeName, Duration)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FollowedLeader {
    pub(super) leadership: Leadership,
    value: Value,
    url: VoterUrl,
    heard: Time,
    /// The time until which the leader certainly leads, unless it gives up.
    certain: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Observation {
    shown: Option<View>,
}

impl Watch {
    /// Begins to listen: a leader would be heard within `silence`.
    pub(super) fn begin(&mut self, now: Time, silence: Duration) {
        self.informed_at = now.after(silence);
    }

    /// Notes that a voter has answered a heartbeat: by `time` the voters would have named a leader.
    pub(super) fn answered_by(&mut self, time: Time) {
        self.informed_at = self.informed_at.min(time);
    }

    /// Whether another voter would have named a leader by now.
    pub(super) fn is_informed(&self, now: Time) -> bool {
        now >= self.informed_at
    }

    pub(super) fn hear(&mut self, lease: &LeaseDto, url: &VoterUrl, now: Time) {
        let LeaseDto { leadership, value, .. } = lease.clone();
        let same = self.followed.take().filter(|before| before.leadership == leadership);
        let certain = same.and_then(|same| same.certain);
        self.followed =
            Some(FollowedLeader { leadership, value, url: url.clone(), heard: now, certain });
    }

    /// Follows a leader that has answered. The leader certainly leads until `certain`.
    pub(super) fn hear_answer(&mut self, leader: &LeaderDto, certain: Option<Time>, now: Time) {
        match &mut self.followed {
            Some(known) if known.leadership == leader.leadership => {
                (known.heard, known.certain) = (now, certain.max(known.certain));
            }
            Some(known) if known.leadership.ballot > leader.leadership.ballot => {}
            _ => {
                let LeaderDto { leadership, value, url, .. } = leader.clone();
                self.followed =
                    Some(FollowedLeader { leadership, value, url, heard: now, certain });
            }
        }
    }

    /// Forgets an ended leadership. Returns whether this voter has followed it.
    pub(super) fn forget(&mut self, leadership: &Leadership) -> bool {
        self.followed.take_if(|followed| followed.leadership == *leadership).is_some()
    }

    /// The time until which the followed leader counts, if it counts now. This is the end of this
    /// voter's promise to that leader, or the end of the longest silence, whichever is later.
    pub(super) fn follows_until(
        &self,
        promise: &Promise,
        now: Time,
        silence: Duration,
    ) -> Option<Time> {
        let followed = self.followed.as_ref()?;
        let promised = promise.running(now);
        let promised = promised.filter(|(to, _)| to.is_as(&followed.leadership));
        let until = followed.heard.after(silence);
        let until = promised.map_or(until, |(_, promised)| promised.max(until));
        (now < until).then_some(until)
    }

    /// The followed leader, as messages describe it.
    pub(super) fn leader_dto(&self, now: Time) -> Option<LeaderDto> {
        let FollowedLeader { leadership, value, url, certain, .. } = self.followed.clone()?;
        let remaining = certain.map(|certain| certain.since(now));
        let remaining = remaining.filter(|left| !left.is_zero());
        Some(LeaderDto { leadership, url, value, remaining })
    }

    pub(super) fn heard(&self) -> Option<Time> {
        self.followed.as_ref().map(|followed| followed.heard)
    }

    /// Notes a leader that asks for a lease of another length than this voter would. Returns `true`
    /// the first time.
    pub(super) fn note_other_times(&mut self, leader: &NodeName, theirs: Duration) -> bool {
        let times = Some((leader.clone(), theirs));
        let is_news = self.other_times != times;
        self.other_times = times;
        is_news
    }

    pub(super) fn show(&mut self, view: View) {
        self.observed = Some(Observation { shown: Some(view) });
    }

    pub(super) fn show_again(&mut self) {
        if let Some(observed) = &mut self.observed {
            observed.shown = None;
        }
    }
}

impl Observation {
    /// The time since which no leader is known, if none is known at `now`.
    pub(super) const fn unknown_since(&self, now: Time) -> Time {
        match &self.shown {
            Some(View::Unknown { since }) => *since,
            _ => now,
        }
    }

    pub(super) fn is_news(&self, view: &View, every: Duration) -> bool {
        self.shown.as_ref().is_none_or(|shown| shown.is_outdated_by(view, every))
    }
}

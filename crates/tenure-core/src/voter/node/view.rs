//! What is known of the leader, and what the application is told of it.

use alloc::vec::Vec;

use super::Voter;
use crate::name::{NodeName, Value};
use crate::time::Time;
use crate::view::{LeaderView, View};
use crate::voter::event::Event;
use crate::voter::free::{self, Free};
use crate::voter::identity::{Leadership, VoterUrl};
use crate::voter::message::{LeaderDto, LeaseDto};
use crate::voter::words::Out;
use crate::waiting::Waiting;

/// The leader that this voter knows of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Followed {
    pub(super) leadership: Leadership,
    value: Value,
    url: VoterUrl,
    heard: Time,
    /// Until when it leads at least, unless it gives up.
    certain: Option<Time>,
}

/// Somebody looks at the election.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Observed {
    shown: Option<View>,
}

impl Followed {
    /// A leader that was heard itself.
    pub(super) fn of(lease: &LeaseDto, url: &VoterUrl, now: Time, before: Option<Self>) -> Self {
        let LeaseDto { leadership, value, .. } = lease.clone();
        let same = before.filter(|before| before.leadership == leadership);
        let certain = same.and_then(|same| same.certain);
        Self { leadership, value, url: url.clone(), heard: now, certain }
    }
}

impl Voter {
    /// A leader has answered, and said how much longer it leads; that counts from the question.
    pub(super) fn follow_told(&mut self, leader: &LeaderDto, sent: Time, out: &mut Out) {
        if self.leads() || self.promise.is_released(&leader.leadership) {
            return;
        }
        self.leave_lesser_round(&leader.leadership, out);
        let left = leader.remaining.map(|left| left.min(self.config.lease()));
        let certain = left.map(|left| sent.after(self.config.counted(left)));
        match &mut self.followed {
            Some(known) if known.leadership == leader.leadership => {
                (known.heard, known.certain) = (self.now, certain.max(known.certain));
            }
            Some(known) if known.leadership.ballot > leader.leadership.ballot => {}
            _ => {
                let LeaderDto { leadership, value, url, .. } = leader.clone();
                let heard = self.now;
                self.followed = Some(Followed { leadership, value, url, heard, certain });
            }
        }
    }

    /// Until when the followed leader counts as one, if it does now.
    pub(super) fn following_until(&self) -> Option<Time> {
        let followed = self.followed.as_ref()?;
        let promised = self.promise.running(self.now);
        let promised = promised.filter(|(to, _)| to.is_as(&followed.leadership));
        let until = followed.heard.after(self.config.silence());
        let until = promised.map_or(until, |(_, promised)| promised.max(until));
        (self.now < until).then_some(until)
    }

    pub(super) fn view_due(&self) -> Option<Time> {
        self.followed.as_ref()?;
        Some(self.following_until().unwrap_or(self.now))
    }

    /// The leader was not heard for too long.
    pub(super) fn on_view_due(&mut self) {
        if let Some(followed) = self.followed.take() {
            self.starter.suspect = Some(followed.leadership.leader.id);
            self.keep_starting();
        }
    }

    /// Who leads, as others are told.
    pub(super) fn leader_dto(&self) -> Option<LeaderDto> {
        if let Some(own) = self.own_leader_dto() {
            return Some(own);
        }
        let followed = self.followed.as_ref()?;
        let Followed { leadership, value, url, certain, .. } = followed.clone();
        let remaining = certain.map(|certain| certain.since(self.now));
        let remaining = remaining.filter(|left| !left.is_zero());
        Some(LeaderDto { leadership, url, value, remaining })
    }

    /// What was told last may not have arrived.
    pub(super) fn forget_told(&mut self) {
        if let Some(campaign) = &mut self.campaign {
            campaign.waits = None;
        }
        if let Some(observed) = &mut self.observed {
            observed.shown = None;
        }
    }

    /// Tells what has changed.
    pub(super) fn tell_changes(&mut self, out: &mut Out) {
        if let Some(waits) = self.waits()
            && let Some(campaign) = &mut self.campaign
        {
            let slack = self.config.heartbeat;
            // That voters draw is told where something else was told before.
            let begins = waits == Waiting::Drawing && campaign.waits.is_none();
            if !begins && campaign.waits.as_ref().is_none_or(|known| !known.is_as(&waits, slack)) {
                campaign.waits = Some(waits.clone());
                self.tell(Event::Waiting(waits), out);
            }
        }
        let Some(observed) = &self.observed else { return };
        let since = match &observed.shown {
            Some(View::Unknown { since }) => *since,
            _ => self.now,
        };
        let view = self.view(since);
        if observed.shown.as_ref().is_none_or(|shown| !shown.is_same(&view)) {
            self.observed = Some(Observed { shown: Some(view.clone()) });
            self.tell(Event::View(view.into()), out);
        }
    }

    fn view(&self, since: Time) -> View {
        let Some(leader) = self.leader_dto() else {
            return match self.is_vacant() {
                true => View::Vacant,
                false => View::Unknown { since },
            };
        };
        let fence = crate::fence::Fence::new(leader.leadership.counter());
        let heard = self.followed.as_ref().map_or(self.now, |followed| followed.heard);
        let who = &leader.leadership.leader;
        View::Leader(LeaderView {
            fence: self.is_majority().then_some(fence),
            until: leader.remaining.map(|left| self.now.after(left)),
            incarnation: Some(who.incarnation),
            heard: Some(heard),
            ..LeaderView::new(who.id.clone().into(), leader.value.into())
        })
    }

    /// Whether a quorum without a later electorate was free at one instant, lately, so that nobody
    /// could lead; with `available`, whether others have had the time to say who does.
    fn is_vacant(&self) -> bool {
        let Some(electorate) = self.memory.electorate.as_ref().filter(|_| self.is_majority())
        else {
            return !self.is_majority() && self.now >= self.informed_at;
        };
        // Those that were free a while ago may have elected since.
        let lately = self.config.heartbeat.saturating_add(self.config.request_timeout);
        let own = Free { since: self.promise.free_since(self.now), until: self.now };
        let free = |id: &NodeName| match *id == self.me.id {
            true => Some(own).filter(|_| self.is_free()),
            false => self.known.get(id)?.free.filter(|free| self.now.since(free.until) < lately),
        };
        let free: Vec<_> =
            electorate.members.iter().filter_map(|member| free(&member.id)).collect();
        free::at_once(&free, electorate.quorum())
    }
}

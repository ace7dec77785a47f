//! Views and waits, as the application sees them.

use alloc::vec::Vec;

use super::state::Voter;
use crate::fence::Fence;
use crate::name::NodeName;
use crate::time::Time;
use crate::view::{LeaderView, View};
use crate::voter::event::Event;
use crate::voter::free::{self, FreeSpan};
use crate::voter::words::Out;
use crate::waiting::Waiting;

impl Voter {
    pub(super) fn view_due(&self) -> Option<Time> {
        self.watch.followed.as_ref()?;
        Some(self.following_until().unwrap_or(self.now))
    }

    /// Reports wait and view anew, because the application may have missed the last reports.
    pub(super) fn tell_again(&mut self) {
        if let Some(campaign) = &mut self.candidacy.campaign {
            campaign.waits = None;
        }
        self.watch.show_again();
    }

    pub(super) fn tell_changes(&mut self, out: &mut Out) {
        if let Some(waits) = self.waits()
            && let Some(campaign) = &mut self.candidacy.campaign
        {
            let slack = self.config.heartbeat;
            // Report `Drawing` only if another wait was reported before.
            let begins = waits == Waiting::Drawing && campaign.waits.is_none();
            if !begins && campaign.waits.as_ref().is_none_or(|known| !known.is_as(&waits, slack)) {
                campaign.waits = Some(waits.clone());
                self.tell(Event::Waiting(waits), out);
            }
        }
        let Some(observed) = &self.watch.observed else { return };
        let view = self.view(observed.unknown_since(self.now));
        if observed.is_news(&view, self.config.heartbeat) {
            self.tell(Event::View(view.clone().into()), out);
            self.watch.show(view);
        }
    }

    fn view(&self, since: Time) -> View {
        let Some(leader) = self.leader_dto() else {
            return if self.is_vacant() { View::Vacant } else { View::Unknown { since } };
        };
        let fence = Fence::new(leader.leadership.counter());
        let heard = self.watch.heard().unwrap_or(self.now);
        let who = &leader.leadership.leader;
        View::Leader(LeaderView {
            fence: self.is_majority().then_some(fence),
            until: leader.remaining.map(|left| self.now.after(left)),
            incarnation: Some(who.incarnation),
            heard: Some(heard),
            ..LeaderView::new(who.id.clone().into(), leader.value.into())
        })
    }

    /// Whether the seat is certainly vacant: at one recent instant a quorum was free, and had no
    /// later electorate. So no voter could lead. In mode `available`: others have had the time to
    /// name a leader.
    fn is_vacant(&self) -> bool {
        let Some(electorate) = self.memory.electorate.as_ref().filter(|_| self.is_majority())
        else {
            return !self.is_majority() && self.watch.is_informed(self.now);
        };
        // Older answers are ignored: the voters that gave them may have elected a leader meanwhile.
        let lately = self.config.heartbeat.saturating_add(self.config.request_timeout);
        let own = FreeSpan { since: self.promise.free_since(self.now), until: self.now };
        let free = |id: &NodeName| match *id == self.me.id {
            true => Some(own).filter(|_| self.is_free()),
            false => self.known.get(id)?.free.filter(|free| self.now.since(free.until) < lately),
        };
        let free: Vec<_> =
            electorate.members.iter().filter_map(|member| free(&member.id)).collect();
        free::at_once(&free, electorate.quorum())
    }
}

//! To join the group and to leave it.

use alloc::vec::Vec;

use super::Nele;
use crate::event::{End, Loss};
use crate::nele::config::Mode;
use crate::nele::context::Context;
use crate::nele::event::{Event, Ignored, OwnEvent};
use crate::nele::identity::{Membership, Partition, RebalanceId};
use crate::nele::message::{Change, Rebalance, Request};
use crate::nele::slot::Slot;
use crate::nele::words::{Out, emit};
use crate::time::Time;

/// What this process has to do with its group.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Group {
    membership: Membership,
    phase: Phase,
    /// The last rebalance of which it was told.
    rebalance: RebalanceId,
    /// It has left by its own wish, and not joined since.
    leaves: bool,
    /// The application has given up what it stood for last: it leaves at once when that was all.
    pub(super) quits: bool,
    /// When it leaves because it stands for nothing any more, and was not asked to.
    idle: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Phase {
    /// It is no member.
    #[default]
    Out,
    /// It has joined, and may have heard what is assigned to it.
    In { heard: bool },
    /// It leaves, and after this time it has left.
    Leaving { until: Time },
}

impl Group {
    pub(super) const fn is_out(&self) -> bool {
        matches!(self.phase, Phase::Out)
    }

    pub(super) const fn is_member(&self) -> bool {
        matches!(self.phase, Phase::In { heard: true })
    }

    /// Whether it has left, or does, by its own wish.
    pub(super) const fn leaves(&self) -> bool {
        self.leaves
    }

    pub(super) const fn due(&self) -> Option<Time> {
        match self.phase {
            Phase::Leaving { until } => Some(until),
            Phase::In { .. } => self.idle,
            Phase::Out => None,
        }
    }

    pub(super) const fn has_joined(&self) -> bool {
        matches!(self.phase, Phase::In { .. })
    }
}

impl Nele {
    /// Joins if there is something to stand for, and leaves if there is nothing.
    pub(super) fn group_work(&mut self, out: &mut Out) {
        if let Phase::Leaving { until } = self.group.phase
            && until <= self.now
        {
            self.has_left(out);
        }
        let waiting = self.campaigns().any(|(_, campaign)| !campaign.leads());
        let none = self.campaigns().next().is_none();
        // One that has lost what it led will stand for it again as soon as its work has ended.
        let linger = self.config.grace.saturating_add(self.config.publish_interval);
        let idle = none.then(|| self.group.idle.unwrap_or(self.now.after(linger)));
        self.group.idle = idle;
        match self.group.phase {
            Phase::Out if waiting => self.join(out),
            Phase::In { .. } if self.group.quits && none => self.go(out),
            Phase::In { .. } if idle.is_some_and(|idle| idle <= self.now) => self.go(out),
            // Of those who are no member nobody need wait for others.
            Phase::Out => self.release(out),
            Phase::In { .. } => self.release_others(out),
            Phase::Leaving { .. } => {}
        }
    }

    fn join(&mut self, out: &mut Out) {
        let membership = Membership(self.group.membership.0.saturating_add(1));
        let rebalance = self.group.rebalance;
        let phase = Phase::In { heard: false };
        let (leaves, quits, idle) = (false, false, None);
        self.group = Group { membership, phase, rebalance, leaves, quits, idle };
        self.beat.get_or_insert(self.now);
        self.context(out).1.request(Request::Join(membership));
    }

    /// Leaves the group: nothing is assigned to this process any more.
    fn go(&mut self, out: &mut Out) {
        let leave = Request::Leave(self.group.membership);
        self.group.leaves = true;
        self.each_slot(out, |slot, context| slot.unassign(false, context));
        // Others are told at once what it leads no more.
        self.beat = Some(self.now);
        let until = self.now.after(self.config.max_poll_interval);
        self.group.phase = Phase::Leaving { until };
        self.context(out).1.request(leave);
    }

    /// The application leaves (ruling 11).
    pub(super) fn leave(&mut self, lead_on: bool, again: bool, out: &mut Out) {
        let ends_first = !lead_on || self.config.mode == Mode::AtMostOne;
        let roles: Vec<_> =
            self.campaigns().map(|(role, campaign)| (role, campaign.leads())).collect();
        for (role, leads) in roles {
            match leads {
                true if ends_first => {
                    self.finish(role, Some(End::Lost(Loss::Resigned)), out);
                }
                false if !again => self.finish(role, None, out),
                true | false => {}
            }
        }
        if self.group.has_joined() {
            self.go(out);
        }
        self.changed = true;
    }

    /// The group was left, or is as good as left.
    pub(super) fn on_left(&mut self, membership: Membership, out: &mut Out) {
        let leaving = matches!(self.group.phase, Phase::Leaving { .. });
        match leaving && membership == self.group.membership {
            true => self.has_left(out),
            false => emit(None, OwnEvent::Ignored(Ignored::Repeated), out),
        }
    }

    fn has_left(&mut self, out: &mut Out) {
        self.group.phase = Phase::Out;
        self.release(out);
    }

    /// Others can know of all leaderships that are over.
    fn release(&mut self, out: &mut Out) {
        for role in core::mem::take(&mut self.releases) {
            emit(Some(&self.config.election_of(role)), Event::Released, out);
        }
    }

    /// A role that ends alone is over at once: its partition stays, and nobody else gets it.
    fn release_others(&mut self, out: &mut Out) {
        if self.group.has_joined() {
            self.release(out);
        }
    }

    /// What belongs to this process has changed.
    pub(super) fn on_rebalance(&mut self, rebalance: Rebalance, out: &mut Out) {
        let Rebalance { membership, id, change, partitions } = rebalance;
        let ours = membership == self.group.membership && self.group.has_joined();
        if id <= self.group.rebalance || !ours {
            // What is to be given back is given back, whoever asks: nothing is held by it.
            if change == Change::Revoked && id > self.group.rebalance {
                self.context(out).1.request(Request::GiveBack(id));
            }
            return emit(None, OwnEvent::Ignored(Ignored::OldRebalance), out);
        }
        self.group.rebalance = id;
        if let Phase::In { heard } = &mut self.group.phase {
            *heard = true;
        }
        self.changed = true;
        for partition in partitions {
            self.change(partition, change, id, out);
        }
        // By now nothing is led by them that must not be (rulings 2 and 11).
        if change == Change::Revoked {
            self.context(out).1.request(Request::GiveBack(id));
        }
    }

    fn change(&mut self, partition: Partition, change: Change, id: RebalanceId, out: &mut Out) {
        if partition.0 >= self.config.partitions {
            return emit(None, OwnEvent::Ignored(Ignored::NoPartition), out);
        }
        if change == Change::Assigned {
            self.slots.entry(partition).or_insert_with(|| Slot::new(partition));
        }
        let act = |slot: &mut Slot, context: &mut Context<'_>| match change {
            Change::Assigned => slot.assign(id, context),
            Change::Revoked => slot.unassign(false, context),
            Change::Lost => slot.unassign(true, context),
        };
        self.with_slot(partition, out, act);
    }
}

//! `Nele`: its parts, and the calls into its partitions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::group::Group;
use super::observers::Sight;
use super::slots::Slots;
use super::troubles::LastReports;
use crate::draw::Draw;
use crate::name::ElectionName;
use crate::nele::config::Checked;
use crate::nele::context::Context;
use crate::nele::identity::{Partition, Process, Role};
use crate::nele::message::{LEADS_MAX, Lead, RANGES_MAX, RoleRange, TopicId};
use crate::nele::peers::{Peers, Seen};
use crate::nele::send_times::SendTimes;
use crate::nele::slot::{Campaign, Phase, Slot};
use crate::nele::words::Out;
use crate::time::Time;

/// The state machine of one process, which the module document describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nele {
    pub(in crate::nele) config: Checked,
    pub(in crate::nele) me: Process,
    pub(in crate::nele) draw: Draw,
    pub(in crate::nele) now: Time,
    /// The last instant at which this process noticed that it had been stopped.
    pub(in crate::nele) woke: Option<Time>,
    pub(in crate::nele) topic: TopicId,
    /// The reason why this process never leads again.
    pub(in crate::nele) halted: Option<Arc<str>>,
    pub(in crate::nele) group: Group,
    pub(in crate::nele) slots: Slots,
    /// Ended leaderships whose end others may not know yet.
    pub(in crate::nele) releases: BTreeSet<Role>,
    pub(in crate::nele) log: Log,
    pub(in crate::nele) peers: Peers,
    pub(in crate::nele) sight: Sight,
    pub(in crate::nele) reports: LastReports,
    /// Whether this step may have changed what [`tell`](Self::tell) reports.
    pub(in crate::nele) changed: bool,
}

/// The state of reading and writing the partitions.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct Log {
    pub(in crate::nele) sent: SendTimes,
    pub(in crate::nele) beat: Option<Time>,
    pub(in crate::nele) attempts: u64,
    /// The highest base in a fence of this process or its group.
    pub(in crate::nele) based: u32,
}

impl Nele {
    /// A process before its first input.
    #[must_use]
    pub fn new(config: Checked) -> Self {
        let me = Process { id: config.id.clone(), incarnation: 0 };
        Self {
            config,
            me,
            draw: Draw::new(0),
            now: Time::ZERO,
            woke: None,
            topic: TopicId::default(),
            halted: None,
            group: Group::default(),
            slots: Slots::default(),
            releases: BTreeSet::new(),
            log: Log::default(),
            peers: Peers::default(),
            sight: Sight::default(),
            reports: LastReports::default(),
            changed: false,
        }
    }

    /// The name and incarnation of this process, once it has started.
    #[must_use]
    pub const fn who(&self) -> &Process {
        &self.me
    }

    /// Whether this process is no member of the group, and no departure is under way. Such a
    /// process may still read for observers.
    #[must_use]
    pub const fn is_out(&self) -> bool {
        self.group.is_out()
    }

    /// Whether this process is a member of the group and has received its first rebalance.
    #[must_use]
    pub const fn is_member(&self) -> bool {
        self.group.is_member()
    }

    /// The partitions that belong to this process.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> {
        let own = self.slots.all.iter().filter(|(_, slot)| slot.is_assigned());
        own.map(|(partition, _)| *partition)
    }

    /// All leaders of all roles, as their own entries describe them, for a table. The table is
    /// complete while this process observes an election, or reads a partition.
    pub fn seen(&self) -> impl Iterator<Item = Seen> {
        self.peers.all()
    }

    /// The number of processes of this group, this process included, that run and stand for a role,
    /// as far as this process hears them. `None` while this process reads no partition.
    #[must_use]
    pub fn processes(&self) -> Option<usize> {
        self.partitions().next()?;
        Some(self.peers.running(&self.config.group).saturating_add(1))
    }

    /// Whether another process, in any group, stands for this role and could lead it next. The
    /// answer rests on the partitions that this process reads.
    #[must_use]
    pub fn has_successor(&self, role: Role, now: Time) -> bool {
        self.peers.is_wanted(role, now)
    }

    /// The reason why no role can be led or observed under this name.
    pub(in crate::nele) fn objection(
        &self,
        name: &ElectionName,
        role: Option<Role>,
        room: usize,
    ) -> Option<Arc<str>> {
        if let Some(why) = &self.halted {
            return Some(why.clone());
        }
        if role.is_none() {
            let ours = &self.config.election;
            let why = format!("{name} is no role: the roles are {ours}/0, {ours}/1, …");
            return Some(why.into());
        }
        let most = self.config.limits.roles;
        (room >= most).then(|| {
            format!(
                "this process campaigns for or observes {most} roles, and its limit is {most}: use \
                 another process for further roles"
            )
            .into()
        })
    }

    pub(in crate::nele) fn campaigns(&self) -> impl Iterator<Item = (Role, &Campaign)> {
        let all = self.slots.all.values().flat_map(|slot| &slot.campaigns);
        all.map(|(role, campaign)| (*role, campaign))
    }

    pub(in crate::nele) fn stands(&self) -> Vec<RoleRange> {
        let mut roles: Vec<_> = self.campaigns().map(|(role, _)| role).collect();
        roles.sort();
        let mut stands: Vec<RoleRange> = Vec::new();
        for role in roles {
            match stands.last_mut() {
                Some(range) if range.last.0.checked_add(1) == Some(role.0) => range.last = role,
                _ => stands.push(RoleRange { first: role, last: role }),
            }
        }
        stands.truncate(RANGES_MAX);
        stands
    }

    pub(in crate::nele) fn leads(&self) -> Vec<Lead> {
        let mut all: Vec<_> = self.campaigns().collect();
        all.sort_by_key(|(role, _)| *role);
        let leads = all.into_iter().filter_map(|(role, campaign)| match campaign.phase {
            Phase::Leading { until, fence, .. } if self.now < until => {
                Some(Lead { role, fence, value: campaign.value.clone() })
            }
            Phase::Leading { .. } | Phase::Waiting => None,
        });
        leads.take(LEADS_MAX).collect()
    }

    pub(in crate::nele) fn context<'a>(
        &'a mut self,
        out: &'a mut Out,
    ) -> (&'a mut BTreeMap<Partition, Slot>, Context<'a>) {
        let Self { config, me, draw, now, woke, group, slots, log, peers, reports, .. } = self;
        let context = Context {
            now: *now,
            woke: *woke,
            config,
            me,
            draw: *draw,
            member: group.is_member(),
            leaves: group.leaves(),
            peers,
            unwritten: &reports.unwritten,
            sent: &mut log.sent,
            attempts: &mut log.attempts,
            out,
        };
        (&mut slots.all, context)
    }
}

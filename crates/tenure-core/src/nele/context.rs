//! Borrowed parts that a partition needs while its process handles one input.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::config::{Checked, Mode};
use super::identity::{EntryNumber, Partition, Process};
use super::message::{Entry, Kind, Lead, Message, Request, RoleRange, Target};
use super::peers::Peers;
use super::send_times::SendTimes;
use super::words::{Effect, Ledger, Out};
use crate::draw::Draw;
use crate::time::Time;

/// Borrowed parts of the process that a partition needs.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    /// The last instant at which this process noticed that it had been stopped.
    pub(super) woke: Option<Time>,
    pub(super) config: &'a Checked,
    pub(super) me: &'a Process,
    pub(super) draw: Draw,
    /// Whether this process is a member of the group and has received its first rebalance.
    pub(super) member: bool,
    /// Whether this process leaves the group by request: its leaderships then end as resigned.
    pub(super) leaves: bool,
    pub(super) peers: &'a Peers,
    /// Partitions to which the last record was not written, with the reason.
    pub(super) unwritten: &'a BTreeMap<Partition, Arc<str>>,
    pub(super) sent: &'a mut SendTimes,
    pub(super) attempts: &'a mut u64,
    pub(super) out: &'a mut Out,
}

impl Context<'_> {
    /// Whether claims decide who leads, as in `at_most_one` (ruling 1).
    pub(super) fn by_claims(&self) -> bool {
        self.config.mode == Mode::AtMostOne
    }

    pub(super) fn request(&mut self, request: Request) {
        self.out.push(Effect::Send { to: Ledger, message: Message::Request(request) });
    }

    pub(super) fn attempt(&mut self) -> u64 {
        *self.attempts = self.attempts.saturating_add(1);
        *self.attempts
    }

    pub(super) fn publish(
        &mut self,
        to: Target,
        kind: Kind,
        stands: Vec<RoleRange>,
        leads: Vec<Lead>,
    ) -> EntryNumber {
        let config = self.config;
        let number = self.sent.send(self.now, config.takeover);
        let entry = Entry {
            election: config.election.clone(),
            group: config.group.clone(),
            partitions: config.partitions,
            terms: config.terms(),
            sender: self.me.clone(),
            host: config.host.clone(),
            number,
            kind,
            stands,
            leads,
        };
        self.request(Request::Publish { to, entry });
        number
    }

    /// Claims a partition now. The claim carries no roles, which come with the next beat.
    pub(super) fn claim(&mut self, partition: Partition) -> EntryNumber {
        self.publish(Target::One(partition), Kind::Claim, Vec::new(), Vec::new())
    }

    /// Returns a random instant from `span` to twice `span` from now, so that two waiting processes
    /// do not act together.
    pub(super) fn spaced(&self, span: core::time::Duration, purpose: &'static str) -> Time {
        let drawn = self.draw.span(span, "", purpose, self.now.as_nanos());
        self.now.after(span).after(drawn)
    }
}

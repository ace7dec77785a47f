//! The contract: inputs and deadlines. Notices that this process was stopped.

use alloc::vec::Vec;

use super::state::Nele;
use crate::contract::{Input, Protocol};
use crate::draw::Draw;
use crate::event::{End, Loss};
use crate::name::{ElectionName, Value};
use crate::nele::command::{Command, Extra};
use crate::nele::config::Mode;
use crate::nele::event::{Event, Ignored, OwnEvent};
use crate::nele::identity::Role;
use crate::nele::message::Message;
use crate::nele::slot::Campaign;
use crate::nele::words::{Out, Start, Words, emit};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

impl Nele {
    fn start(&mut self, start: Start, out: &mut Out) {
        let Start { incarnation, seed, topic } = start;
        self.me.incarnation = incarnation;
        self.draw = Draw::new(seed);
        self.topic = topic;
        emit(None, OwnEvent::Started { who: self.me.clone() }, out);
    }

    fn on_command(&mut self, name: ElectionName, command: Command, out: &mut Out) {
        match (command, self.config.role(&name)) {
            (Command::Campaign { value, .. }, role) => self.campaign(name, role, value, out),
            (Command::Observe { .. }, role) => self.observe(name, role, out),
            (Command::Resign, Some(role)) => self.resign(role, out),
            (Command::Unobserve, Some(role)) => self.sight.unobserve(role),
            (Command::Extra(Extra::Leave { lead_on, again }), _) => {
                self.leave(lead_on, again, out);
            }
            (Command::Resign | Command::Unobserve, None) => {}
            (Command::Transfer { .. }, _) => {
                emit(Some(&name), OwnEvent::Ignored(Ignored::Command), out);
            }
        }
    }

    fn campaign(&mut self, name: ElectionName, role: Option<Role>, value: Value, out: &mut Out) {
        let known = |role: Role| self.campaigns().any(|(other, _)| other == role);
        if role.is_some_and(known) {
            return emit(Some(&name), OwnEvent::Ignored(Ignored::Command), out);
        }
        let room = self.campaigns().count();
        let (Some(role), None) = (role, self.objection(&name, role, room)) else {
            let why = self.objection(&name, role, room).unwrap_or_default();
            emit(Some(&name), Event::Ended(End::Refused { why }), out);
            return emit(Some(&name), Event::Released, out);
        };
        self.group.quits = false;
        self.changed = true;
        let partition = self.config.partition_of(role);
        self.slots.enter(partition);
        self.with_slot(partition, out, |slot, _| {
            slot.campaigns.insert(role, Campaign::new(value));
        });
    }

    /// Resigns a role. The partition stays assigned while the process stands for other roles.
    fn resign(&mut self, role: Role, out: &mut Out) {
        self.finish(role, None, out);
        let is_last = self.campaigns().next().is_none();
        self.group.quits = is_last;
        self.changed = true;
    }

    /// Leaves the group. In `at_most_one` each leadership ends first.
    fn leave(&mut self, lead_on: bool, again: bool, out: &mut Out) {
        let ends_first = !lead_on || self.config.mode == Mode::AtMostOne;
        let roles: Vec<_> =
            self.campaigns().map(|(role, campaign)| (role, campaign.leads())).collect();
        for (role, leads) in roles {
            if leads && ends_first {
                self.finish(role, Some(End::Lost(Loss::Resigned)), out);
            } else if !leads && !again {
                self.finish(role, None, out);
            }
        }
        if self.group.has_joined() {
            self.depart(out);
        }
        self.changed = true;
    }

    /// Runs all expired timers.
    fn catch_up(&mut self, out: &mut Out) {
        let now = self.now;
        for partition in self.slots.due(now) {
            self.with_slot(partition, out, |_, _| {});
        }
        self.peers.run_due(now, &self.config);
        self.group_work(out);
        self.beat(out);
        self.look(out);
    }
}

impl Protocol for Nele {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now) {
            return;
        }
        if now.since(self.now) > self.config.slept() {
            self.woke = Some(now);
        }
        self.now = self.now.max(now);
        // Run expired timers before the input, so that a late process handles no input with stale
        // state.
        self.catch_up(out);
        match input {
            Input::Start(start) => self.start(start, out),
            Input::Message { message: Message::Report(report), .. } => self.hear(report, out),
            Input::Message { message: Message::Request(_), .. } => {
                emit(None, OwnEvent::Ignored(Ignored::Malformed), out);
            }
            Input::Command { election, command } => self.on_command(election, command, out),
            // The core never persists or flushes a record.
            Input::Timeout | Input::Flushed(_) | Input::Failed(_) => {}
        }
        // Run again: a first campaign joins the group and publishes at once.
        self.catch_up(out);
        self.tell(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let dues = [
            (self.slots.first_due(), "a partition is read, claimed or lost"),
            (self.log.beat, "a record is published"),
            (self.group.due(), "the wait to leave or to linger ends"),
            (self.peers.due(), "a process is silent"),
            (self.sight.due(&self.config), "the ledger is silent"),
        ];
        let first = dues.into_iter().filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        // A deadline at the end of time never comes.
        first.filter(|deadline| deadline.at < Time::MAX).min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        let Some(role) = self.config.role(election) else { return Standing::NotLeading };
        match self.slots.get(self.config.partition_of(role)) {
            Some(slot) => slot.standing(role, now),
            None => Standing::NotLeading,
        }
    }
}

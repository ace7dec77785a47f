//! The contract: each input is handled once, after all expired timers; deadlines; writes that fail.

use alloc::format;
use core::time::Duration;

use super::state::Voter;
use crate::contract::{Input, Protocol};
use crate::event::{End, Loss};
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::{Deadline, Time};
use crate::voter::calls::OPEN_MAX;
use crate::voter::event::{Event, Ignored};
use crate::voter::known_leader::Observation;
use crate::voter::lease::Campaign;
use crate::voter::message::{Message, SEEDS_MAX};
use crate::voter::words::{Command, Out, Peer, Words, emit};
use crate::voter::writes::Before;

impl Voter {
    /// Runs all expired timers, and those that expire at the same instant because of them.
    fn catch_up(&mut self, out: &mut Out) {
        for _ in 0..OPEN_MAX + 64 {
            // A deadline at the end of time never comes.
            let now = self.now.min(Time::MAX.before(Duration::from_nanos(1)));
            let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
            if let Some(open) = self.calls.overdue(now) {
                self.on_no_answer(&open, out);
            } else if is_due(self.candidacy.ends()) {
                self.end(Loss::Expired, out);
            } else if is_due(self.round_due()) {
                self.on_round_due(out);
            } else if self.beat.due <= now {
                self.on_beat(out);
            } else if is_due(self.release_due()) {
                self.on_released(out);
            } else if is_due(self.starter.at) {
                self.on_start_due(out);
            } else if is_due(self.view_due()) {
                self.on_silent_leader();
            } else {
                return;
            }
        }
    }

    fn on_message(&mut self, from: Peer, message: Message, out: &mut Out) {
        match message {
            Message::Request { call, caller, ask, .. } => {
                self.on_request((from, call), caller, ask, out);
            }
            Message::Answer { call, header, answer } => {
                self.on_answer(&from, call, &header, answer, out);
            }
            Message::Failed { call } => match self.calls.close(call) {
                Some(open) => self.on_no_answer(&open, out),
                None => self.ignore(Ignored::Late, out),
            },
            Message::Seeds(urls) => self.on_seeds(urls.into_iter().take(SEEDS_MAX)),
        }
    }

    fn dues(&self) -> [(Option<Time>, &'static str); 8] {
        [
            (self.candidacy.ends(), "the lease ends"),
            (self.calls.due(), "an answer is overdue"),
            (self.round_due(), "a ballot is counted, or over"),
            (Some(self.beat.due), "a heartbeat is due"),
            (self.release_due(), "a release is over"),
            (self.starter.at, "an election may be started"),
            (self.view_due(), "the view of the leader expires"),
            (self.writes.due, "the state is written again"),
        ]
    }

    fn round_due(&self) -> Option<Time> {
        self.ballots.round.as_ref().map(|round| round.due())
    }

    fn release_due(&self) -> Option<Time> {
        self.candidacy.releasing.as_ref().map(|releasing| releasing.until)
    }

    fn on_command(&mut self, election: &ElectionName, command: Command, out: &mut Out) {
        if *election != self.config.election {
            return self.refuse_other(election, &command, out);
        }
        match command {
            Command::Campaign { value, .. } => self.campaign(value, out),
            Command::Resign => self.withdraw(out),
            Command::Observe { .. } => self.watch.observed = Some(Observation::default()),
            Command::Unobserve => self.watch.observed = None,
            Command::Transfer { .. } => self.ignore(Ignored::Command, out),
            Command::Extra(extra) => match extra {},
        }
    }

    fn refuse_other(&self, election: &ElectionName, command: &Command, out: &mut Out) {
        let why = format!(
            "this network elects a leader of {}, and of nothing else; give {election} a network of \
             its own",
            self.config.election
        );
        match command {
            Command::Campaign { .. } => {
                let end = End::Refused { why: why.into() };
                emit(Some(election), Event::Ended(end), out);
                emit(Some(election), Event::Released, out);
            }
            Command::Observe { .. } => {
                emit(Some(election), Event::NotObserved { why: why.into() }, out);
            }
            _ => {}
        }
    }

    /// Begins to campaign: from now on this voter casts numbers and starts ballots.
    fn campaign(&mut self, value: Value, out: &mut Out) {
        if self.candidacy.campaign.is_some() {
            return self.ignore(Ignored::Command, out);
        }
        self.candidacy.campaign = Some(Campaign { value, lease: None, waits: None });
        if self.starter.at.is_none() {
            self.starter.at = Some(self.promise.ends(self.now).unwrap_or(self.now));
            self.wait_a_little();
        }
    }

    /// Undoes the last write, which has failed: no later effect of that input was carried out.
    fn on_failed(&mut self, out: &mut Out) {
        let Some(before) = self.writes.undo() else {
            return self.ignore(Ignored::NotWritten, out);
        };
        let Before { memory, promise, lease } = before;
        self.memory = memory;
        // Undo the renewal too, as its effects were not carried out.
        if let Some(lease) = lease
            && let Some(now) = self.candidacy.lease_mut()
            && now.leadership == lease.leadership
        {
            *now = lease;
            self.promise = promise;
        }
        out.append(&mut self.writes.ended);
        self.tell_again();
        self.leave_round(out);
        if core::mem::take(&mut self.writes.winning) {
            self.unwin(out);
        }
        // A leader goes on with its earlier document.
        self.document_changed();
        self.starter.at = Some(self.now.after(self.config.heartbeat));
        self.fail();
        self.ignore(Ignored::NotWritten, out);
    }
}

impl Protocol for Voter {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now) {
            return;
        }
        if !self.started && !matches!(input, Input::Start(_)) {
            return;
        }
        self.now = self.now.max(now);
        if matches!(input, Input::Failed(None)) {
            // Run no timers: an effect between a write and its failure would be lost.
            if self.writes.take_tried() { self.fail() } else { self.on_failed(out) }
        } else {
            self.writes.succeed();
            if self.started {
                self.catch_up(out);
            }
        }
        match input {
            Input::Start(start) => self.begin(start, out),
            Input::Message { from, message } => self.on_message(from, message, out),
            Input::Command { election, command } => self.on_command(&election, command, out),
            // The driver has found the directory damaged, or mended.
            Input::Failed(Some(_)) => self.fail(),
            Input::Flushed(_) => self.writes.look(self.now),
            Input::Timeout | Input::Failed(None) => {}
        }
        self.catch_up(out);
        self.tell_changes(out);
        self.writes.try_again(self.now, &self.memory, out);
        self.writes.close(&self.memory, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        if !self.started {
            return None;
        }
        let dues = self.dues().into_iter();
        let dues = dues.filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        // A deadline at the end of time never comes.
        dues.filter(|due| due.at < Time::MAX).min_by_key(|due| due.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self.candidacy.ends() {
            Some(until) if *election == self.config.election && now < until => {
                Standing::Leading { until, fence: self.fence() }
            }
            _ => Standing::NotLeading,
        }
    }
}

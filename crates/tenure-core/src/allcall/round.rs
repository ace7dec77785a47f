//! Rounds: the calls of this process, and whether it has heard them itself (ruling 6).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::identity::Participant;
use super::message::{Header, Part, Round};
use super::wrong_clock::Reading;
use crate::name::ElectionName;
use crate::time::Time;

/// The rounds of one process. Round numbers go on growing over reconnections.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Rounds {
    last: Round,
    open: Option<OpenRound>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OpenRound {
    opened: Time,
    /// Start of the half heartbeat in which packets must come back: the time of the call, or zero
    /// after a lost connection.
    sent: Time,
    parts: Vec<SentPart>,
    /// Whether half a heartbeat has passed since `sent`.
    judged: bool,
    answered: BTreeMap<Participant, Reading>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OwnPacket {
    pub(super) asks: bool,
    pub(super) round: Round,
    pub(super) part: Part,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SentPart {
    /// Whether the packet is a question. Parts of questions and of calls are counted apart.
    pub(super) asks: bool,
    pub(super) part: Part,
    pub(super) names: Vec<ElectionName>,
    /// Whether this process has heard the packet itself, in time.
    pub(super) back: bool,
}

pub(super) struct ClosedRound {
    pub(super) round: Round,
    pub(super) parts: Vec<SentPart>,
    pub(super) readings: Vec<Reading>,
}

impl Rounds {
    pub(super) fn next(&mut self) -> Round {
        self.last = Round(self.last.0.saturating_add(1));
        self.last
    }

    pub(super) fn open(&mut self, sent: Time, parts: Vec<SentPart>) {
        let answered = BTreeMap::new();
        let open = OpenRound { opened: sent, sent, parts, judged: false, answered };
        self.open = (!open.parts.is_empty()).then_some(open);
    }

    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Notes a packet of this process that has come back in time. Returns the elections that the
    /// packet names; for a repetition, returns none. A packet proves nothing for another round
    /// (ruling 6) or another part (ruling 9).
    pub(super) fn back(
        &mut self,
        own: OwnPacket,
        now: Time,
        half: Duration,
    ) -> Option<Vec<ElectionName>> {
        let OwnPacket { asks, round, part } = own;
        let current = round == self.last;
        let open = self.open.as_mut().filter(|open| current && now < open.sent.after(half))?;
        let same = |sent: &&mut SentPart| sent.asks == asks && sent.part == part;
        let sent = open.parts.iter_mut().find(same)?;
        let known = core::mem::replace(&mut sent.back, true);
        Some(if known { Vec::new() } else { sent.names.clone() })
    }

    /// Notes another participant's answer. Returns whether this is an answer to the open round.
    pub(super) fn answered(
        &mut self,
        round: Round,
        header: &Header,
        heard: Time,
        room: usize,
    ) -> bool {
        let current = round == self.last;
        let Some(open) = self.open.as_mut().filter(|_| current) else { return false };
        let who = &header.sender;
        if open.answered.len() < room || open.answered.contains_key(who) {
            let reading = Reading { wall: header.sent, opened: open.opened, heard };
            open.answered.insert(who.clone(), reading);
        }
        true
    }

    /// Makes the open round void, because the connection was lost.
    pub(super) fn spoil(&mut self) {
        if let Some(open) = &mut self.open {
            open.parts.iter_mut().for_each(|sent| sent.back = false);
            // Packets that come back now are too late.
            open.sent = Time::ZERO;
            open.judged = false;
        }
    }

    /// The time by which each part must be back: half a heartbeat after the call. `None` if all
    /// parts are back, or the round was judged.
    pub(super) fn half(&self, half: Duration) -> Option<Time> {
        let open = self.open.as_ref().filter(|open| !open.judged)?;
        open.parts.iter().any(|sent| !sent.back).then(|| open.sent.after(half))
    }

    /// Judges the round after half a heartbeat. Returns the elections in those packets of the call
    /// that this process has not heard back.
    pub(super) fn judge(&mut self) -> Vec<ElectionName> {
        let Some(open) = &mut self.open else { return Vec::new() };
        open.judged = true;
        let missing = open.parts.iter().filter(|sent| !sent.back);
        missing.flat_map(|sent| sent.names.iter().cloned()).collect()
    }

    /// Closes the round, one heartbeat after its call. After two heartbeats the round is void: this
    /// process was stopped, and has not handled the packets that came during the stop.
    pub(super) fn close(&mut self, now: Time, heartbeat: Duration) -> Option<ClosedRound> {
        let mut open = self.open.take()?;
        let late = now >= open.opened.after(heartbeat.saturating_mul(2));
        if late {
            open.parts.iter_mut().for_each(|sent| sent.back = false);
        }
        let readings = open.answered.into_values().collect();
        Some(ClosedRound { round: self.last, parts: open.parts, readings })
    }
}

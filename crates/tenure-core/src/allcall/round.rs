//! Rounds: what this process said to all, and whether it has heard itself (ruling 6).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::clock::Reading;
use super::identity::Participant;
use super::message::{Part, Round};
use crate::name::ElectionName;
use crate::time::{Time, WallTime};

/// The rounds of one process. Their number goes on over reconnections.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Rounds {
    last: Round,
    open: Option<Open>,
}

/// The round that is open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Open {
    /// When its call was sent.
    opened: Time,
    /// What is waited for counts from here: the same, unless the connection was lost.
    sent: Time,
    parts: Vec<Sent>,
    /// Half a heartbeat has passed.
    judged: bool,
    /// Who has answered, and what its wall clock showed.
    answered: BTreeMap<Participant, Reading>,
}

/// One packet of a round.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sent {
    /// A question, not a call: their parts are counted apart.
    pub(super) asks: bool,
    pub(super) part: Part,
    pub(super) names: Vec<ElectionName>,
    /// It was heard again, in time.
    pub(super) back: bool,
}

/// What a round has shown.
pub(super) struct Closed {
    pub(super) round: Round,
    pub(super) parts: Vec<Sent>,
    /// What the clocks of those that answered showed.
    pub(super) readings: Vec<Reading>,
}

impl Rounds {
    /// The number of the next round.
    pub(super) fn next(&mut self) -> Round {
        self.last = Round(self.last.0.saturating_add(1));
        self.last
    }

    /// The packets of this round are sent now.
    pub(super) fn open(&mut self, sent: Time, parts: Vec<Sent>) {
        let answered = BTreeMap::new();
        let open = Open { opened: sent, sent, parts, judged: false, answered };
        self.open = (!open.parts.is_empty()).then_some(open);
    }

    /// Whether something was said in this round.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// An own packet was heard. The elections that it was about, if that is news and in time: it
    /// says nothing of an earlier round (ruling 6), or of another part (ruling 9).
    pub(super) fn back(
        &mut self,
        (asks, round, part): (bool, Round, Part),
        now: Time,
        half: Duration,
    ) -> Option<Vec<ElectionName>> {
        let current = round == self.last;
        let open = self.open.as_mut().filter(|open| current && now < open.sent.after(half))?;
        let same = |sent: &&mut Sent| (sent.asks, sent.part) == (asks, part);
        let sent = open.parts.iter_mut().find(same)?;
        let known = core::mem::replace(&mut sent.back, true);
        Some(if known { Vec::new() } else { sent.names.clone() })
    }

    /// Another one has answered this round, if it is open, when its clock showed `wall`.
    pub(super) fn answered(
        &mut self,
        round: Round,
        (who, wall): (&Participant, WallTime),
        heard: Time,
        room: usize,
    ) -> bool {
        let current = round == self.last;
        let Some(open) = self.open.as_mut().filter(|_| current) else { return false };
        if open.answered.len() < room || open.answered.contains_key(who) {
            let reading = Reading { wall, opened: open.opened, heard };
            open.answered.insert(who.clone(), reading);
        }
        true
    }

    /// Nothing of the open round counts: the connection was lost.
    pub(super) fn spoil(&mut self) {
        if let Some(open) = &mut self.open {
            open.parts.iter_mut().for_each(|sent| sent.back = false);
            // What comes now is too late.
            open.sent = Time::ZERO;
            open.judged = false;
        }
    }

    /// When half a heartbeat will have passed since the call, if a part of it is not back.
    pub(super) fn half(&self, half: Duration) -> Option<Time> {
        let open = self.open.as_ref().filter(|open| !open.judged)?;
        open.parts.iter().any(|sent| !sent.back).then(|| open.sent.after(half))
    }

    /// It has: the elections whose part is not back.
    pub(super) fn judge(&mut self) -> Vec<ElectionName> {
        let Some(open) = &mut self.open else { return Vec::new() };
        open.judged = true;
        let missing = open.parts.iter().filter(|sent| !sent.back);
        missing.flat_map(|sent| sent.names.iter().cloned()).collect()
    }

    /// One heartbeat has passed since the call. If two have, this process was stopped: what it has
    /// heard in this round it may have heard long ago, and the round is void.
    pub(super) fn close(&mut self, now: Time, heartbeat: Duration) -> Option<Closed> {
        let mut open = self.open.take()?;
        let late = now >= open.opened.after(heartbeat.saturating_mul(2));
        if late {
            open.parts.iter_mut().for_each(|sent| sent.back = false);
        }
        let readings = open.answered.into_values().collect();
        Some(Closed { round: self.last, parts: open.parts, readings })
    }
}

//! Answers that are owed: the first at once, the next ones together a little later.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::message::{ANSWERS_MAX, Answered};
use crate::name::ElectionName;
use crate::time::Time;

/// The calls and questions of others that were not answered yet.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Replies {
    answers: Vec<Answered>,
    /// Which elections they were about, and whether something has to be said of it.
    elections: BTreeMap<ElectionName, bool>,
    last: Option<Time>,
    /// Nothing is answered before.
    not_before: Time,
}

impl Replies {
    /// Somebody asks about these, and of some does not know what this process would say; the first
    /// answer leaves no earlier than `not_before`. Beyond so many at once, a reply to others serves
    /// as well: all hear it.
    pub(super) fn owe(
        &mut self,
        answer: Answered,
        elections: impl IntoIterator<Item = (ElectionName, bool)>,
        not_before: Time,
    ) {
        if self.answers.is_empty() {
            self.not_before = not_before;
        }
        if !self.answers.contains(&answer) && self.answers.len() < ANSWERS_MAX {
            self.answers.push(answer);
        }
        for (election, tell) in elections {
            *self.elections.entry(election).or_default() |= tell;
        }
    }

    /// When they are due: an eighth of a heartbeat after the last reply at the earliest.
    pub(super) fn due(&self, heartbeat: Duration) -> Option<Time> {
        let again = self.last.map_or(Time::ZERO, |last| last.after(heartbeat / 8));
        (!self.answers.is_empty()).then_some(again.max(self.not_before))
    }

    /// Takes what is owed; it is sent now, or cannot be sent.
    pub(super) fn take(&mut self, now: Time) -> (Vec<Answered>, BTreeMap<ElectionName, bool>) {
        self.last = Some(now);
        (core::mem::take(&mut self.answers), core::mem::take(&mut self.elections))
    }
}

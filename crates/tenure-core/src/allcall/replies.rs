//! Replies that this process owes: the first leaves at once, later ones are collected.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::message::{ANSWERS_MAX, Answered};
use crate::name::ElectionName;
use crate::time::Time;

/// Calls and questions of others that this process has not answered.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Replies {
    calls: Vec<Answered>,
    questions: Vec<Answered>,
    /// The elections of these calls and questions, and whether the reply has to contain each.
    elections: BTreeMap<ElectionName, bool>,
    last: Option<Time>,
    not_before: Time,
}

impl Replies {
    /// Notes a call or a question about these elections. The first reply leaves no earlier than
    /// `not_before`.
    ///
    /// A question never takes the place of a call: answers to calls compare clocks (ruling 4), and
    /// any stranger may ask. If there is no room for a question, its sender hears the reply to
    /// others.
    pub(super) fn owe(
        &mut self,
        answer: Answered,
        calls: bool,
        room: usize,
        elections: impl IntoIterator<Item = (ElectionName, bool)>,
        not_before: Time,
    ) {
        if self.is_empty() {
            self.not_before = not_before;
        }
        let (answers, room) =
            if calls { (&mut self.calls, room) } else { (&mut self.questions, ANSWERS_MAX) };
        let known = answers.iter().position(|known| known.caller == answer.caller);
        match known {
            Some(known) => answers[known] = answer,
            None if answers.len() < room => answers.push(answer),
            None => {}
        }
        for (election, tell) in elections {
            *self.elections.entry(election).or_default() |= tell;
        }
    }

    /// The time of the reply: at the earliest an eighth of a heartbeat after the last one.
    pub(super) fn due(&self, heartbeat: Duration) -> Option<Time> {
        let again = self.last.map_or(Time::ZERO, |last| last.after(heartbeat / 8));
        (!self.is_empty()).then_some(again.max(self.not_before))
    }

    const fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.questions.is_empty()
    }

    /// Removes and returns the calls and questions that one reply answers, calls first, with the
    /// elections that they named.
    pub(super) fn take(&mut self, now: Time) -> (Vec<Answered>, BTreeMap<ElectionName, bool>) {
        self.last = Some(now);
        let calls = self.calls.len().min(ANSWERS_MAX);
        let mut answers: Vec<_> = self.calls.drain(..calls).collect();
        answers.append(&mut self.questions);
        answers.truncate(ANSWERS_MAX);
        let elections = if self.calls.is_empty() {
            core::mem::take(&mut self.elections)
        } else {
            self.elections.clone()
        };
        (answers, elections)
    }
}

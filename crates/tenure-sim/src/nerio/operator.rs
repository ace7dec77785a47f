//! An operator, which asks members for changes of members.

use std::time::Duration;

use tenure_core::nerio::{
    Change, EpochId, Member, Message, Recipient, SeatChange, To, ToAsker, Words,
};
use tenure_core::{Deadline, Effect, Effects, Input, Time};

use crate::rng::mix;
use crate::world::node::Service;

/// Number of repetitions of a question, after which the operator asks for another change.
const PATIENCE: u32 = 40;

/// An operator with a clock. The operator asks one member for one change at a time, until the
/// change has ended or the operator loses patience.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operator {
    seed: u64,
    draws: u64,
    /// Members, and nodes that may become members.
    nodes: Vec<Member>,
    epoch: EpochId,
    /// Pause between two questions.
    pace: Duration,
    /// End of new questions, on the operator's clock.
    until: Time,
    asked: Option<Asked>,
    next: Time,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    number: u64,
    member: usize,
    what: SeatChange,
    tries: u32,
}

impl Operator {
    #[must_use]
    pub const fn new(
        seed: u64,
        nodes: Vec<Member>,
        epoch: EpochId,
        pace: Duration,
        until: Time,
    ) -> Self {
        Self { seed, draws: 0, nodes, epoch, pace, until, asked: None, next: Time::ZERO }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.draws += 1;
        (mix(self.seed ^ mix(self.draws)) % below.max(1) as u64) as usize
    }

    fn ask(&mut self, now: Time, out: &mut Effects<Words>) {
        let asked = match self.asked.take().filter(|asked| asked.tries < PATIENCE) {
            Some(asked) => Asked { tries: asked.tries + 1, ..asked },
            None => self.another(),
        };
        let (number, what) = (asked.number, asked.what.clone());
        let recipient = Recipient::Member(self.nodes[asked.member].name.clone());
        let to = To { epoch: self.epoch, number: 0, recipient };
        let message = Message::from(Change { start: now, number, what, quorums: None });
        self.asked = Some(asked);
        out.push(Effect::Send { to, message });
    }

    /// Draws a change, and the member that gets the question for it. Members refuse many changes.
    fn another(&mut self) -> Asked {
        let count = self.nodes.len();
        let member = self.draw(count);
        let node = self.draw(count);
        let Member { name, address } = self.nodes[node].clone();
        let what = match self.draw(8) {
            0..=2 => SeatChange::Add { name, hosts: vec![address] },
            3 | 4 => SeatChange::Remove { name },
            5 | 6 => SeatChange::Replace { name, hosts: Vec::new(), instance: None },
            _ => SeatChange::Cancel,
        };
        let number = mix(self.seed ^ self.draws);
        Asked { number, member, what, tries: 0 }
    }
}

impl Service<Words> for Operator {
    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Effects<Words>) {
        match input {
            Input::Start(_) => self.next = now.after(self.pace),
            Input::Message { message: Message::Asker(ToAsker::Changed(changed)), .. } => {
                let is_end = changed.state.is_final();
                self.asked.take_if(|asked| is_end && asked.number == changed.number);
            }
            Input::Timeout if now >= self.next => {
                self.next = if now < self.until { now.after(self.pace) } else { Time::MAX };
                if now < self.until {
                    self.ask(now, out);
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        (self.next < Time::MAX).then_some(Deadline { at: self.next, why: "another change" })
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nerio::{ChangeState, Changed, Inc, Sender, ToGrantor, Who};

    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn asks(operator: &mut Operator, ms: u64) -> Option<Change> {
        let mut out = Vec::new();
        operator.handle(at(ms), Input::Timeout, &mut out);
        out.into_iter().find_map(|effect| match effect {
            Effect::Send { message: Message::Grantor(ToGrantor::Change(change)), .. } => {
                Some(change)
            }
            _ => None,
        })
    }

    #[test]
    fn changes_are_repeated_until_their_end() {
        let address = ([127, 0, 0, 1], 7_001).into();
        let nodes = vec![Member::at("a".parse().unwrap(), address)];
        let pace = Duration::from_millis(10);
        let mut operator = Operator::new(1, nodes, EpochId::NONE, pace, at(1_000));
        let first = asks(&mut operator, 10).unwrap();
        let again = asks(&mut operator, 20).unwrap();
        assert_eq!((first.number, &first.what), (again.number, &again.what));
        let who = Who { name: "a".parse().unwrap(), inc: Inc(1) };
        let from = Sender { who, address, proved: true, epoch: EpochId::NONE };
        let (asker, number, state) = (Inc(2), first.number, ChangeState::Cancelled);
        let ended = Changed { asker, start: again.start, number, state };
        let input = Input::Message { from, message: ended.into() };
        operator.handle(at(21), input, &mut Vec::new());
        assert_ne!(asks(&mut operator, 30).unwrap().number, first.number);
        assert_eq!(asks(&mut operator, 1_000), None);
        assert_eq!(operator.deadline(), None);
    }
}

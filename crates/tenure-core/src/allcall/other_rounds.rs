//! Decides whether a call of another caller is late, and whether an answer belongs to that caller's
//! open round. Rounds of observers are not kept: any stranger could ask in the name of another
//! participant (A6).

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::event::Ignored;
use super::identity::Participant;
use super::message::{Answered, Round};
use crate::time::Time;

/// The latest round of each other caller, and the time at which it was heard.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Peers(BTreeMap<Participant, (Round, Time)>);

impl Peers {
    /// Notes a call. A call of an earlier round than the known one is late.
    pub(super) fn hear(
        &mut self,
        who: &Participant,
        round: Round,
        now: Time,
        room: usize,
    ) -> Result<(), Ignored> {
        let full = self.0.len() >= room;
        match self.0.get_mut(who) {
            Some((known, _)) if *known > round => return Err(Ignored::Late),
            Some((known, _)) if *known == round => {}
            Some(known) => *known = (round, now),
            None if full => return Err(Ignored::Full),
            None => {
                self.0.insert(who.clone(), (round, now));
            }
        }
        Ok(())
    }

    pub(super) fn knows(&self, who: &Participant) -> bool {
        self.0.contains_key(who)
    }

    /// Whether an answer belongs to an open round of another caller.
    pub(super) fn is_open(&self, answer: &Answered, now: Time, heartbeat: Duration) -> bool {
        let known = self.0.get(&answer.caller);
        known.is_some_and(|(round, at)| *round == answer.round && now < at.after(heartbeat))
    }

    pub(super) fn forget(&mut self, now: Time, span: Duration) {
        self.0.retain(|_, (_, at)| now.since(*at) <= span);
    }
}

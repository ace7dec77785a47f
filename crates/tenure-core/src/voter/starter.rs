//! Whether, and when, a voter starts a ballot (V8, V12).

use alloc::collections::BTreeSet;
use core::time::Duration;

use super::message::StatusDto;
use crate::name::NodeName;
use crate::time::Time;

/// The time at which a voter looks whether it should start a ballot, and its questions before.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Starter {
    /// This voter looks again at this time.
    pub(super) at: Option<Time>,
    /// A voter or an operator has asked for a ballot: this voter starts it also without a candidate
    /// here.
    pub(super) forced: bool,
    pub(super) poll: Option<Poll>,
    pub(super) failures: u32,
    /// The last leader, which is silent now.
    pub(super) suspect: Option<NodeName>,
}

/// The health check of all others before a ballot.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Poll {
    pub(super) asked: BTreeSet<NodeName>,
    pub(super) answered: BTreeSet<NodeName>,
    pub(super) free: BTreeSet<NodeName>,
    /// Another voter knows of a leader that answers.
    pub(super) led: bool,
    /// Another voter has reached the suspect, which may have given up.
    pub(super) reached: bool,
    /// Another voter has not reached the suspect.
    pub(super) doubted: bool,
}

impl Starter {
    /// Moves the look later by a random span, so that voters do not start at once.
    pub(super) fn wait(&mut self, now: Time, random: Duration) {
        self.at = self.at.map(|at| at.max(now).after(random));
    }

    /// The longest pause after ballots without a leader: it doubles with each failure.
    pub(super) fn longest_pause(&self, spread: Duration, most: Duration) -> Duration {
        let doubled = 1_u32 << self.failures.min(4);
        spread.saturating_mul(doubled).min(most).max(Duration::from_millis(1))
    }

    /// A ballot begins: the next look comes after it.
    pub(super) fn stop(&mut self) {
        (self.at, self.poll) = (None, None);
    }

    /// A voter has answered the poll. Returns whether the poll has waited for it.
    pub(super) fn hear(&mut self, id: &NodeName, status: &StatusDto) -> bool {
        let Self { poll: Some(poll), suspect, .. } = self else { return false };
        if !poll.asked.remove(id) {
            return false;
        }
        poll.answered.insert(id.clone());
        if status.free.is_some() {
            poll.free.insert(id.clone());
        }
        let suspect = suspect.as_ref();
        let other = |leader: &NodeName| suspect != Some(leader) || status.reached == Some(true);
        let led = status.leader.as_ref().map(|leader| &leader.leadership.leader.id);
        poll.led |= led.is_some_and(other);
        poll.reached |= status.reached == Some(true);
        poll.doubted |= status.reached == Some(false);
        true
    }

    /// A voter does not answer the poll. Returns whether the poll has waited for it.
    pub(super) fn miss(&mut self, id: &NodeName) -> bool {
        self.poll.as_mut().is_some_and(|poll| poll.asked.remove(id))
    }
}

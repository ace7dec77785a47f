//! Keeps the time at which a voter may start its next ballot, and the poll before it (V8, V12).
//! `node/protocol.rs` decides whether the ballot starts.

use alloc::collections::BTreeSet;
use core::time::Duration;

use super::message::StatusDto;
use crate::name::NodeName;
use crate::time::Time;

/// The next time at which this voter may start a ballot, and the poll that precedes the ballot.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Starter {
    /// The time at which this voter decides whether to poll.
    pub(super) at: Option<Time>,
    /// Whether a voter or an operator has asked for a ballot: this voter then starts it even
    /// without a campaign.
    pub(super) forced: bool,
    pub(super) poll: Option<Poll>,
    pub(super) failures: u32,
    /// The last leader, now silent.
    pub(super) suspect: Option<NodeName>,
}

/// The health check of all others before a ballot.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Poll {
    pub(super) asked: BTreeSet<NodeName>,
    pub(super) answered: BTreeSet<NodeName>,
    pub(super) free: BTreeSet<NodeName>,
    /// Whether another voter knows of a leader that answers.
    pub(super) led: bool,
    /// Whether another voter has reached the suspect. The suspect may then have given up its
    /// leadership.
    pub(super) reached: bool,
    /// Whether another voter has failed to reach the suspect.
    pub(super) doubted: bool,
}

impl Starter {
    /// Moves the next start later by a random span, so that voters do not start together.
    pub(super) fn wait(&mut self, now: Time, random: Duration) {
        self.at = self.at.map(|at| at.max(now).after(random));
    }

    /// The longest pause before the next ballot, doubled after each ballot without a leader.
    pub(super) fn longest_pause(&self, spread: Duration, most: Duration) -> Duration {
        let doubled = 1_u32 << self.failures.min(4);
        spread.saturating_mul(doubled).min(most).max(Duration::from_millis(1))
    }

    /// Clears the next start, because a ballot begins.
    pub(super) fn stop(&mut self) {
        (self.at, self.poll) = (None, None);
    }

    /// Takes in an answer to the poll. Returns whether the poll was waiting for it.
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

    /// Notes a voter that does not answer the poll. Returns whether the poll was waiting for it.
    pub(super) fn miss(&mut self, id: &NodeName) -> bool {
        self.poll.as_mut().is_some_and(|poll| poll.asked.remove(id))
    }
}

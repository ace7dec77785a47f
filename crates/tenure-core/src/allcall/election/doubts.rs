//! Statements of other participants that a leader exists. This process keeps them because it may
//! not know that leader's claim.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::claims::digest;
use super::presence::present_for;
use crate::allcall::context::Context;
use crate::allcall::identity::Participant;
use crate::allcall::message::{Digest, LeaderClaim, Tombstone};
use crate::time::{Time, WallTime};

/// Each participant's last statement that a leader exists, up to the limit of claims.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Doubts(BTreeMap<Participant, Doubt>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Doubt {
    /// The time of the statement on the wall clock of its sender.
    sent: WallTime,
    /// The time at which the statement ends, unless its sender repeats it.
    until: Time,
    digest: Digest,
    /// The leader and the term, if they are known.
    leader: Option<(Participant, u64)>,
}

/// The view of another participant: the claim that it follows, if any.
pub(in crate::allcall) struct Statement<'a> {
    pub(in crate::allcall) sent: WallTime,
    /// The longest time between two calls of the other participant.
    pub(in crate::allcall) beat: Duration,
    pub(in crate::allcall) digest: Digest,
    pub(in crate::allcall) claim: Option<&'a LeaderClaim>,
}

impl Doubts {
    /// Keeps a statement that there is a leader. A statement that there is none removes earlier
    /// statements of its sender.
    pub(in crate::allcall) fn hear(
        &mut self,
        from: &Participant,
        statement: &Statement<'_>,
        context: &Context<'_>,
    ) {
        let Statement { sent, beat, digest, claim } = *statement;
        if digest == Digest::default() && claim.is_none() {
            self.0.retain(|who, doubt| who != from || doubt.sent > sent);
            return;
        }
        if !self.0.contains_key(from) && self.0.len() >= context.config.limits.claims {
            let first = self.0.iter().min_by_key(|(_, doubt)| doubt.until);
            if let Some(first) = first.map(|(who, _)| who.clone()) {
                self.0.remove(&first);
            }
        }
        let until = context.boot().after(present_for(beat));
        let leader = claim.map(|claim| (claim.leader.clone(), claim.term));
        self.0.insert(from.clone(), Doubt { sent, until, digest, leader });
    }

    pub(in crate::allcall) fn drop_of(&mut self, from: &Participant) {
        self.0.remove(from);
    }

    pub(in crate::allcall) fn bury(&mut self, dead: &Tombstone) {
        let ended = digest(&dead.leader, dead.term, dead.until);
        let is_over = |doubt: &Doubt| match &doubt.leader {
            Some((leader, term)) => *leader == dead.leader && *term <= dead.term,
            None => doubt.digest == ended,
        };
        self.0.retain(|_, doubt| !is_over(doubt));
    }

    /// Whether a participant has recently stated that there is a leader.
    pub(in crate::allcall) fn are_there(&self, now: Time) -> bool {
        self.0.values().any(|doubt| now <= doubt.until)
    }

    pub(in crate::allcall) fn expire(&mut self, now: Time) {
        self.0.retain(|_, doubt| now <= doubt.until);
    }
}

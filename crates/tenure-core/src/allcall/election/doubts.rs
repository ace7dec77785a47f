//! Who says that somebody leads, also where no claim of that is believed any more.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::claims::digest;
use super::presence::present_for;
use crate::allcall::context::Context;
use crate::allcall::identity::Participant;
use crate::allcall::message::{Digest, LeaderClaim, Tombstone};
use crate::time::{Time, WallTime};

/// What others have said last, if it was that somebody leads: of as many as claims are remembered.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Doubts(BTreeMap<Participant, Doubt>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Doubt {
    /// When it was said, by the clock of the one that did.
    sent: WallTime,
    /// Until when it is not forgotten: it is said again before, or it is over.
    until: Time,
    /// What stands for the claim, and whose it is, in which term, if that was said.
    digest: Digest,
    leader: Option<(Participant, u64)>,
}

impl Doubts {
    /// Somebody says this, by what stands for a claim or by the claim itself, and calls as often as
    /// every `beat`. That nobody leads takes back what
    /// the same one has said before, and not what it says later and is heard first.
    pub(super) fn hear(
        &mut self,
        from: &Participant,
        (sent, beat): (WallTime, Duration),
        (digest, claim): (Digest, Option<&LeaderClaim>),
        context: &Context<'_>,
    ) {
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

    /// What somebody has said is known to be over.
    pub(super) fn drop_of(&mut self, from: &Participant) {
        self.0.remove(from);
    }

    /// A leadership has ended: of its leader a later one may have begun.
    pub(super) fn bury(&mut self, dead: &Tombstone) {
        let ended = digest(&dead.leader, dead.term, dead.until);
        let is_over = |doubt: &Doubt| match &doubt.leader {
            Some((leader, term)) => *leader == dead.leader && *term <= dead.term,
            None => doubt.digest == ended,
        };
        self.0.retain(|_, doubt| !is_over(doubt));
    }

    /// Whether somebody has said lately that somebody leads.
    pub(super) fn are_there(&self, now: Time) -> bool {
        self.0.values().any(|doubt| now <= doubt.until)
    }

    /// Forgets what was not said again.
    pub(super) fn expire(&mut self, now: Time) {
        self.0.retain(|_, doubt| now <= doubt.until);
    }
}

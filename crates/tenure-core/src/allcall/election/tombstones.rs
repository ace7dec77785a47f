//! Leaderships that ended before their leases. A tombstone keeps a late claim from reviving such a
//! leadership.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::claims::digest;
use crate::allcall::context::Context;
use crate::allcall::event::Ignored;
use crate::allcall::identity::Participant;
use crate::allcall::message::{Entry, LeaderClaim, TOMBSTONES_MAX, Tombstone};
use crate::time::Time;

/// The tombstone of each leader's latest ended term, and the time at which it can be forgotten.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Tombstones(BTreeMap<Participant, (Time, Tombstone)>);

impl Tombstones {
    /// Keeps a tombstone until E + 2K (K is `max_clock_skew`): by then no clock believes a claim of
    /// the ended term (ruling 7). Returns whether the tombstone is new.
    pub(in crate::allcall) fn hear(
        &mut self,
        dead: &Tombstone,
        context: &Context<'_>,
    ) -> Result<bool, Ignored> {
        let now = context.boot();
        let config = context.config;
        let twice = config.max_clock_skew.saturating_mul(2);
        if dead.until > context.now.wall.after(config.lease.saturating_add(twice)) {
            return Err(Ignored::TooFar);
        }
        let ends = context.later(dead.until.after(twice));
        if ends <= now {
            return Ok(false);
        }
        match self.0.get_mut(&dead.leader) {
            Some((_, known)) if known.term >= dead.term => return Ok(false),
            Some(known) => *known = (ends, dead.clone()),
            None => {
                if self.0.len() >= config.limits.claims {
                    self.0.retain(|_, (ends, _)| *ends > now);
                }
                if self.0.len() >= config.limits.claims && !self.drop_soonest(ends) {
                    return Ok(false);
                }
                self.0.insert(dead.leader.clone(), (ends, dead.clone()));
            }
        }
        Ok(true)
    }

    fn drop_soonest(&mut self, ends: Time) -> bool {
        let soonest = self.0.iter().map(|(who, (ends, _))| (*ends, who)).min();
        match soonest.filter(|(soonest, _)| *soonest < ends) {
            Some((_, who)) => {
                let who = who.clone();
                self.0.remove(&who).is_some()
            }
            None => false,
        }
    }

    pub(in crate::allcall) fn bury(&self, claim: &LeaderClaim) -> bool {
        self.0.get(&claim.leader).is_some_and(|(_, dead)| claim.term <= dead.term)
    }

    pub(in crate::allcall) fn has_ended(&self, entry: &Entry) -> bool {
        let digest = |dead: &Tombstone| digest(&dead.leader, dead.term, dead.until);
        match &entry.claim {
            Some(claim) => self.bury(claim),
            None => self.0.values().any(|(_, dead)| digest(dead) == entry.digest),
        }
    }

    pub(in crate::allcall) fn is_of(&self, who: &Participant) -> bool {
        self.0.contains_key(who)
    }

    /// The tombstones for calls and replies; those that are needed longest come first.
    pub(in crate::allcall) fn carried(&self, now: Time) -> Vec<Tombstone> {
        let mut carried: Vec<_> = self.0.values().filter(|(ends, _)| *ends > now).collect();
        carried.sort_by_key(|(ends, _)| core::cmp::Reverse(*ends));
        carried.into_iter().take(TOMBSTONES_MAX).map(|(_, dead)| dead.clone()).collect()
    }

    /// Forgets tombstones that no claim can match any more.
    pub(in crate::allcall) fn expire(&mut self, now: Time) {
        self.0.retain(|_, (ends, _)| *ends > now);
    }
}

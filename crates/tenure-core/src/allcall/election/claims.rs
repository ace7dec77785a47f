//! The claims of other participants, as they were heard. E is the end of a claim in wall time, K
//! `max_clock_skew`.

use alloc::collections::BTreeMap;
use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::allcall::context::Context;
use crate::allcall::event::Ignored;
use crate::allcall::identity::{Participant, Rank};
use crate::allcall::message::{Digest, Entry, LeaderClaim, Tombstone};
use crate::time::{Time, WallTime};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::allcall) struct KnownClaim {
    pub(in crate::allcall) claim: LeaderClaim,
    /// Whether the leader itself has sent the claim. A relayed claim makes others wait, but beats
    /// no leader (ruling 4).
    pub(in crate::allcall) first_hand: bool,
    /// Whether the leader has heard its own claim. Until then the leader does not lead, and may
    /// never lead.
    pub(in crate::allcall) holds: bool,
    /// The time until which the claim is believed: E + K, converted to CLOCK_BOOTTIME when E was
    /// heard.
    pub(in crate::allcall) ends: Time,
    /// The time until which the leader certainly leads, unless it gives up.
    pub(in crate::allcall) certain: Time,
    /// The time at which this E was heard first.
    since: Time,
    /// The time at which this E was heard last.
    pub(in crate::allcall) last: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allcall) struct ClaimSource {
    pub(in crate::allcall) first_hand: bool,
    /// Whether the sender believes in the claim. A candidate believes in its own claim only once it
    /// has heard this claim: until then the candidate may have to resign the claim.
    pub(in crate::allcall) holds: bool,
    /// Whether the sender could renew the claim now.
    pub(in crate::allcall) renews: bool,
}

impl ClaimSource {
    /// The source of a claim in this entry of `from`.
    pub(in crate::allcall) fn of(entry: &Entry, from: &Participant) -> Self {
        Self {
            first_hand: entry.claim.as_ref().is_some_and(|claim| claim.leader == *from),
            holds: entry.digest != Digest::default(),
            renews: entry.eligible,
        }
    }
}

/// The claims of one election: the latest term of each leader, up to the limit.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Claims(BTreeMap<Participant, KnownClaim>);

/// The order of claims. A claim with a later E is greater. If two claims have the same E, the claim
/// with the lower rank is greater.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allcall) struct ClaimOrder {
    pub(in crate::allcall) until: WallTime,
    pub(in crate::allcall) rank: Rank,
}

impl ClaimOrder {
    pub(in crate::allcall) const fn of(claim: &LeaderClaim) -> Self {
        Self { until: claim.until, rank: claim.rank }
    }

    pub(in crate::allcall) fn is_above(self, other: Self) -> bool {
        self.until > other.until || (self.until == other.until && self.rank < other.rank)
    }
}

impl Claims {
    /// Handles a claim of another participant. Returns whether the claim is believed now.
    pub(in crate::allcall) fn hear(
        &mut self,
        claim: &LeaderClaim,
        source: ClaimSource,
        context: &Context<'_>,
    ) -> Result<bool, Ignored> {
        let now = context.boot();
        let config = context.config;
        // Drop the claim: no clock within K of true time can have granted it, because two clocks
        // are 2K apart at most (ruling 4).
        let longest = config.lease.saturating_add(config.max_clock_skew.saturating_mul(2));
        if claim.until > context.now.wall.after(longest) {
            return Err(Ignored::TooFar);
        }
        let heard = KnownClaim {
            claim: claim.clone(),
            first_hand: source.first_hand,
            holds: source.holds,
            ends: context.others_wait(claim.until),
            certain: context.certain(claim.until),
            since: now,
            last: now,
        };
        if heard.ends <= now {
            return Ok(false);
        }
        if let Some(known) = self.0.get_mut(&claim.leader) {
            // After a clock was set back, a relayed claim must not revive a claim that has ended.
            return Ok(known.renew(heard) && known.ends > now);
        }
        if self.0.len() >= config.limits.claims && !self.drop_least(&heard) {
            return Err(Ignored::Full);
        }
        self.0.insert(claim.leader.clone(), heard);
        Ok(true)
    }

    fn drop_least(&mut self, heard: &KnownClaim) -> bool {
        let claims = self.0.values().map(|known| &known.claim);
        let least = claims.reduce(|least, claim| {
            if ClaimOrder::of(least).is_above(ClaimOrder::of(claim)) { claim } else { least }
        });
        let order = ClaimOrder::of(&heard.claim);
        match least.filter(|least| order.is_above(ClaimOrder::of(least))).cloned() {
            Some(least) => self.0.remove(&least.leader).is_some(),
            None => false,
        }
    }

    /// Ends the terms of a leader up to the term of its tombstone. Returns whether the claim of
    /// that term was believed.
    pub(in crate::allcall) fn bury(&mut self, dead: &Tombstone, now: Time) -> bool {
        let Some(known) = self.0.get(&dead.leader) else { return false };
        let current = known.claim.term == dead.term && known.ends > now;
        if known.claim.term <= dead.term {
            self.0.remove(&dead.leader);
        }
        current
    }

    pub(in crate::allcall) fn live(&self, now: Time) -> impl Iterator<Item = &KnownClaim> {
        self.0.values().filter(move |known| known.ends > now)
    }

    /// The greatest live claim. Each participant that does not lead follows this claim.
    pub(in crate::allcall) fn followed(&self, now: Time) -> Option<&KnownClaim> {
        self.live(now).reduce(|followed, known| {
            let order = ClaimOrder::of(&known.claim);
            if order.is_above(ClaimOrder::of(&followed.claim)) { known } else { followed }
        })
    }

    /// Forgets claims that have ended. Returns whether there were any.
    pub(in crate::allcall) fn expire(&mut self, now: Time) -> bool {
        let before = self.0.len();
        self.0.retain(|_, known| known.ends > now);
        self.0.len() < before
    }

    pub(in crate::allcall) fn due(&self) -> Option<Time> {
        self.0.values().map(|known| known.ends).min()
    }
}

impl KnownClaim {
    /// Updates a claim that was heard again. A claim with a later term, or a later E of the same
    /// term, replaces the known claim. A relayed claim replaces no first-hand claim. When the
    /// leader itself repeats E, this process computes anew how long it believes the claim, and
    /// keeps the longer time: its clock may have been wrong before. Returns whether the claim
    /// counts now.
    fn renew(&mut self, heard: Self) -> bool {
        let order = |heard: &Self| (heard.claim.term, heard.claim.until);
        let known = order(self);
        let new = order(&heard);
        let heard_itself = heard.first_hand;
        let heard_holds = heard.holds;
        let as_direct = heard.first_hand || !self.first_hand;
        if new > known && as_direct {
            let holds = heard.holds || (self.holds && self.claim.term == heard.claim.term);
            *self = Self { holds, ..heard };
            return true;
        }
        if new == known {
            if heard.first_hand {
                self.ends = self.ends.max(heard.ends);
            }
            self.first_hand |= heard.first_hand;
            self.holds |= heard.holds;
            if as_direct {
                self.last = heard.last;
            }
        }
        // A relayed claim does not hide the claim that its leader sends (ruling 4).
        let itself = heard_itself && new.0 == known.0;
        self.holds |= itself && heard_holds;
        as_direct && (new >= known || itself)
    }

    /// Whether this process has known this E for two heartbeats, so that others know this E, too.
    pub(in crate::allcall) fn is_settled(&self, context: &Context<'_>) -> bool {
        context.boot() >= self.since.after(context.config.heartbeat.saturating_mul(2))
    }
}

impl LeaderClaim {
    pub(in crate::allcall) fn digest(&self) -> Digest {
        digest(&self.leader, self.term, self.until)
    }
}

pub(in crate::allcall) fn digest(leader: &Participant, term: u64, until: WallTime) -> Digest {
    let mut hasher = SipHasher13::new();
    hasher.write(leader.id.as_str().as_bytes());
    hasher.write(&leader.incarnation.to_le_bytes());
    hasher.write(&term.to_le_bytes());
    hasher.write(&until.as_nanos().to_le_bytes());
    let hash = hasher.finish();
    // Zero means no leader.
    Digest(u32::try_from(hash >> 32).unwrap_or(u32::MAX).max(1))
}

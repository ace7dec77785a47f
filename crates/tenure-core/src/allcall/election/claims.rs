//! What is known of others' leaderships.

use alloc::collections::BTreeMap;
use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::allcall::context::Context;
use crate::allcall::event::Ignored;
use crate::allcall::identity::{Participant, Rank};
use crate::allcall::message::{Digest, LeaderClaim, Tombstone};
use crate::time::{Time, WallTime};

/// A claim of another participant, as it was heard.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Heard {
    pub(super) claim: LeaderClaim,
    /// From its leader itself. What others relay makes wait, and beats nobody (ruling 4).
    pub(super) first_hand: bool,
    /// Its leader has heard it, too. One that has not does not lead yet, and may never.
    pub(super) holds: bool,
    /// Until then it is believed: E + K, fixed in CLOCK_BOOTTIME when its leader said so.
    pub(super) ends: Time,
    /// Until then its leader leads at least, unless it gives up.
    pub(super) certain: Time,
    /// When this E was heard first.
    since: Time,
    /// When it was heard last.
    pub(super) last: Time,
}

/// The claims of one election: of each leader its latest term, of all at most so many.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Claims(BTreeMap<Participant, Heard>);

/// In which order claims go: the later end, then the lower rank.
pub(super) fn is_greater(one: (WallTime, Rank), other: (WallTime, Rank)) -> bool {
    one.0 > other.0 || (one.0 == other.0 && one.1 < other.1)
}

fn key(claim: &LeaderClaim) -> (WallTime, Rank) {
    (claim.until, claim.rank)
}

impl Claims {
    /// Hears a claim of another; says whether it is believed now.
    pub(super) fn hear(
        &mut self,
        claim: &LeaderClaim,
        (first_hand, holds): (bool, bool),
        context: &Context<'_>,
    ) -> Result<bool, Ignored> {
        let (now, config) = (context.boot(), context.config);
        // No clock within K of true time can have granted it: two are 2K apart at most (ruling 4).
        let longest = config.lease.saturating_add(config.max_clock_skew.saturating_mul(2));
        if claim.until > context.now.wall.after(longest) {
            return Err(Ignored::TooFar);
        }
        let heard = Heard {
            claim: claim.clone(),
            first_hand,
            holds,
            ends: context.others_wait(claim.until),
            certain: context.certain(claim.until),
            since: now,
            last: now,
        };
        if heard.ends <= now {
            return Ok(false);
        }
        if let Some(known) = self.0.get_mut(&claim.leader) {
            // What others relay revives nothing when a clock is set back.
            return Ok(known.renew(heard) && known.ends > now);
        }
        if self.0.len() >= config.limits.claims && !self.drop_least(&heard) {
            return Err(Ignored::Full);
        }
        self.0.insert(claim.leader.clone(), heard);
        Ok(true)
    }

    /// Makes room for a greater claim.
    fn drop_least(&mut self, heard: &Heard) -> bool {
        let least = self.0.values().map(|known| &known.claim);
        let least = least.reduce(|least, claim| match is_greater(key(least), key(claim)) {
            true => claim,
            false => least,
        });
        match least.filter(|least| is_greater(key(&heard.claim), key(least))).cloned() {
            Some(least) => self.0.remove(&least.leader).is_some(),
            None => false,
        }
    }

    /// What a tombstone has ended is believed no more. Says whether its very term was.
    pub(super) fn bury(&mut self, dead: &Tombstone, now: Time) -> bool {
        let Some(known) = self.0.get(&dead.leader) else { return false };
        let current = known.claim.term == dead.term && known.ends > now;
        if known.claim.term <= dead.term {
            self.0.remove(&dead.leader);
        }
        current
    }

    /// The ones that are believed at `now`.
    pub(super) fn live(&self, now: Time) -> impl Iterator<Item = &Heard> {
        self.0.values().filter(move |known| known.ends > now)
    }

    /// The greatest of them, which a participant follows that does not lead.
    pub(super) fn followed(&self, now: Time) -> Option<&Heard> {
        self.live(now).reduce(|followed, known| {
            match is_greater(key(&known.claim), key(&followed.claim)) {
                true => known,
                false => followed,
            }
        })
    }

    /// Forgets those that have ended. Says whether there were any.
    pub(super) fn expire(&mut self, now: Time) -> bool {
        let before = self.0.len();
        self.0.retain(|_, known| known.ends > now);
        self.0.len() < before
    }

    /// When the first of them ends.
    pub(super) fn due(&self) -> Option<Time> {
        self.0.values().map(|known| known.ends).min()
    }
}

impl Heard {
    /// The same leader is heard again: a later E or term replaces what was known, unless that was
    /// heard first-hand and this was not. An E that its leader repeats is believed at least as long
    /// as the wall clock says now: it may have been wrong when that E was heard first.
    fn renew(&mut self, heard: Self) -> bool {
        let order = |heard: &Self| (heard.claim.term, heard.claim.until);
        let (known, new) = (order(self), order(&heard));
        let (heard_itself, heard_holds) = (heard.first_hand, heard.holds);
        let told = heard.first_hand || !self.first_hand;
        if new > known && told {
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
            if told {
                self.last = heard.last;
            }
        }
        // What others relay of it hides nothing that its leader says itself (ruling 4).
        let itself = heard_itself && new.0 == known.0;
        self.holds |= itself && heard_holds;
        told && (new >= known || itself)
    }

    /// Whether this E has been known for so long that others have heard it, too.
    pub(super) fn is_settled(&self, context: &Context<'_>) -> bool {
        context.boot() >= self.since.after(context.config.heartbeat.saturating_mul(2))
    }
}

impl LeaderClaim {
    /// What stands for it where it is not repeated.
    pub(super) fn digest(&self) -> Digest {
        digest(&self.leader, self.term, self.until)
    }
}

/// What stands for a claim of `leader`.
pub(super) fn digest(leader: &Participant, term: u64, until: WallTime) -> Digest {
    let mut hasher = SipHasher13::new();
    hasher.write(leader.id.as_str().as_bytes());
    hasher.write(&leader.incarnation.to_le_bytes());
    hasher.write(&term.to_le_bytes());
    hasher.write(&until.as_nanos().to_le_bytes());
    let hash = hasher.finish();
    // Zero is nobody.
    Digest(u32::try_from(hash >> 32).unwrap_or(u32::MAX).max(1))
}

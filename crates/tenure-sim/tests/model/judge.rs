//! What must hold, judged in true time.

use std::cmp::Ordering;
use std::fmt;
use std::hash::Hash;

use tenure_core::nerio::{Incomparable, QuorumTimestamp};
use tenure_core::{Fence, Time};

use crate::known::Known;
use crate::node::NAMES;

/// One life of one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Life {
    pub node: usize,
    pub number: u8,
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", NAMES[self.node], self.number)
    }
}

/// A life leads until then, in true time, unless it says before that it does not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    pub life: Life,
    /// The first Start of its attempt, on its own clock.
    pub first: Time,
    pub fence: Fence,
    pub until: u64,
}

/// Knows as little of the past as the properties need, so that pasts merge.
#[derive(Clone, Default)]
pub struct Judge {
    pub claim: Option<Claim>,
    /// How often somebody was elected, and who was last.
    pub elected: u8,
    pub last: Option<usize>,
    /// Whether the last one came from another node than the one before.
    pub changed: bool,
    highest: Fence,
    pub timestamp: Option<Known<QuorumTimestamp>>,
}

type Verdict = Result<(), String>;

impl Judge {
    /// All of it but the timestamp, which depends on the places of grantors.
    pub fn rest(&self) -> impl Hash + '_ {
        (&self.claim, self.elected, self.last, self.changed, self.highest)
    }

    /// A claim was raised at the true time `at`.
    pub fn raise(
        &mut self,
        (life, first, fence): (Life, Time, Fence),
        at: u64,
        until: u64,
    ) -> Verdict {
        if until <= at {
            return Ok(());
        }
        if let Some(claim) = &mut self.claim {
            if claim.life != life || claim.fence != fence {
                return Err(format!(
                    "Leader Uniqueness (1): {life} leads with fence {fence} while {} leads \
                     with fence {}",
                    claim.life, claim.fence
                ));
            }
            claim.until = claim.until.max(until);
            return Ok(());
        }
        // Unique too: a claim that lapsed and comes back under its fence is not above it.
        if fence <= self.highest {
            let highest = self.highest;
            return Err(format!("fences strictly grow: {life} got {fence} after {highest}"));
        }
        self.highest = fence;
        self.elected += 1;
        self.changed = self.last.is_some_and(|last| last != life.node);
        self.last = Some(life.node);
        self.claim = Some(Claim { life, first, fence, until });
        Ok(())
    }

    /// A claim was lowered.
    pub fn lower(&mut self, life: Life) {
        self.claim.take_if(|claim| claim.life == life);
    }

    /// The true time is `at`: what has lapsed is over.
    pub fn pass(&mut self, at: u64) {
        self.claim.take_if(|claim| claim.until <= at);
    }

    /// Section 6: a release of everything up to `start` leaves after the claim that stands on
    /// it was lowered. One of an earlier leadership may still be on its way to be confirmed.
    pub fn released(&self, life: Life, start: Time) -> Verdict {
        match &self.claim {
            Some(Claim { life: claims, first, until, .. })
                if *claims == life && *first <= start =>
            {
                Err(format!("section 6: {life} gave up what it leads with until {until}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Lemma 7.1: leaderships are ordered by their quorum timestamps. Where a state directory
    /// was lost, two may have no grantor in common.
    pub fn timestamped(&mut self, timestamp: &Known<QuorumTimestamp>, lost_disk: bool) -> Verdict {
        let order = self.timestamp.as_ref().map(|earlier| earlier.order(timestamp));
        match order {
            None | Some(Ok(Ordering::Less)) => {}
            Some(Err(Incomparable::Disjoint)) if lost_disk => {}
            Some(other) => return Err(format!("Lemma 7.1: {} comes as {other:?}", **timestamp)),
        }
        self.timestamp = Some(timestamp.clone());
        Ok(())
    }
}

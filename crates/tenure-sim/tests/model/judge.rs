//! What must hold, judged in true time.

use std::cmp::Ordering;
use std::hash::Hash;

use tenure_core::Fence;
use tenure_core::nerio::{Incomparable, QuorumTimestamp};

use crate::known::Known;

/// One life of one node.
pub type Life = (usize, u8);

/// A life leads until then, in true time, unless it says before that it does not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    pub life: Life,
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
    pub fn raise(&mut self, life: Life, fence: Fence, at: u64, until: u64) -> Verdict {
        if until <= at {
            return Ok(());
        }
        if let Some(claim) = &mut self.claim {
            if claim.life != life || claim.fence != fence {
                return Err(format!(
                    "Leader Uniqueness (1): {life:?} leads with fence {fence} while {:?} leads \
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
            return Err(format!("fences strictly grow: {life:?} got {fence} after {highest}"));
        }
        self.highest = fence;
        self.elected += 1;
        self.changed = self.last.is_some_and(|last| last != life.0);
        self.last = Some(life.0);
        self.claim = Some(Claim { life, fence, until });
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

    /// Section 6: a release leaves after the claim was lowered.
    pub fn released(&self, life: Life) -> Verdict {
        match &self.claim {
            Some(claim) if claim.life == life => {
                Err(format!("a release of {life:?} left while it leads until {}", claim.until))
            }
            _ => Ok(()),
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

//! Checks claims in true time.

use std::fmt;
use std::hash::Hash;

use tenure_core::nerio::QuorumTimestamp;
use tenure_core::{Fence, Time};

use super::grantors::{NAMES, order};
use super::known::SharedValue;
use super::setting::{Budget, Setting};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Life {
    pub(crate) node: usize,
    /// Number of earlier lives.
    pub(crate) number: u8,
}

/// A life's claim to lead until this true time, unless the life lowers the claim.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Claim {
    pub(crate) life: Life,
    /// First Start of the winning attempt, on the node's clock.
    pub(crate) first: Time,
    pub(crate) fence: Option<Fence>,
    /// True time in nanoseconds.
    pub(crate) until: u64,
}

/// The past, with only the parts that the properties need, so that pasts merge.
#[derive(Clone, Default)]
pub(crate) struct Judge {
    /// Claim that holds now.
    pub(crate) claim: Option<Claim>,
    /// Number of elections.
    pub(crate) elected: u8,
    /// Whether the last two leaderships came from different nodes.
    pub(crate) changed: bool,
    last: Option<usize>,
    highest: Option<Fence>,
    pub(crate) stamp: Option<SharedValue<QuorumTimestamp>>,
}

type Verdict = Result<(), String>;

/// A life for people.
impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", NAMES[self.node], self.number)
    }
}

impl Judge {
    /// The state without the stamp, which depends on the places of nodes.
    pub(crate) fn rest(&self) -> impl Hash + '_ {
        (&self.claim, self.elected, self.last, self.changed, self.highest)
    }

    /// Records that a claim was raised at the true time `at`.
    pub(crate) fn raise(&mut self, claim: Claim, at: u64) -> Verdict {
        if claim.until <= at {
            return Ok(());
        }
        let Claim { life, fence, .. } = claim;
        if let Some(other) = self.claim.as_ref().filter(|other| other.life != life) {
            return Err(format!(
                "Leader Uniqueness: {life} leads{} while {} leads{}",
                FenceSuffix(fence),
                other.life,
                FenceSuffix(other.fence),
            ));
        }
        if let Some(own) = &mut self.claim {
            if own.fence != fence {
                return Err(format!(
                    "Leader Uniqueness: {life} leads{} and{}",
                    FenceSuffix(own.fence),
                    FenceSuffix(fence),
                ));
            }
            own.until = own.until.max(claim.until);
            return Ok(());
        }
        // Fences are also unique: a lapsed claim that returns has the same fence, not a higher one.
        if fence.is_some() && fence <= self.highest {
            return Err(format!(
                "fences strictly grow: {life} leads{} after one{}",
                FenceSuffix(fence),
                FenceSuffix(self.highest),
            ));
        }
        self.highest = self.highest.max(fence);
        self.elected += 1;
        self.changed = self.last.is_some_and(|last| last != life.node);
        self.last = Some(life.node);
        self.claim = Some(claim);
        Ok(())
    }

    /// A claim was lowered.
    pub(crate) fn lower(&mut self, life: Life) {
        self.claim.take_if(|claim| claim.life == life);
    }

    /// Moves to the true time `at`: removes lapsed claims.
    pub(crate) fn pass(&mut self, at: u64) {
        self.claim.take_if(|claim| claim.until <= at);
    }

    /// Checks that leaderships are in the order of their stamps.
    pub(crate) fn stamped(
        &mut self,
        setting: &Setting,
        left: &Budget,
        stamp: &SharedValue<QuorumTimestamp>,
    ) -> Verdict {
        if let Some(earlier) = &self.stamp {
            order(setting, left, earlier, stamp)?;
        }
        self.stamp = Some(stamp.clone());
        Ok(())
    }
}

struct FenceSuffix(Option<Fence>);

impl fmt::Display for FenceSuffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |fence| write!(f, " with fence {fence}"))
    }
}

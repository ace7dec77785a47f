//! Judge of claims in true time.

use std::fmt;
use std::hash::Hash;

use tenure_core::Fence;

use super::known::Known;
use super::{Cluster, Setting};

/// A life of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Life {
    pub node: usize,
    /// How many lives it had before.
    pub number: u8,
}

/// A life leads until then, in true time, unless it says before that it does not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Claim<C: Cluster> {
    pub life: Life,
    /// Note about the node when it began to lead.
    pub note: C::Note,
    pub fence: Option<Fence>,
    /// True time in nanoseconds.
    pub until: u64,
}

/// The past: as little of it as the properties need, so that pasts merge.
#[derive(Clone)]
pub struct Judge<C: Cluster> {
    pub claims: Vec<Claim<C>>,
    /// How often somebody was elected.
    pub elected: u8,
    /// Whether the last one came from another node than the one before.
    pub changed: bool,
    last: Option<usize>,
    highest: Option<Fence>,
    pub(crate) stamp: Option<Known<C::Stamp>>,
}

type Verdict = Result<(), String>;

/// A life as people call it.
fn called<C: Cluster>(Life { node, number }: Life) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{}~{number}", C::NAMES[node]))
}

impl<C: Cluster> Judge<C> {
    pub(crate) fn new() -> Self {
        let claims = Vec::new();
        let last = None;
        let highest = None;
        let stamp = None;
        Self { claims, elected: 0, changed: false, last, highest, stamp }
    }

    /// All of it but the stamp, which depends on the places of nodes.
    pub(crate) fn rest(&self) -> impl Hash + '_ {
        (&self.claims, self.elected, self.last, self.changed, self.highest)
    }

    /// A claim was raised at the true time `at`; `disturbed` if
    /// anything was late or a node stopped.
    pub(crate) fn raise(&mut self, claim: Claim<C>, at: u64, disturbed: bool) -> Verdict {
        if claim.until <= at {
            return Ok(());
        }
        let Claim { life, fence, .. } = claim;
        for other in self.claims.iter().filter(|other| other.life != life) {
            if !C::may_overlap(&claim, other, disturbed) {
                return Err(format!(
                    "Leader Uniqueness: {} leads{} while {} leads{}",
                    called::<C>(life),
                    FenceSuffix(fence),
                    called::<C>(other.life),
                    FenceSuffix(other.fence),
                ));
            }
        }
        if let Some(own) = self.claims.iter_mut().find(|own| own.life == life) {
            if own.fence != fence {
                return Err(format!(
                    "Leader Uniqueness: {} leads{} and{}",
                    called::<C>(life),
                    FenceSuffix(own.fence),
                    FenceSuffix(fence),
                ));
            }
            own.until = own.until.max(claim.until);
            return Ok(());
        }
        // Unique too: a claim that lapsed and comes back under its fence is not above it.
        if fence.is_some() && fence <= self.highest {
            return Err(format!(
                "fences strictly grow: {} leads{} after one{}",
                called::<C>(life),
                FenceSuffix(fence),
                FenceSuffix(self.highest),
            ));
        }
        self.highest = self.highest.max(fence);
        self.elected += 1;
        self.changed = self.last.is_some_and(|last| last != life.node);
        self.last = Some(life.node);
        self.claims.push(claim);
        self.claims.sort_by_key(|claim| claim.life);
        Ok(())
    }

    /// A claim was lowered.
    pub(crate) fn lower(&mut self, life: Life) {
        self.claims.retain(|claim| claim.life != life);
    }

    /// The true time is `at`: what has lapsed is over.
    pub(crate) fn pass(&mut self, at: u64) {
        self.claims.retain(|claim| claim.until > at);
    }

    /// Leaderships are in the order that their stamps say.
    pub(crate) fn stamped(
        &mut self,
        setting: &Setting<C>,
        left: &C::Troubles,
        stamp: &Known<C::Stamp>,
    ) -> Verdict {
        if let Some(earlier) = &self.stamp {
            C::order(setting, left, earlier, stamp)?;
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

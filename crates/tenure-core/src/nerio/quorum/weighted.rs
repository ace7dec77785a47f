//! Weighted voting, and the exact decision whether two disjoint sets can both win.

use alloc::vec;
use alloc::vec::Vec;

use super::error::QuorumError;
use super::{MemberSet, Quorums};

/// A weight for each member, and the sum that a quorum must reach.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Weighted {
    weights: Vec<u32>,
    threshold: u32,
}

impl Weighted {
    pub(super) fn new(weights: &[u32], threshold: Option<u32>) -> Result<Self, QuorumError> {
        let max = Quorums::WEIGHT_MAX;
        if let Some(member) = weights.iter().position(|weight| *weight > max) {
            return Err(QuorumError::WeightTooLarge { member, weight: weights[member], max });
        }
        let sum: u32 = weights.iter().sum();
        if sum == 0 {
            return Err(QuorumError::NoWeight);
        }
        let threshold = threshold.unwrap_or(sum / 2 + 1);
        if threshold == 0 {
            return Err(QuorumError::ThresholdZero { majority: sum / 2 + 1 });
        }
        if threshold > sum {
            return Err(QuorumError::ThresholdAboveSum { threshold, sum });
        }
        let weighted = Self { weights: weights.to_vec(), threshold };
        match weighted.disjoint(sum) {
            Some((first, second)) => Err(QuorumError::Disjoint { first, second }),
            None => Ok(weighted),
        }
    }

    pub(super) fn weights(&self) -> &[u32] {
        &self.weights
    }

    pub(super) const fn threshold(&self) -> u32 {
        self.threshold
    }

    pub(super) fn is_reached_by(&self, set: MemberSet) -> bool {
        set.iter().map(|member| self.weights[member]).sum::<u32>() >= self.threshold
    }

    /// Two disjoint quorums, if there are any.
    ///
    /// Disjoint quorums exist exactly when the weight of some set is at least the threshold and at
    /// most the sum less the threshold. Each of two disjoint quorums is such a set, and the
    /// complement of such a set reaches the threshold, too. The weights of sets are a subset sum
    /// problem: with bounded weights it takes at most 31 x 15,500 steps.
    fn disjoint(&self, sum: u32) -> Option<(MemberSet, MemberSet)> {
        let most = sum.checked_sub(self.threshold).filter(|most| *most >= self.threshold)?;
        let last = self.last_members(most as usize);
        let reached = (self.threshold as usize..=most as usize).find(|sum| last[*sum].is_some())?;

        let mut first = MemberSet::EMPTY;
        let mut left = reached;
        while let Some(member) = last[left] {
            first = first.with(member);
            left -= self.weights[member] as usize;
        }
        let second = MemberSet::first(self.weights.len()).minus(first);
        Some((self.trimmed(first), self.trimmed(second)))
    }

    /// For each sum from 0 to `most`: the last member of a set with this sum. The rest of the set
    /// is found in the same way, by the sum without that member, and has only earlier members.
    /// `None` for 0 and for sums that no set has.
    fn last_members(&self, most: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; most + 1];
        for (member, weight) in self.weights.iter().enumerate() {
            let weight = *weight as usize;
            // Count downwards, so that no sum includes this member twice.
            for sum in (weight.max(1)..=most).rev() {
                let rest = sum - weight;
                if last[sum].is_none() && (rest == 0 || last[rest].is_some()) {
                    last[sum] = Some(member);
                }
            }
        }
        last
    }

    /// A minimal quorum within the quorum `set`.
    fn trimmed(&self, set: MemberSet) -> MemberSet {
        set.iter().fold(set, |kept, member| {
            let without = kept.minus(MemberSet::EMPTY.with(member));
            if self.is_reached_by(without) { without } else { kept }
        })
    }
}

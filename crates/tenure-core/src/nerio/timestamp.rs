//! Quorum timestamps and edict timestamps: the order of leaderships and of their edicts.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::identity::{Instance, Stamp};

/// `QT` (section 7): the stamps of the quorum that completed an instance, frozen at its completion.
///
/// Only [`order`](Self::order) compares timestamps: two timestamps without an order are an error
/// that the caller reports. `PartialOrd` would return a `false` that the caller might act on.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<(Instance, Stamp)>", into = "Vec<(Instance, Stamp)>")]
pub struct QuorumTimestamp {
    stamps: Arc<[(Instance, Stamp)]>,
}

/// The reason why two quorum timestamps cannot be ordered. Two timestamps of one election always
/// have an order, as long as the protocol's assumptions hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Incomparable {
    #[error(
        "the two quorum timestamps have no grantor in common: their elections or memberships \
         differ, or a grantor's state directory was lost in between"
    )]
    Disjoint,
    #[error(
        "two grantors order the quorum timestamps in opposite ways: an assumption was broken \
         (a state directory copied or restored, or a clock that went back)"
    )]
    Contradictory,
}

impl QuorumTimestamp {
    /// The timestamp of these stamps, in any order.
    #[must_use]
    pub fn new(stamps: impl IntoIterator<Item = (Instance, Stamp)>) -> Self {
        let mut stamps: Vec<_> = stamps.into_iter().collect();
        stamps.sort_unstable();
        stamps.dedup_by_key(|(instance, _)| *instance);
        Self { stamps: stamps.into() }
    }

    /// The stamps, ordered by grantor.
    #[must_use]
    pub fn stamps(&self) -> &[(Instance, Stamp)] {
        &self.stamps
    }

    /// The order in which two runs of the protocol completed (section 7, equation 21). Lemma 7.1
    /// says that this is the real-time order of their completion.
    pub fn order(&self, other: &Self) -> Result<Ordering, Incomparable> {
        let mut found = None;
        let mut theirs = other.stamps.iter().peekable();
        for (instance, stamp) in self.stamps.iter() {
            while theirs.next_if(|(candidate, _)| candidate < instance).is_some() {}
            let Some((_, their)) = theirs.next_if(|(candidate, _)| candidate == instance) else {
                continue;
            };
            let here = stamp.cmp(their);
            match found {
                Some(before) if before != here => {
                    return Err(Incomparable::Contradictory);
                }
                _ => found = Some(here),
            }
        }
        found.ok_or(Incomparable::Disjoint)
    }
}

impl From<Vec<(Instance, Stamp)>> for QuorumTimestamp {
    fn from(stamps: Vec<(Instance, Stamp)>) -> Self {
        Self::new(stamps)
    }
}

impl From<QuorumTimestamp> for Vec<(Instance, Stamp)> {
    fn from(timestamp: QuorumTimestamp) -> Self {
        timestamp.stamps.to_vec()
    }
}

impl fmt::Debug for QuorumTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for QuorumTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (n, (instance, stamp)) in self.stamps.iter().enumerate() {
            let comma = if n == 0 { "" } else { " " };
            write!(f, "{comma}{instance}@{stamp}")?;
        }
        f.write_str("}")
    }
}

/// An edict timestamp (section 7): first the epoch of the membership (section 10.6), then the
/// quorum timestamp of the leadership, then the number of the edict within the leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct EdictTimestamp {
    /// Epoch of the membership; zero until a membership changes.
    pub epoch: u64,
    pub quorum: QuorumTimestamp,
    /// `EC`: the number of edicts that this leadership had created before.
    pub counter: u64,
}

impl EdictTimestamp {
    /// The order in which two edicts were created.
    pub fn order(&self, other: &Self) -> Result<Ordering, Incomparable> {
        match self.epoch.cmp(&other.epoch) {
            Ordering::Equal => {}
            unequal => return Ok(unequal),
        }
        Ok(self.quorum.order(&other.quorum)?.then(self.counter.cmp(&other.counter)))
    }
}

impl fmt::Display for EdictTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.epoch, self.quorum, self.counter)
    }
}

#[cfg(test)]
mod tests {
    use super::super::identity::Boot;
    use super::*;
    use crate::time::Time;

    fn qt(stamps: &[(u128, u64, u64, u32)]) -> QuorumTimestamp {
        QuorumTimestamp::new(stamps.iter().map(|&(instance, boot, clock, counter)| {
            let clock = Time::from_nanos(clock);
            (Instance(instance), Stamp { boot: Boot(boot), clock, counter })
        }))
    }

    #[test]
    fn equation_21_one_common_grantor_decides() {
        let first = qt(&[(1, 0, 10, 0), (2, 0, 99, 0)]);
        let second = qt(&[(3, 0, 5, 0), (1, 0, 11, 0)]);
        assert_eq!(first.order(&second), Ok(Ordering::Less));
        assert_eq!(second.order(&first), Ok(Ordering::Greater));
        assert_eq!(first.order(&first), Ok(Ordering::Equal));
    }

    #[test]
    fn later_boot_wins_over_clock() {
        let before = qt(&[(1, 3, 1_000_000, 0)]);
        let after = qt(&[(1, 4, 7, 0)]);
        assert_eq!(before.order(&after), Ok(Ordering::Less));
    }

    #[test]
    fn counter_orders_equal_clock_values() {
        assert_eq!(qt(&[(1, 0, 7, 0)]).order(&qt(&[(1, 0, 7, 1)])), Ok(Ordering::Less));
    }

    #[test]
    fn incomparable_timestamps_are_errors() {
        let one = qt(&[(1, 0, 10, 0), (2, 0, 10, 0)]);
        assert_eq!(one.order(&qt(&[(3, 0, 1, 0)])), Err(Incomparable::Disjoint));
        let across = qt(&[(1, 0, 9, 0), (2, 0, 11, 0)]);
        assert_eq!(one.order(&across), Err(Incomparable::Contradictory));
        assert_eq!(qt(&[]).order(&one), Err(Incomparable::Disjoint));
    }

    #[test]
    fn edicts_order_by_epoch_leadership_counter() {
        let edict = |epoch, clock, counter| EdictTimestamp {
            epoch,
            quorum: qt(&[(1, 0, clock, 0)]),
            counter,
        };
        let ordered = [edict(0, 5, 0), edict(0, 5, 1), edict(0, 6, 0), edict(1, 2, 0)];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(a.order(b), Ok(i.cmp(&j)), "{a} {b}");
            }
        }
    }
}

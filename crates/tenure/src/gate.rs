//! Gates: how the recipient of work refuses a leader that has been superseded.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tenure_core::Fence;
use tenure_core::nerio::{EdictTimestamp, Incomparable};

/// Admits work by the newest fence it has seen, and refuses older ones.
///
/// Keep one beside each resource. Its state must live as long as the resource does: export it
/// with serde and bring it back, or a restart admits the old.
///
/// ```
/// use tenure::{Fence, FenceGate};
///
/// let mut gate = FenceGate::default();
/// gate.admit(Fence::new(7)).unwrap();
/// gate.admit(Fence::new(7)).unwrap();
/// gate.admit(Fence::new(9)).unwrap();
/// assert!(gate.admit(Fence::new(7)).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FenceGate {
    newest: Fence,
}

/// Work by a leader that has been superseded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("fence {offered} has been superseded by {newest}: its leader is no longer in office")]
pub struct Superseded {
    /// The fence of the work.
    pub offered: Fence,
    /// The newest fence seen.
    pub newest: Fence,
}

impl FenceGate {
    /// A gate that has seen `newest`.
    #[must_use]
    pub const fn new(newest: Fence) -> Self {
        Self { newest }
    }

    /// Admits work by this fence or refuses it.
    pub fn admit(&mut self, offered: Fence) -> Result<(), Superseded> {
        if offered < self.newest {
            return Err(Superseded { offered, newest: self.newest });
        }
        self.newest = offered;
        Ok(())
    }

    /// The newest fence seen.
    #[must_use]
    pub const fn newest(&self) -> Fence {
        self.newest
    }
}

/// Admits edicts in the order of their creation (Nerio, section 7), and refuses each that was
/// created before one already admitted.
///
/// Unlike [`FenceGate`] it also orders the edicts of one leader. An edict that is repeated is
/// refused too. Its state must live as long as the resource does: export it with serde.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EdictGate {
    newest: Option<EdictTimestamp>,
}

/// Why an edict was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EdictRefused {
    /// An edict created later was admitted before, or this very one was.
    #[error("edict {offered} was created no later than {newest}, which was admitted before")]
    Older {
        /// The timestamp of the edict.
        offered: Box<EdictTimestamp>,
        /// The newest one admitted.
        newest: Box<EdictTimestamp>,
    },
    /// The two cannot be ordered; it says why and what to look for.
    #[error("edict {offered} cannot be ordered with {newest}")]
    Incomparable {
        /// The timestamp of the edict.
        offered: Box<EdictTimestamp>,
        /// The newest one admitted.
        newest: Box<EdictTimestamp>,
        /// What stands against it.
        source: Incomparable,
    },
}

impl EdictGate {
    /// A gate that has admitted nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { newest: None }
    }

    /// Admits an edict or refuses it.
    pub fn admit(&mut self, offered: &EdictTimestamp) -> Result<(), EdictRefused> {
        if let Some(newest) = &self.newest {
            let both = || (Box::new(offered.clone()), Box::new(newest.clone()));
            match newest.order(offered) {
                Ok(Ordering::Less) => {}
                Ok(Ordering::Equal | Ordering::Greater) => {
                    let (offered, newest) = both();
                    return Err(EdictRefused::Older { offered, newest });
                }
                Err(source) => {
                    let (offered, newest) = both();
                    return Err(EdictRefused::Incomparable { offered, newest, source });
                }
            }
        }
        self.newest = Some(offered.clone());
        Ok(())
    }

    /// The newest edict admitted.
    #[must_use]
    pub const fn newest(&self) -> Option<&EdictTimestamp> {
        self.newest.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Time;
    use tenure_core::nerio::{Boot, Instance, QuorumTimestamp, Stamp};

    use super::*;

    fn edict(grantors: &[u128], clock: u64, counter: u64) -> EdictTimestamp {
        let stamp = Stamp { boot: Boot(1), clock: Time::from_nanos(clock), counter: 0 };
        let stamps = grantors.iter().map(|grantor| (Instance(*grantor), stamp));
        EdictTimestamp { epoch: 0, quorum: QuorumTimestamp::new(stamps), counter }
    }

    #[test]
    fn edicts_are_admitted_in_the_order_of_their_creation() {
        let mut gate = EdictGate::new();
        gate.admit(&edict(&[1, 2], 10, 0)).unwrap();
        gate.admit(&edict(&[1, 2], 10, 2)).unwrap();
        let late = gate.admit(&edict(&[1, 2], 10, 1));
        assert!(matches!(late, Err(EdictRefused::Older { .. })));
        gate.admit(&edict(&[2, 3], 11, 0)).unwrap();
        let old = gate.admit(&edict(&[1, 2], 10, 3));
        assert!(matches!(old, Err(EdictRefused::Older { .. })), "a superseded leader");
        let repeated = gate.admit(&edict(&[2, 3], 11, 0));
        assert!(matches!(repeated, Err(EdictRefused::Older { .. })));
        let strange = gate.admit(&edict(&[9], 12, 0));
        assert!(matches!(strange, Err(EdictRefused::Incomparable { .. })));
    }

    #[test]
    fn a_gate_that_was_exported_remembers() {
        let mut gate = FenceGate::default();
        gate.admit(Fence::new(9)).unwrap();
        let bytes = postcard::to_allocvec(&gate).unwrap();
        let mut gate: FenceGate = postcard::from_bytes(&bytes).unwrap();
        let refused = gate.admit(Fence::new(8)).unwrap_err();
        assert_eq!((refused.offered, refused.newest), (Fence::new(8), Fence::new(9)));
    }
}

//! A gate with which a recipient of edicts refuses superseded leaders.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tenure_core::nerio::{EdictTimestamp, Incomparable};

/// Admits edicts in the order of their creation (Nerio, section 7), and refuses each edict that was
/// created before an admitted edict.
///
/// Unlike [`FenceGate`](tenure::FenceGate) this gate also orders the edicts of one leader, and
/// refuses a repeated edict. The state of a gate must live as long as the resource does: export the
/// gate with serde.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EdictGate {
    newest: Option<EdictTimestamp>,
}

/// The reason why an edict was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EdictRefused {
    #[error("edict {offered} is not later than edict {newest}, which the gate has admitted")]
    Older { offered: Box<EdictTimestamp>, newest: Box<EdictTimestamp> },
    #[error("edict {offered} cannot be ordered with {newest}")]
    Incomparable {
        offered: Box<EdictTimestamp>,
        newest: Box<EdictTimestamp>,
        /// The reason why the two edicts have no order.
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
    fn edicts_are_admitted_in_order() {
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
}

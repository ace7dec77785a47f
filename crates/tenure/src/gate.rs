//! A gate by which a recipient of work refuses superseded leaders.

use serde::{Deserialize, Serialize};
use tenure_core::Fence;

/// Admits work whose fence is at least the highest fence seen, and refuses lower fences.
///
/// Keep a gate with each resource. Its state must live as long as the resource: export the gate
/// with serde and restore it. Otherwise a restart admits superseded leaders.
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

/// The reason why work was refused: a later leader has superseded the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "fence {offered} is below {newest}, which this gate has admitted: a later leader has replaced \
     the leader with fence {offered}"
)]
pub struct Superseded {
    pub offered: Fence,
    pub newest: Fence,
}

impl FenceGate {
    /// A gate that has seen `newest`.
    #[must_use]
    pub const fn new(newest: Fence) -> Self {
        Self { newest }
    }

    /// Admits work with this fence, or refuses it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_gate_remembers() {
        let mut gate = FenceGate::default();
        gate.admit(Fence::new(9)).unwrap();
        let bytes = postcard::to_allocvec(&gate).unwrap();
        let mut gate: FenceGate = postcard::from_bytes(&bytes).unwrap();
        let refused = gate.admit(Fence::new(8)).unwrap_err();
        assert_eq!((refused.offered, refused.newest), (Fence::new(8), Fence::new(9)));
    }
}

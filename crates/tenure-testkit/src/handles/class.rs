//! Expectations of the suite for a class of safety.

use tenure::{AtMostOne, Fence, FenceGate, Leader, MayOverlap, SafetyClass};

/// A class of safety in the suite; there are only these two.
pub trait Class: SafetyClass {
    /// Whether there is at most one leader.
    const EXCLUSIVE: bool;

    /// The fence of a leader; `None` in a class without fences.
    fn fence_of(leader: &Leader<Self>) -> Option<Fence>
    where
        Self: Sized;

    /// Checks that a recipient that knows `new` refuses `old`, in a class with fences.
    fn expect_order(old: &Leader<Self>, new: &Leader<Self>)
    where
        Self: Sized,
    {
        if let (Some(old), Some(new)) = (Self::fence_of(old), Self::fence_of(new)) {
            let mut gate = FenceGate::default();
            gate.admit(old).unwrap();
            gate.admit(new).unwrap();
            assert!(gate.admit(old).is_err(), "{new} after {old}");
        }
    }
}

impl Class for AtMostOne {
    const EXCLUSIVE: bool = true;

    fn fence_of(leader: &Leader<Self>) -> Option<Fence> {
        Some(leader.fence())
    }
}

impl Class for MayOverlap {
    const EXCLUSIVE: bool = false;

    fn fence_of(_: &Leader<Self>) -> Option<Fence> {
        None
    }
}

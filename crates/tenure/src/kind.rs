//! Classes of safety, as types.

use std::fmt::Debug;

use tenure_core::Fence;

mod sealed {
    #[expect(unnameable_types, reason = "nobody else adds a class of safety")]
    pub trait Sealed {}
}

/// A class of safety.
pub trait Kind: sealed::Sealed + Debug + Send + Sync + 'static {
    /// What orders its leaders: a [`Fence`], or nothing.
    type Fence: Copy + Debug + Send + Sync + 'static;

    /// The fence of a leadership as its core has it; `None` if the core orders leaders, and this
    /// class does not, or the other way round.
    fn fence(fence: Option<Fence>) -> Option<Self::Fence>;
}

/// There is at most one leader at any instant, and leaders are ordered by fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtMostOne {}

/// There may be several leaders at once: in partitions, or while leadership changes hands.
/// Such leaders have no fence, and nothing converts one kind into the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MayOverlap {}

impl sealed::Sealed for AtMostOne {}
impl sealed::Sealed for MayOverlap {}

impl Kind for AtMostOne {
    type Fence = Fence;

    fn fence(fence: Option<Fence>) -> Option<Fence> {
        fence
    }
}

impl Kind for MayOverlap {
    type Fence = ();

    fn fence(fence: Option<Fence>) -> Option<()> {
        fence.is_none().then_some(())
    }
}

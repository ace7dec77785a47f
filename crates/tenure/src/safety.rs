//! Classes of safety, as types.

use std::fmt::Debug;

use tenure_core::Fence;

mod sealed {
    #[expect(unnameable_types, reason = "nobody else adds a class of safety")]
    pub trait Sealed {}
}

/// A class of safety.
pub trait SafetyClass: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// Order of leaders: a [`Fence`], or nothing.
    type Fence: Copy + Debug + Send + Sync + 'static;

    /// Error of a campaign that was won where [`fence`](Self::fence) gives nothing.
    const MISMATCH: &'static str;

    /// The fence of a leadership, from its core's; `None` if the core orders leaders and this class
    /// does not, or the other way round.
    fn fence(fence: Option<Fence>) -> Option<Self::Fence>;
}

/// At most one leader exists at any instant, and fences order leaders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtMostOne {}

/// Several leaders may exist at once: in partitions, or while leadership changes hands. Such
/// leaders have no fence, and no conversion turns one kind into the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MayOverlap {}

impl sealed::Sealed for AtMostOne {}
impl sealed::Sealed for MayOverlap {}

impl SafetyClass for AtMostOne {
    type Fence = Fence;

    const MISMATCH: &'static str =
        "this protocol has won without a fence, and its leaders must have one: a bug in its driver";

    fn fence(fence: Option<Fence>) -> Option<Fence> {
        fence
    }
}

impl SafetyClass for MayOverlap {
    type Fence = ();

    const MISMATCH: &'static str = "this protocol has won with a fence, and its leaders, which may \
                                    overlap, must have none: a bug in its driver";

    fn fence(fence: Option<Fence>) -> Option<()> {
        fence.is_none().then_some(())
    }
}

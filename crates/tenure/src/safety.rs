//! Classes of safety, as types.

use std::fmt::Debug;

use tenure_core::Fence;

mod sealed {
    #[expect(unnameable_types, reason = "nobody else adds a class of safety")]
    pub trait Sealed {}
}

/// A class of safety.
pub trait SafetyClass: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// The type of fences: [`Fence`], or `()`.
    type Fence: Copy + Debug + Send + Sync + 'static;

    /// The error of a campaign that was won although [`fence`](Self::fence) returns `None`.
    const MISMATCH: &'static str;

    /// Converts the core's fence. `None` if the core gives fences and this class has none, or the
    /// reverse.
    fn fence(fence: Option<Fence>) -> Option<Self::Fence>;

    /// The fence for reports about leaders of any class; `None` if the class has none.
    fn told(fence: Self::Fence) -> Option<Fence>;
}

/// At most one leader exists at any instant, and fences order leaders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtMostOne {}

/// Several leaders may exist at once: on the sides of a network partition, or while leadership
/// changes hands. Such leaders have no fence, and no conversion turns one class into the other.
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

    fn told(fence: Fence) -> Option<Fence> {
        Some(fence)
    }
}

impl SafetyClass for MayOverlap {
    type Fence = ();

    const MISMATCH: &'static str = "this protocol has won with a fence, and its leaders, which may \
                                    overlap, must have none: a bug in its driver";

    fn fence(fence: Option<Fence>) -> Option<()> {
        fence.is_none().then_some(())
    }

    fn told((): ()) -> Option<Fence> {
        None
    }
}

//! The integer that orders leaderships.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A number that grows with each leadership of an election.
///
/// A resource keeps the highest fence that it has seen and refuses work with a lower fence. A later
/// leadership always has a higher fence. The highest fence does not show whether its leader is
/// still in office.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Fence(u64);

impl Fence {
    /// A number below every fence of a leadership.
    pub const NONE: Self = Self(0);

    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, for a database column or a header.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The next fence, or `None` when the numbers are used up.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

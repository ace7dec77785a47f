//! Duties of the driver and of the state directory that a world can leave undone on purpose.

/// A rule that is kept outside the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriverRule {
    /// The table of grants counts only on the boot of the machine that wrote it (restart 2).
    TableOfThisBoot,
    /// Grants are not kept as absolute times over a reboot (restart 5): with a table that was
    /// flushed, and a clock that begins anew.
    FinishOfThisBoot,
    /// The clock goes on while a machine sleeps (gaps: suspend).
    ClockCountsSleep,
    /// A claim that has lapsed is never raised again (the contract, duty 6).
    LapsedClaimStays,
    /// The clock is asked at every question (a sticky leader flag).
    ClockAtTheQuestion,
    /// What follows a write that failed is dropped (the contract, duty 5).
    DropAfterFailure,
    /// A state directory of another node is refused.
    OwnDirectory,
}

impl DriverRule {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::TableOfThisBoot,
        Self::FinishOfThisBoot,
        Self::ClockCountsSleep,
        Self::LapsedClaimStays,
        Self::ClockAtTheQuestion,
        Self::DropAfterFailure,
        Self::OwnDirectory,
    ];
}

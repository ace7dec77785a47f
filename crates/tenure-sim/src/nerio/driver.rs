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
    /// The clock is asked at every question (one clock sample: a sticky leader flag).
    ClockAtTheQuestion,
    /// A driver drops the effects that follow a failed write (the contract, duty 5).
    DropAfterFailure,
    /// A state directory of another node is refused (restart 4).
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

    /// The properties that are meant to notice when it is left undone.
    #[must_use]
    pub const fn meant(self) -> &'static [&'static str] {
        const ONE_LEADER: &str = "Leader Uniqueness";
        const GRANTS: &str = "A claim stands on grants of a quorum";
        const VALIDITY: &str = "Edict Validity";
        match self {
            Self::TableOfThisBoot | Self::FinishOfThisBoot => &[ONE_LEADER, GRANTS],
            Self::ClockCountsSleep => &[ONE_LEADER, GRANTS, VALIDITY],
            Self::LapsedClaimStays => &["A fence ends with the lapse of its leadership"],
            Self::ClockAtTheQuestion => &[VALIDITY],
            Self::DropAfterFailure => &["Nothing is visible before it is durable"],
            // Two grantors then are one instance, whose samples contradict each other.
            Self::OwnDirectory => &[
                "A release never shortens somebody else's lease",
                "Quorum timestamps order leaderships",
                ONE_LEADER,
                GRANTS,
            ],
        }
    }
}

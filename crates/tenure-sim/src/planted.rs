//! Which property is meant to notice which planted bug.

use tenure_core::nerio::planted::Rule;

use crate::nerio::driver::DriverRule;

/// The properties that are meant to notice when `rule` is broken.
#[must_use]
pub fn meant(_rule: Rule) -> &'static [&'static str] {
    ANY
}
const ANY: &[&str] = &[
    "Leader Uniqueness",
    "A claim stands on grants of a quorum",
    "Edict Validity",
    "Edict Ordering",
    "Quorum timestamps order leaderships",
    "Fences strictly grow and are unique",
    "A fence ends with the lapse of its leadership",
    "Verification never over-reports",
    "A release comes after the claim and after every promise",
    "A release never shortens somebody else's lease",
    "Nothing is visible before it is durable",
    "No grant to the dead",
    "Observers see what is",
    "Leader Stability",
    "Eventual Election",
    "Prompt succession",
    "No deadline stays in the past",
    "Memory is bounded",
    "Nothing panics",
    "Messages survive the wire",
];

/// The duties outside the core, where they are written, and who is meant to notice.
pub const MEANT_DRIVER: &[(DriverRule, &str, &[&str])] = &[
    (DriverRule::TableOfThisBoot, "restart 2", ANY),
    (DriverRule::FinishOfThisBoot, "restart 5", ANY),
    (DriverRule::ClockCountsSleep, "gaps: suspend", ANY),
    (DriverRule::LapsedClaimStays, "the contract, duty 6", ANY),
    (DriverRule::ClockAtTheQuestion, "one clock sample", ANY),
    (DriverRule::DropAfterFailure, "the contract, duty 5", ANY),
    (DriverRule::OwnDirectory, "restart 4", ANY),
];

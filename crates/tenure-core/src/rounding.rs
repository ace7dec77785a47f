//! How drift is rounded: against the node that claims something, in every protocol.

use crate::rule::rules;

#[cfg(tenure_planted)]
const ASKS: &str = "A candidate asks for what it may";
#[cfg(tenure_planted)]
const LASTS: &str = "A grant lasts (1 + ρ)δ from the arrival of its request";
#[cfg(tenure_planted)]
const PROVEN: &str = "A claim lasts as long as its lease was proven to";

rules! {
    /// `(1 − ρ)δ` rounds down.
    ShrinkRoundsDown: "rounding", [ASKS, PROVEN], by hand;
    /// `(1 + ρ)δ` rounds up.
    StretchRoundsUp: "rounding", [LASTS], by hand;
}

//! Turning a rule off, in builds that exist to prove the checkers.

pub use super::{Broken, Rule, break_rule, in_force};

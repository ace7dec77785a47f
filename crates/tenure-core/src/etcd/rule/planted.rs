//! Turning a rule off, in builds that exist to prove the checkers.

pub use super::{Broken, Rule, break_rule, in_force};

/// The rules with a story of their own (`tests/etcd`), because a random search does not find
/// their absence, or not soon. That of every other one is found by random worlds.
pub const DIRECTED: &[Rule] = &[];

//! Elections on real brokers, in both modes.

mod brokers;
mod groups;
mod handles;
mod node;
mod roles;
mod topics;

use crate::common::Tests;

/// The longest tests come first.
pub(crate) const PARTS: &[(&str, Tests)] = &[
    ("brokers", brokers::TESTS),
    ("roles", roles::TESTS),
    ("groups", groups::TESTS),
    ("at_most_one", handles::at_most_one::TESTS),
    ("at_least_one", handles::at_least_one::TESTS),
    ("topics", topics::TESTS),
];

//! The promises of the ledger to the core, by both group protocols.

mod members;
mod names;
mod observers;
pub(crate) mod process;
mod rights;
mod topics;

use crate::common::Tests;

/// The longest tests come first.
pub(crate) const PARTS: &[(&str, Tests)] = &[
    ("ledger::topics", topics::TESTS),
    ("ledger::rights", rights::TESTS),
    ("ledger::members", members::TESTS),
    ("ledger::names", names::TESTS),
    ("ledger::observers", observers::TESTS),
];

//! One test for each rule of our extensions, named after it (the module document has them).
//!
//! With `--cfg tenure_planted` only the directed stories are run, twice each: with their rule
//! they pass, without it they must fail.

#![cfg_attr(tenure_planted, allow(dead_code, reason = "not every story is about a rule"))]
#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod directed;
#[cfg(not(tenure_planted))]
mod fence;
#[cfg(not(tenure_planted))]
mod identity;
#[cfg(not(tenure_planted))]
mod inventory;
#[cfg(not(tenure_planted))]
mod listing;
#[cfg(not(tenure_planted))]
mod next;
#[cfg(not(tenure_planted))]
mod orders;
#[cfg(not(tenure_planted))]
mod parked;
#[cfg(tenure_planted)]
mod planted;
#[cfg(not(tenure_planted))]
mod restart;
#[cfg(not(tenure_planted))]
mod sample;
#[path = "../story/mod.rs"]
mod story;
#[cfg(not(tenure_planted))]
mod verification;
#[cfg(not(tenure_planted))]
mod waiting;

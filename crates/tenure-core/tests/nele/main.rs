//! Stories about leaders from partition ownership, told by hand: a few processes, and a ledger, a
//! coordinator and clocks that do what the story wants.
//!
//! With `--cfg tenure_planted` only the stories of `planted` are run, twice each: with their rule
//! they pass, without it they must fail.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "not every story is about a rule"))]

mod claiming;
mod conversations;
mod fencing;
mod leaving;
mod observing;
mod owning;
#[cfg(tenure_planted)]
mod planted;
mod record;
mod stage;
mod text;
mod topic;
mod wild;

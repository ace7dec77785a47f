//! Stories about leased leaders on a bus, told by hand: a few cores, and a bus, clocks and
//! clients that do what the story wants.
//!
//! With `--cfg tenure_planted` only the stories of `planted` are run, twice each: with their rule
//! they pass, without it they must fail.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "not every story is about a rule"))]

mod asking;
mod batches;
mod bus;
mod clocks;
#[cfg(not(tenure_planted))]
mod conversations;
mod ending;
mod joining;
mod leading;
mod observing;
#[cfg(tenure_planted)]
mod planted;
mod stage;
mod text;

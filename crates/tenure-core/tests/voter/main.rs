//! Stories about regional voters, told by hand: a few cores, and a network of HTTP exchanges,
//! clocks and directories that do what the story wants.
//!
//! With `--cfg tenure_planted` only the stories of `planted` are run, twice each: with their rule
//! they pass, without it they must fail.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "not every story is about a rule"))]

mod apart;
#[cfg(not(tenure_planted))]
mod asking;
mod available;
mod changes;
mod condition;
#[cfg(not(tenure_planted))]
mod conversations;
mod drawing;
mod founding;
mod hostile;
mod leasing;
#[cfg(tenure_planted)]
mod planted;
mod restart;
mod stage;
mod strangers;
mod text;
mod vacancy;
mod wild;

//! Stories about elections on etcd, told by hand: a core, and an etcd that says what the story
//! wants it to say.
//!
//! With `--cfg tenure_planted` only the stories of `planted` are run, twice each: with their rule
//! they pass, without it they must fail.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![cfg_attr(tenure_planted, allow(dead_code, reason = "not every story is about a rule"))]

mod campaign;
mod foreign;
mod leave;
mod observe;
#[cfg(tenure_planted)]
mod planted;
mod session;
mod stage;
mod terms;
mod troubles;

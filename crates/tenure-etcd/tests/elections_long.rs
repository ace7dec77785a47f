//! Elections whose point a slow machine may miss, or that need the machine to themselves.

#![expect(clippy::unwrap_used, reason = "it is a test")]

mod common;
#[path = "elections/silent.rs"]
mod silent;
#[path = "elections/storm.rs"]
mod storm;

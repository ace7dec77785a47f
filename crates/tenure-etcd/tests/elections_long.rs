//! Elections that a machine which is slow at the moment may miss the point of, or that leave it to
//! nobody else.

#![expect(clippy::unwrap_used, reason = "it is a test")]

mod common;
#[path = "elections/silent.rs"]
mod silent;
#[path = "elections/storm.rs"]
mod storm;

//! Tests of elections whose critical moment a slow machine may miss, or that need the machine for
//! themselves.

#![expect(clippy::unwrap_used, reason = "it is a test")]

mod common;
#[path = "elections/silent.rs"]
mod silent;
#[path = "elections/storm.rs"]
mod storm;

//! Requests of the core, one by one, on real servers of both versions.

#![expect(clippy::unwrap_used, reason = "it is a test")]

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod failures;
mod silent;
mod watches;

//! Users, certificates, and what `check` says of them.

#![expect(clippy::unwrap_used, reason = "it is a test")]

#[path = "../common/mod.rs"]
mod common;

mod certificates;
mod users;

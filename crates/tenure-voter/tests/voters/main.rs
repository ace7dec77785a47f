//! Voters of one process that elect over real HTTP on loopback, and requests of strangers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod common;
mod disk;
mod elects;
mod handles;
mod hostile;
mod operators;
mod protected;

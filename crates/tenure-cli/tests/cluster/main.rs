//! Real nodes whose members change, and a leader that leads on.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod members;
mod stage;

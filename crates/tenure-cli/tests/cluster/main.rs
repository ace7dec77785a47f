//! Real nodes whose members change while a leader keeps leading.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod founding;
mod members;
mod stage;

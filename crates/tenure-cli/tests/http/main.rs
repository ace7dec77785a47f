//! Answers over HTTP of real processes. The tests of each service have its own answers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/answers.rs"]
mod answers;
mod balancer;
mod inherited;
mod members;
mod node;
mod runner;
mod settings;

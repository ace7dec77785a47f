//! Answers over HTTP of real processes. Answers with another service are in the tests of that
//! service.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/answers.rs"]
mod answers;
mod balancer;
mod inherited;
mod members;
mod node;
mod runner;
mod settings;

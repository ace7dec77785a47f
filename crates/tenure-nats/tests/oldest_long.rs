//! The suite for the handles of every driver, on the oldest version.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod common;
#[path = "elections/handles.rs"]
mod handles;

tenure_testkit::handles!(handles::Nats::start(tenure_services::nats::Version::Oldest));

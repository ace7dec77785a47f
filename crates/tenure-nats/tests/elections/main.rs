//! Elections on real servers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod broadcasts;
mod clocks;
#[path = "../common/mod.rs"]
mod common;
mod few_callers;
mod handles;
mod hostile;
mod late;
mod serve_out;
mod servers;

tenure_testkit::handles!(handles::Nats::start(tenure_services::nats::Version::Newest));

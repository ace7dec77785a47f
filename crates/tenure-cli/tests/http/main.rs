//! Answers over HTTP of real processes, for every protocol that Rust alone builds. Each service has
//! such tests in its own program.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/asks.rs"]
#[allow(dead_code, reason = "tests of services use the rest")]
mod asks;
mod balancer;
mod members;
mod node;
mod runner;
mod settings;

use self::asks::{PATH, has_line, here, leads, promtool_accepts, state, text};

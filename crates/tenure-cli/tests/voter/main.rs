//! The command with regional voters: real processes on loopback, which find each other and elect.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/answers.rs"]
mod answers;
mod commands;
mod electorate;
mod http;
#[path = "../shared/machines.rs"]
mod machines;
mod network;
mod page;
mod regions;
mod starting;
mod trouble;

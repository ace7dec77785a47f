//! Commands as people and programs start them.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod clocks;
mod demo;
mod doctor;
mod edicts;
mod one_process;
mod quorums;
mod recover;
#[path = "../shared/silent_names.rs"]
mod silent_names;
mod simulate;
mod survivors;
mod weak;

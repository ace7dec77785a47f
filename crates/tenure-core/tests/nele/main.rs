//! Stories about leaders from partition ownership: a few processes, with a ledger, a coordinator
//! and clocks that do what the story wants.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod claiming;
mod contract;
mod conversations;
mod fencing;
mod leaving;
mod observing;
mod owning;
mod source;
mod stage;
mod topic;

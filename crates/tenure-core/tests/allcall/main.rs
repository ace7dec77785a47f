//! Stories about leased leaders on a bus: a few cores, with a bus, clocks and clients that do what
//! the story wants.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod asking;
mod batches;
mod bus;
mod clocks;
mod contract;
mod conversations;
mod ending;
mod joining;
mod leading;
mod observing;
mod source;
mod stage;

//! One test for each rule of our extensions, named after it (the module document has them).

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod directed;
mod fence;
mod identity;
mod inventory;
mod listing;
mod next;
mod orders;
mod parked;
mod restart;
mod sample;
#[path = "../story/mod.rs"]
mod story;
mod verification;
mod waiting;

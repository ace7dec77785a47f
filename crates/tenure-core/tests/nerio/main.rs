//! Nerio: the paper, our extensions, epochs, the contract of all cores, and conversations as text.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod contract;
mod conversations;
mod epochs;
mod extensions;
mod paper;
mod story;

//! The commands that only Nerio has.

pub mod ask;
pub mod demo;
pub mod edict;
pub mod keys;
pub(super) mod lines;
pub mod node;
pub mod order;
pub mod recover;
pub mod simulate;

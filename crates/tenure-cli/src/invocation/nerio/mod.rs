//! The commands that only Nerio has.

pub mod demo;
pub mod keys;
pub mod node;
pub mod recover;
pub mod simulate;

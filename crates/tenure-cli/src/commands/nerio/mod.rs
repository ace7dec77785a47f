//! The commands that only Nerio has.

pub(super) mod clear_breach;
pub(super) mod demo;
pub(super) mod edict;
mod gate_file;
pub(super) mod health;
pub(super) mod keys;
pub(super) mod lists;
pub(super) mod node;
pub(super) mod order;
pub(super) mod recover;
pub(super) mod simulate;
mod survivors;
pub(super) mod verify;
pub(super) mod wait_safe;

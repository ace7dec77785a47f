//! The smallest protocol that shares everything with the others, for tests. Never shipped.
//!
//! A leader tells all others so, once a beat, and until when in wall time. One that wants to lead
//! listens for three beats, and leads if it has heard nobody. One that hears a leader with a
//! smaller name gives way. So a partition has a leader on each side, until a beat after it heals:
//! leaders may overlap, and there are no fences.

mod core;
mod node;

pub use crate::core::{ALL, Beacon, Beat, Config, Words};
pub use crate::node::{Node, start};

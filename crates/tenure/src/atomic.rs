//! Atomics of the cell. A model checker of their interleavings replaces this module.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

//! Atomics of the cell. The model of its interleavings replaces this module.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

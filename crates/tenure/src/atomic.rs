//! Atomics of the cell, in a module of their own: a test replaces them with those of loom, a model
//! checker.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

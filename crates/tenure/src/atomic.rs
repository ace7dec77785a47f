//! What threads share. The model of the cell's interleavings puts its own in its place.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

//! Resources that refuse earlier leaders, by the fence of a leadership.
//!
//! A leader that stands still, or whose packets arrive late, may act after its lease. Each resource
//! here keeps the largest fence that it has seen, and compares the fence in the atomic step of the
//! write. The programs in `python/` do the same under `tenure run`, which sets `TENURE_FENCE`.

pub mod http;
pub mod postgres;
pub mod redis;
pub mod s3;

/// The refusal of a write, because a later leader has already written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Superseded;

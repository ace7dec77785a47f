//! Resources that refuse earlier leaders, by the fence of a leadership.
//!
//! A leader that stands still, or whose packets arrive late, may act after its lease. Each resource
//! here keeps the largest fence that it has seen, and compares it in the same atomic step as the
//! write. The programs in `python/` do the same under `tenure run`, which sets `TENURE_FENCE`.

pub mod http;
pub mod postgres;
pub mod redis;
pub mod s3;

/// The refusal of a write: a later leader has written before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Superseded;

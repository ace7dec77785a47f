//! The settings of a participant, checked before anything starts.
//!
//! | must be the same everywhere | because |
//! |---|---|
//! | `cluster` | packets of others are dropped |
//! | `heartbeat`, `lease`, `max_clock_skew` | others judge by them how late a claim may end; a newcomer with other times refuses to start |
//!
//! The rest may differ from process to process.

mod check;
mod error;
mod settings;
#[cfg(test)]
mod tests;

pub use check::{CallersError, Checked};
pub use error::{ConfigError, TooShort};
pub use settings::{Callers, Config, Limits, OnConflict};

//! The settings of a participant, checked before anything starts.
//!
//! | must be the same everywhere | because |
//! |---|---|
//! | `cluster` | packets of others are dropped |
//! | `heartbeat`, `lease`, `max_clock_skew` | others derive the end of a claim from them; a newcomer with other times refuses to start |
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

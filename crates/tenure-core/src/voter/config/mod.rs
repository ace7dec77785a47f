//! The settings of a voter, checked before anything starts.
//!
//! | must be the same everywhere | because |
//! |---|---|
//! | `election`, `mode` | voters refuse requests of other networks |
//! | `founding` | another set of voters is another network (V2) |
//!
//! The rest may differ from voter to voter: each answer contains its sender's promise and ρ.

mod check;
mod error;
mod settings;
#[cfg(test)]
mod tests;

pub use check::Checked;
pub use error::{ConfigError, ModeError, TooShort};
pub use settings::{Admission, Config, Founding, Listed, Mode};

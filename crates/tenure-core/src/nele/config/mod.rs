//! The settings of a process, checked before anything starts.
//!
//! | must be the same in a group | because |
//! |---|---|
//! | `election` | records of another election name no leaders of this one |
//! | `election`, `group`, `partitions` | they make the group id; a process that counts partitions in another way leads other roles |
//! | [`Terms`]: `mode` | a process that makes no claims ignores the claims of others |
//! | `takeover` and `drift`, in `at_most_one` | a claimant waits as long as an earlier leader may go on |
//! | `fence_base`, in `at_most_one` | a smaller base makes fences below earlier ones |
//!
//! The rest may differ from process to process. Each record holds its sender's terms, so that
//! others report a process with other terms, and wait for it.

mod check;
mod error;
mod fence;
mod proportions;
mod settings;
mod sums;
mod terms;
#[cfg(test)]
mod tests;

pub use check::Checked;
pub use error::{ConfigError, TooShort};
pub use proportions::Misfit;
pub use settings::{Config, Limits, Mode};
pub use sums::{Part, Sum};
pub use terms::Terms;

//! A process: a member of a group, with its partitions and its roles.
//!
//! Each file uses only files further to the left; [`emergence`](super::emergence) has the protocol:
//!
//! ```text
//! group, slots, observers, troubles < state < emergence < observed_leaders, changes
//!                                   < ledger_reports < input
//! ```

mod changes;
mod group;
mod input;
mod ledger_reports;
mod observed_leaders;
mod observers;
mod slots;
mod state;
mod troubles;

pub(super) use self::group::{Group, GroupPhase};
pub use self::state::Nele;

//! A process: a member of a group, with its partitions and its roles.
//!
//! Each file below uses only files above it in this table.
//!
//! | file | |
//! |---|---|
//! | `group.rs`, `slots.rs`, `observers.rs`, `troubles.rs` | membership; partitions; observers; reports of troubles |
//! | `state.rs` | `Nele`: its parts, and the calls into its partitions |
//! | [`emergence.rs`](super::emergence) | the protocol, from joining the group to leaving it |
//! | `observed_leaders.rs`, `changes.rs` | leaders, as observers see them; reports of changes |
//! | `ledger_reports.rs` | reports of the ledger, each to its place |
//! | `input.rs` | the contract: inputs, deadlines |

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

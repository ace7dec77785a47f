//! A process: a member of a group, with its partitions and its roles.
//!
//! Each file below uses only files above it in this table.
//!
//! | file | |
//! |---|---|
//! | `group.rs`, `slots.rs`, `sight.rs`, `reports.rs` | membership; partitions; observers; reports of troubles |
//! | `state.rs` | `Nele`: its parts, and the calls into its partitions |
//! | [`emergence.rs`](super::emergence) | the protocol, from joining the group to leaving it |
//! | `see.rs`, `tell.rs` | leaders, as observers see them; reports of changes |
//! | `hear.rs` | reports of the ledger, each to its place |
//! | `input.rs` | the contract: inputs, deadlines |

mod group;
mod hear;
mod input;
mod reports;
mod see;
mod sight;
mod slots;
mod state;
mod tell;

pub(super) use self::group::{Group, GroupPhase};
pub use self::state::Nele;

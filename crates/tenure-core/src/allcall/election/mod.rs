//! An election as one process sees it. The [algorithm](super::algorithm) is in a file of its own.
//!
//! Each file below uses only files above it in this table.
//!
//! | file | |
//! |---|---|
//! | `claims.rs` | claims of others: the time until which each is believed, and which of two leaders gives way |
//! | `doubts.rs`, `tombstones.rs`, `presence.rs` | leaders that others name; terms that ended early; candidates that are present |
//! | `campaign.rs` | this process's campaign: its lease, its claim |
//! | `state.rs` | `Election`: its parts, and the questions that need several of them |
//! | `precedence.rs`, `view.rs` | the order of candidates that wait, and those that call or answer; reports to the application |

mod campaign;
mod claims;
mod doubts;
mod precedence;
mod presence;
mod state;
mod tombstones;
mod view;

pub(super) use self::campaign::{Campaign, Lease, Phase, Release};
pub(super) use self::claims::{ClaimOrder, ClaimSource};
pub(super) use self::precedence::listening;
pub(super) use self::presence::Sign;
pub(super) use self::state::{Election, Vacancy, Voice};

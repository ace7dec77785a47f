//! A partition and its roles: their state, for the steps in [how leaders emerge](super::emergence).
//!
//! Each file below uses only files above it in this table.
//!
//! | file | |
//! |---|---|
//! | `claim.rs`, `campaign.rs` | the claim to a partition, and its evidence; a campaign for one role |
//! | `state.rs` | `Slot`: its parts, and the questions that need several of them |
//! | `waits.rs` | the reason why a campaign waits |

mod campaign;
mod claim;
mod state;
mod waits;

pub(super) use self::campaign::{Campaign, Phase};
pub(super) use self::claim::{Bid, HeldClaim};
pub(super) use self::state::{Hold, Slot};

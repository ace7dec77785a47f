//! A partition and its roles: their state, for the steps in [how leaders emerge](super::emergence).
//!
//! `waits` uses `state`, and `state` uses `claim` and `campaign`, never the other way.

mod campaign;
mod claim;
mod state;
mod waits;

pub(super) use self::campaign::{Campaign, Phase};
pub(super) use self::claim::{Bid, HeldClaim};
pub(super) use self::state::{Hold, Slot};

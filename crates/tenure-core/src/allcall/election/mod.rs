//! An election as one process sees it. The [algorithm](super::algorithm) is in a file of its own.
//!
//! Each file uses only files further to the left:
//!
//! ```text
//! claims < doubts, tombstones, presence < campaign < state < precedence, view
//! ```

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

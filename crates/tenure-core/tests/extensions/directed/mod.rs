//! The rules whose absence a random search does not find, or not soon: a story for each, by
//! theme. `planted` says which story is whose.

pub(crate) mod clocks;
pub(crate) mod disk;
pub(crate) mod fence;
pub(crate) mod founding;
pub(crate) mod identity;
pub(crate) mod maxima;
pub(crate) mod memories;
pub(crate) mod next;
pub(crate) mod observe;
pub(crate) mod orders;
pub(crate) mod parked;
#[cfg(not(tenure_planted))]
mod recover;
pub(crate) mod restart;
pub(crate) mod verification;
pub(crate) mod waiting;

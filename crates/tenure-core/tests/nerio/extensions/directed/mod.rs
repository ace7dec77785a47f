//! A story for each rule that takes a chain of events of its own to show, by theme.

mod clocks;
mod disk;
mod fence;
mod founding;
mod founding_document;
mod founding_rules;
mod identity;
mod maxima;
mod memories;
mod next;
mod observe;
pub(crate) mod orders;
mod parked;
mod recover;
mod restart;
mod verification;
mod waiting;

//! Promises of every protocol, one file each. A protocol gives their names and their limits: which
//! leaders may overlap, how late observers may be, who can lead at all.

mod at_most_one;
mod bounded_memory;
mod deadlines_pass;
mod events_come;
mod fences_grow;
mod handles_agree;
mod leader_in_the_end;
mod no_return;
mod observers;
mod stability;
#[cfg(test)]
mod tests;

pub use at_most_one::AtMostOne;
pub use bounded_memory::{BoundedMemory, Memory};
pub use deadlines_pass::DeadlinesPass;
pub use events_come::EventsCome;
pub use fences_grow::FencesGrow;
pub use handles_agree::HandlesAgree;
pub use leader_in_the_end::LeaderInTheEnd;
pub use no_return::NoReturn;
pub use observers::Observers;
pub use stability::Stability;

use super::{Check, Claim, Fact, PlanOf, Property, Scenario, seconds};
use crate::all;

/// A sentence, and where it is written.
pub type Sentence = (&'static str, &'static str);

/// All promises. The promises about fences and about the end of observers judge only protocols that
/// have such.
pub type All = all![
    AtMostOne,
    HandlesAgree,
    FencesGrow,
    NoReturn,
    Observers,
    Stability,
    LeaderInTheEnd,
    DeadlinesPass,
    BoundedMemory,
    EventsCome,
];

/// Names of the promises in a protocol, and where each is written.
#[derive(Clone, Copy, Debug)]
pub struct Sentences {
    /// [`AtMostOne`].
    pub at_most_one: Sentence,
    /// [`HandlesAgree`].
    pub handles_agree: Sentence,
    /// [`FencesGrow`].
    pub fences_grow: Sentence,
    /// [`NoReturn`].
    pub no_return: Sentence,
    /// [`Observers`].
    pub observers: Sentence,
    /// [`Stability`].
    pub stability: Sentence,
    /// [`LeaderInTheEnd`].
    pub leader_in_the_end: Sentence,
    /// [`DeadlinesPass`].
    pub deadlines_pass: Sentence,
    /// [`BoundedMemory`].
    pub bounded_memory: Sentence,
    /// [`EventsCome`].
    pub events_come: Sentence,
}

impl Sentences {
    /// Names of the promises, unless a protocol has its own.
    pub const NAMED: Self = Self {
        at_most_one: ("At most one leader", "the promise"),
        handles_agree: ("Handle and core agree", "the contract"),
        fences_grow: ("Fences strictly grow and are unique", "the promise"),
        no_return: ("A claim that has lapsed does not return", "the contract, duty 6"),
        observers: ("Observers see what is", "the promise"),
        stability: ("A leader stays when nothing goes wrong", "the promise"),
        leader_in_the_end: ("Every election has a leader in the end", "the promise"),
        deadlines_pass: ("No deadline stays in the past", "the contract"),
        bounded_memory: ("Memory is bounded", "the contract"),
        events_come: ("Handles get the events that they wait for", "the events"),
    };
}

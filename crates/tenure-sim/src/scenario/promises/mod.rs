//! Promises of every protocol, one file each. A protocol sets their names and their limits: which
//! leaders may overlap, how late observers may be, which nodes can lead.

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

/// A sentence, and the text that states it.
pub type Sentence = (&'static str, &'static str);

/// All promises. The promises about fences and about the end of observers apply only to protocols
/// with fences and with such an end.
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

/// Names of the promises in a protocol, and the texts that state them.
#[derive(Clone, Copy, Debug)]
pub struct Sentences {
    pub at_most_one: Sentence,
    pub handles_agree: Sentence,
    pub fences_grow: Sentence,
    pub no_return: Sentence,
    pub observers: Sentence,
    pub stability: Sentence,
    pub leader_in_the_end: Sentence,
    pub deadlines_pass: Sentence,
    pub bounded_memory: Sentence,
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

//! The topic: makes it as the protocol needs it, or checks it and reports all faults at once
//! (ruling 6 of [`tenure_core::nele`]).

mod checks;
mod query;

pub use checks::{Found, Needs, Wrong, WrongTopic};
pub(crate) use query::{ANSWER, Tell, ensure_aloud, id, shape};
pub use query::{Made, TopicError, ensure};

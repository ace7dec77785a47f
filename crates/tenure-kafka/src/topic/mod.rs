//! The topic: made as the protocol needs it, or checked, with all faults at once (ruling 6).

mod checks;
mod look;

pub use checks::{Found, Needs, Wrong, WrongTopic};
pub(crate) use look::{ANSWER, Tell, ensure_aloud, id, shape};
pub use look::{Made, TopicError, ensure};

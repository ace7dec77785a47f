//! The topic: made with what the protocol needs, or looked at, with everything that is wrong told
//! at once (ruling 6).

mod checks;
mod look;

pub use checks::{Found, Needs, Wrong, WrongTopic};
pub(crate) use look::{ANSWER, Tell, ensure_aloud, id, shape};
pub use look::{Made, TopicError, ensure};

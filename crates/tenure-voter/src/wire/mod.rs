//! Messages of voters over HTTP: JSON that a person with `curl` can read and write.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /register` | VoterDto | 200 StatusDto |
//! | `POST /remove` | `{voterId, reason}` | 204 |
//! | `GET /status`, `GET /status?suspect=ID` | | 200 StatusDto |
//! | `POST /heartbeat` | `{seq, sender, knownVoters, lease, certificate: null}` | 200 `{seq, promise, refused, leader, freeNs}` |
//! | `POST /reconcile` | `{knownVoters}` | 204 |
//! | `POST /election/start` | | 202 `{ballot}` |
//! | `POST /election/cast` | VoteDto | 200 VoteDto |
//! | `POST /election/result` | ElectionDto | 200 `{open}` |
//! | `GET /election/result` | | 200 ElectionDto |
//! | `POST /election/certify` | ElectionDto | 200 ElectionDto |
//! | the same, of a new leader | a heartbeat with its `certificate` | 200 as of a heartbeat |
//! | `POST /election/release` | `{leader, ballot}` | 204 |
//! | `POST /electorate` | `{add: ID}` or `{remove: ID}` | 204 |
//! | `GET /openapi.json` | | 200 all of this, field by field |
//!
//! Paths are below the `voter-url`. The sender and its network are in [headers](Head). The answer
//! to a refused request is [problem details](Problem). Spans are whole nanoseconds. Identities,
//! incarnations and fingerprints have 32 hexadecimal digits. A vote is any whole number of 64 bits
//! with a sign, as a number or a string. Unknown fields are ignored. A body has at most
//! [`BODY_BYTES_MAX`] bytes.

mod form;
mod head;
mod problem;
mod route;
#[cfg(test)]
mod tests;
mod voter_list;

use std::sync::Arc;

pub use self::head::Head;
pub(crate) use self::head::names;
pub use self::problem::{PROBLEM, Problem};
pub(crate) use self::route::{Outgoing, Route, read_answer, write_answer};
pub use self::voter_list::read_voter_list;

/// The maximum number of bytes of a body. A heartbeat of 256 voters with URLs of 256 bytes, and a
/// certificate of 64, has less than 160 KiB.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// The reason why a document cannot be read, or makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unread(Arc<str>);

impl Unread {
    fn new(why: impl Into<Arc<str>>) -> Self {
        Self(why.into())
    }
}

impl From<serde_json::Error> for Unread {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

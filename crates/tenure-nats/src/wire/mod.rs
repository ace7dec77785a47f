//! How packets are written: JSON that people can read with `nats sub 'tenure.*.*'`.
//!
//! A packet is one object, at most [`PACKET_BYTES_MAX`] bytes, published on the subject of its
//! [kind](crate::Kind). The example has line breaks, which a packet has not:
//!
//! ```json
//! {"v":1,"cluster":"prod","from":"web-1~0123456789abcdef0123456789abcdef","rank":5,
//!  "tie":"00000000000000000000000000000000","sent":"2026-05-01T12:00:00.250000000Z",
//!  "heartbeat":"1s","lease":"10s","skew":"1s","established":true,
//!  "call":{"round":7,"part":0,"of":1,"entries":[
//!   {"election":"billing","eligible":true,"digest":"89abcdef",
//!    "claim":{"leader":"web-1~0123456789abcdef0123456789abcdef","rank":5,
//!     "tie":"00000000000000000000000000000000","term":3,
//!     "until":"2026-05-01T12:00:10.250000000Z","value":"10.0.0.7:8080"},
//!    "ended":[{"leader":"web-2~fedcba9876543210fedcba9876543210","term":1,
//!     "until":"2026-05-01T12:00:02.000000000Z","to":"web-1~0123456789abcdef0123456789abcdef"}]}]}}
//! ```
//!
//! | field | is | in |
//! |---|---|---|
//! | `v` | the version, 1 | every packet |
//! | `cluster` | the cluster | |
//! | `from` | the sender: its name, `~`, and its incarnation in 32 hexadecimal digits | |
//! | `rank`, `tie` | its rank: the number, and the tie-break in 32 hexadecimal digits | |
//! | `sent` | its wall clock when it sent this, in UTC with nine decimals | |
//! | `heartbeat`, `lease`, `skew` | its times, as `1s` or `1s 500ms` | |
//! | `established` | whether it has taken part for longer than its first initial wait | |
//! | one of `ask`, `call`, `reply`, `resign` | the content; the subject must be that of the same kind | |
//! | `round`, `part`, `of` | the sender's round; the part of a batch, from 0, and the number of parts | `ask`, `call` |
//! | `elections` | names | `ask` |
//! | `answers` | answered calls and questions: `caller`, written as `from`, and its `round` | `reply` |
//! | `entries` | one object for each election | `call`, `reply` |
//! | `election`, `eligible`, `digest` | the name; whether the sender could lead; a hash of the claim that it follows, in 8 digits | an entry |
//! | `claim` | left out, or the leader's claim: `leader`, its `rank` and `tie`, `term`, `until` (E), its `value` | an entry |
//! | `ended` | left out, or leaderships that are over: `leader`, `term`, the `until` of its claim, and `to` for the successor, if it named one | an entry, `resign` |
//!
//! In a `resign`, each object of `ended` has its `election` too. A reader [drops](Unread) the whole
//! packet if a field comes twice or is unknown, or if a list is longer than
//! [`tenure_core::allcall`] allows.
//!
//! [`PACKET_BYTES_MAX`]: tenure_core::allcall::PACKET_BYTES_MAX

mod fields;
mod form;
#[cfg(test)]
mod tests;

use tenure_core::allcall::{PACKET_BYTES_MAX, Packet, VERSION};

use self::form::Form;
use crate::subject::Kind;

/// The reason why a message is no packet. Each reason has a counter, and no message is logged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unread {
    TooLarge,
    /// The message is on a foreign subject, or on the subject of another kind. A client with the
    /// right to publish only questions must not be able to publish claims.
    Subject,
    /// The packet has another version, of newer participants.
    Version,
    /// Any other defect.
    Malformed,
}

impl Unread {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Subject => "subject",
            Self::Version => "version",
            Self::Malformed => "unreadable",
        }
    }
}

#[must_use]
pub fn write(packet: &Packet) -> Vec<u8> {
    // Writing to memory cannot fail, and all keys are text.
    serde_json::to_vec(&Form::of(packet)).unwrap_or_default()
}

/// The packet that was published on the subject of this kind.
///
/// # Errors
///
/// When the message is no packet, or of another kind.
pub fn read(kind: Kind, payload: &[u8]) -> Result<Packet, Unread> {
    if payload.len() > PACKET_BYTES_MAX {
        return Err(Unread::TooLarge);
    }
    let form: Form = serde_json::from_slice(payload).map_err(|_| why(payload))?;
    if form.v != VERSION {
        return Err(Unread::Version);
    }
    let packet = form.packet().ok_or(Unread::Malformed)?;
    if Kind::of(&packet.body) == kind { Ok(packet) } else { Err(Unread::Subject) }
}

/// The reason why a message is no packet. A packet of another version may have other fields, and is
/// no garbage.
fn why(payload: &[u8]) -> Unread {
    #[derive(serde::Deserialize)]
    struct Any {
        v: u32,
    }
    match serde_json::from_slice(payload) {
        Ok(Any { v }) if v != VERSION => Unread::Version,
        _ => Unread::Malformed,
    }
}

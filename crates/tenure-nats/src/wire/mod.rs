//! How packets are written: JSON that people can read with `nats sub 'tenure.*.*'`.
//!
//! A packet is one object, at most [`PACKET_BYTES_MAX`] bytes, published on the subject of its
//! [kind](crate::Kind). Shown with line breaks, which a packet has none of:
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
//! | `heartbeat`, `lease`, `skew` | the times it goes by, as `1s` or `1s 500ms` | |
//! | `established` | whether it has taken part for longer than its first initial wait | |
//! | one of `ask`, `call`, `reply`, `resign` | what it says; the subject must be that of the same kind | |
//! | `round`, `part`, `of` | the sender's round; which part of a batch, from 0, of how many | `ask`, `call` |
//! | `elections` | names | `ask` |
//! | `answers` | what is answered: `caller`, written as `from`, and its `round` | `reply` |
//! | `entries` | one object for each election | `call`, `reply` |
//! | `election`, `eligible`, `digest` | the name; whether the sender could lead; a hash of the claim that it follows, in 8 digits | an entry |
//! | `claim` | left out, or who leads: `leader`, its `rank` and `tie`, `term`, `until` when (E), its `value` | an entry |
//! | `ended` | left out, or leaderships that are over: `leader`, `term`, the `until` of its claim, and `to` whom it handed over, or no `to` | an entry, `resign` |
//!
//! In a `resign`, each object of `ended` has its `election` too. No field comes twice, none is
//! unknown, and no list is longer than [`tenure_core::allcall`] allows; a packet that is written in
//! another way is [dropped](Unread) as a whole.
//!
//! [`PACKET_BYTES_MAX`]: tenure_core::allcall::PACKET_BYTES_MAX

mod fields;
mod form;
#[cfg(test)]
mod tests;

use tenure_core::allcall::{PACKET_BYTES_MAX, Packet, VERSION};

use self::form::Form;
use crate::subject::Kind;

/// Why what came in is no packet. Each is counted; none is worth a line of a log for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unread {
    TooLarge,
    /// Not on a subject of ours, or on that of another kind: whoever may publish questions only
    /// must not be able to publish claims.
    Subject,
    /// Another version, which newer participants may speak.
    Version,
    /// Anything else.
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

/// The bytes of a packet.
#[must_use]
pub fn write(packet: &Packet) -> Vec<u8> {
    // Writing to memory cannot fail, and no key is anything but text.
    serde_json::to_vec(&Form::of(packet)).unwrap_or_default()
}

/// The packet that was published on the subject of this kind.
///
/// # Errors
///
/// When it is none, or of another kind.
pub fn read(kind: Kind, payload: &[u8]) -> Result<Packet, Unread> {
    if payload.len() > PACKET_BYTES_MAX {
        return Err(Unread::TooLarge);
    }
    let form: Form<'_> = serde_json::from_slice(payload).map_err(|_| why(payload))?;
    if form.v != VERSION {
        return Err(Unread::Version);
    }
    let packet = form.packet().ok_or(Unread::Malformed)?;
    if Kind::of(&packet.body) == kind { Ok(packet) } else { Err(Unread::Subject) }
}

/// Another version may have other fields, and is told from nonsense all the same.
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

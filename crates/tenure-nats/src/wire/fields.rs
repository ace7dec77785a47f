//! Fields without a type in JSON.

use std::fmt::{self, LowerHex};
use std::time::{Duration, SystemTime};

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::allcall::Participant;
use tenure_core::{NodeName, WallTime};

/// A number in all its hexadecimal digits.
pub(super) struct Hex<T>(pub(super) T);

/// `NAME~INCARNATION`.
pub(super) struct ParticipantField(pub(super) Participant);

pub(super) struct Instant(pub(super) WallTime);

/// A span, such as `1s 500ms`.
pub(super) struct Span(pub(super) Duration);

impl<T: LowerHex> Serialize for Hex<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let width = size_of::<T>() * 2;
        serializer.collect_str(&format_args!("{:0width$x}", self.0))
    }
}

impl Serialize for ParticipantField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Participant { id, incarnation } = &self.0;
        serializer.collect_str(&format_args!("{id}~{incarnation:032x}"))
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.0.as_nanos());
        serializer.collect_str(&humantime::format_rfc3339_nanos(at))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

struct TextVisitor<T>(fn(&str) -> Option<T>, &'static str);

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        self.0(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Exactly `count` digits, of lower case: each number has one form.
fn digits(text: &str, count: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let right = text.len() == count && text.bytes().all(is_digit);
    right.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl<'de> Deserialize<'de> for Hex<u128> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| digits(text, 32).map(Self);
        deserializer.deserialize_str(TextVisitor(read, "32 hexadecimal digits"))
    }
}

impl<'de> Deserialize<'de> for Hex<u32> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| digits(text, 8)?.try_into().ok().map(Self);
        deserializer.deserialize_str(TextVisitor(read, "8 hexadecimal digits"))
    }
}

impl<'de> Deserialize<'de> for ParticipantField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| {
            let (id, incarnation) = text.split_once('~')?;
            let incarnation = digits(incarnation, 32)?;
            Some(Self(Participant { id: NodeName::new(id).ok()?, incarnation }))
        };
        deserializer.deserialize_str(TextVisitor(read, "NAME~INCARNATION"))
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| {
            let at = humantime::parse_rfc3339(text).ok()?;
            let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            let nanos = since.as_nanos().try_into().ok()?;
            Some(Self(WallTime::from_nanos(nanos)))
        };
        deserializer.deserialize_str(TextVisitor(read, "an instant in UTC"))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| humantime::parse_duration(text).ok().map(Self);
        deserializer.deserialize_str(TextVisitor(read, "a span as 1s 500ms"))
    }
}

//! Fields without a type in JSON.

/// A number in 32 hexadecimal digits: identities, incarnations, fingerprints.
pub(super) mod hex {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::wire) fn serialize<S: Serializer>(
        number: &u128,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:032x}"))
    }

    pub(in crate::wire) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<u128, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        parse(&text).ok_or_else(|| D::Error::custom("expected 32 hexadecimal digits"))
    }

    /// Exactly 32 digits.
    pub(in crate::wire) fn parse(text: &str) -> Option<u128> {
        let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits)
    }
}

/// A span in nanoseconds, rounded down: no promise is read as a longer one.
pub(super) mod nanos {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::wire) fn serialize<S: Serializer>(
        span: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_u64(whole(*span))
    }

    pub(in crate::wire) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }

    pub(in crate::wire) fn whole(span: Duration) -> u64 {
        u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A drawn 64-bit signed number, or `null`. The number is written as a number. Strings are read,
/// too, because many readers of JSON lose digits beyond 2⁵³.
pub(super) mod vote {
    use std::fmt;

    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserializer, Serializer};

    pub(in crate::wire) fn serialize<S: Serializer>(
        vote: &Option<i64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match vote {
            Some(vote) => to.serialize_i64(*vote),
            None => to.serialize_none(),
        }
    }

    pub(in crate::wire) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<i64>, D::Error> {
        from.deserialize_any(Number)
    }

    struct Number;

    impl Visitor<'_> for Number {
        type Value = Option<i64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a vote: a whole number of 64 bits with a sign, as a number or a string")
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Option<i64>, E> {
            Ok(Some(number))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Option<i64>, E> {
            let beyond = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
            i64::try_from(number).map(Some).map_err(beyond)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<i64>, E> {
            text.parse().map(Some).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }

        fn visit_unit<E: Error>(self) -> Result<Option<i64>, E> {
            Ok(None)
        }
    }
}

/// Values that are written as text and parsed from text.
pub(super) mod text {
    use std::borrow::Cow;
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::wire) fn serialize<T: Display, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(in crate::wire) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        Cow::<str>::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

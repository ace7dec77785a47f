//! The value of a leader, as others read it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use crate::name::Value;

/// The value that a leader shows to others, such as its address: any bytes of any length. A store
/// accepts such values from other programs.
///
/// A clone shares the bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LeaderValue(Arc<[u8]>);

impl LeaderValue {
    /// The bytes as they are.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value as text, with U+FFFD in place of bytes that are not UTF-8. The text may hold
    /// control characters: where these could do harm, as on a terminal, use `Display`, which
    /// escapes them.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&[u8]> for LeaderValue {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Vec<u8>> for LeaderValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<Arc<[u8]>> for LeaderValue {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(bytes)
    }
}

impl From<Value> for LeaderValue {
    fn from(value: Value) -> Self {
        Self(Arc::<str>::from(value).into())
    }
}

impl fmt::Display for LeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.text().chars() {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for LeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text(), f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn values_print_any_bytes() {
        let bytes = b"10.0.0.7\x1b[2J\n\xff";
        let value = LeaderValue::from(&bytes[..]);
        assert_eq!(value.as_bytes(), bytes);
        assert_eq!(value.text(), "10.0.0.7\u{1b}[2J\n\u{fffd}");
        assert_eq!(value.to_string(), "10.0.0.7\\u{1b}[2J\\n\u{fffd}");
        let own = Value::new("größer").unwrap();
        assert_eq!(LeaderValue::from(own).to_string(), "größer");
    }
}

//! Values of settings for any protocol. The command `tenure` uses the same readers.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// The reason why a text is no span of time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DurationError {
    #[error("the value is empty")]
    Empty,
    #[error("a span of time cannot be negative")]
    Negative,
    #[error("the unit is missing")]
    NoUnit,
    #[error("the unit {0:?} is unknown")]
    Unit(String),
    #[error("the number is too large, or finer than a nanosecond")]
    Overflow,
    #[error("a number with a unit is expected")]
    Form,
}

impl DurationError {
    /// The remedy for each of these errors.
    pub const FIX: &str = "write a number and a unit, such as 500ms, 5s or 2m";
}

/// Reads a number with a unit, or several: `500ms`, `5s`, `1m 30s`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(tenure::settings::duration("1m 30s")?, Duration::from_secs(90));
/// assert_eq!(tenure::settings::duration("5").unwrap_err().to_string(), "the unit is missing");
/// # Ok::<(), tenure::settings::DurationError>(())
/// ```
pub fn duration(text: &str) -> Result<Duration, DurationError> {
    use humantime::DurationError as Theirs;
    if text.trim_start().starts_with('-') {
        return Err(DurationError::Negative);
    }
    humantime::parse_duration(text).map_err(|error| match error {
        Theirs::Empty => DurationError::Empty,
        Theirs::UnknownUnit { unit, .. } if unit.is_empty() => DurationError::NoUnit,
        Theirs::UnknownUnit { unit, .. } => DurationError::Unit(unit),
        Theirs::NumberOverflow => DurationError::Overflow,
        Theirs::InvalidCharacter(_) | Theirs::NumberExpected(_) => DurationError::Form,
    })
}

const MARK: char = '\u{feff}';

/// The text without a byte order mark, which some editors write at the head of a file. No reader
/// sees the mark, but it would change a password or a name.
#[must_use]
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Reads at most 65,536 bytes of the file at `path`, [without the mark](without_mark).
pub fn read_text(path: &Path) -> io::Result<String> {
    const BYTES_MAX: u64 = 65_536;
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(without_mark(&text).to_owned())
}

/// Checks whether `text` can be a secret on one line, such as a password.
pub fn check_line(text: &str) -> Result<(), &'static str> {
    match text {
        "" => Err("is empty"),
        text if text.contains(char::is_control) => {
            Err("holds a control character, such as the end of a line")
        }
        _ => Ok(()),
    }
}

/// A small file that may hold a secret, with its mode.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Content, without a byte order mark.
    pub bytes: Vec<u8>,
    /// The mode bits of the file.
    pub mode: u32,
}

impl std::fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretFile").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl SecretFile {
    /// The maximum number of bytes of a secret file.
    const BYTES_MAX: u64 = 4_096;
    /// The mode bits for reading by every user, or writing by others than the owner. A group may
    /// read: services get files in this way.
    const FOR_OTHERS: u32 = 0o026;

    /// Reads the file at `path`, at most 4,096 bytes, [without the mark](without_mark). The error
    /// says why the file cannot be used.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let mut mode = 0;
        File::open(path)
            .and_then(|file| {
                mode = file.metadata()?.permissions().mode() & 0o7777;
                file.take(Self::BYTES_MAX + 1).read_to_end(&mut bytes)
            })
            .map_err(|error| format!("cannot be read: {error}"))?;
        if bytes.len() as u64 > Self::BYTES_MAX {
            return Err(format!("has more than {} bytes", Self::BYTES_MAX));
        }
        if bytes.starts_with(MARK.encode_utf8(&mut [0; 3]).as_bytes()) {
            bytes.drain(..MARK.len_utf8());
        }
        Ok(Self { bytes, mode })
    }

    /// Returns the only line, without the line end that editors add, or an error.
    pub fn line(self) -> Result<String, String> {
        let text = String::from_utf8(self.bytes).map_err(|_| "is not UTF-8".to_owned())?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        check_line(line)?;
        Ok(line.to_owned())
    }

    /// Whether a file of this mode can be read by every user, or written by another than its owner.
    #[must_use]
    pub const fn is_open(mode: u32) -> bool {
        mode & Self::FOR_OTHERS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_their_unit() {
        let said = |text: &str| duration(text).unwrap_err().to_string();
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(said("5 parsecs"), "the unit \"parsecs\" is unknown");
        assert_eq!(said("-5s"), "a span of time cannot be negative");
        assert_eq!(said(""), "the value is empty");
        assert_eq!(
            said("99999999999999999999y"),
            "the number is too large, or finer than a nanosecond"
        );
        assert_eq!(said("five"), "a number with a unit is expected");
    }

    #[test]
    fn byte_order_marks_are_skipped() {
        assert_eq!(without_mark("\u{feff}\u{feff}a"), "\u{feff}a");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "\u{feff}hunter2\n").unwrap();
        assert_eq!(SecretFile::read(&path).unwrap().bytes, b"hunter2\n");
        assert_eq!(read_text(&path).unwrap(), "hunter2\n");
    }

    #[test]
    fn secret_file_is_small_and_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "hunter2").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let file = SecretFile::read(&path).unwrap();
        assert_eq!((file.bytes.as_slice(), file.mode), (&b"hunter2"[..], 0o640));
        assert!(!format!("{file:?}").contains("hunter2") && !SecretFile::is_open(file.mode));
        assert!(SecretFile::is_open(0o644) && SecretFile::is_open(0o620));
        assert_eq!(file.line().unwrap(), "hunter2");
        std::fs::write(&path, vec![b'x'; 5_000]).unwrap();
        assert_eq!(SecretFile::read(&path).unwrap_err(), "has more than 4096 bytes");
    }
}

//! The head of every file of a state directory: its kind, format, length and checksum.
//!
//! ```text
//! magic 8 | format u32 | length u32 | body | crc32 of all before     (little endian)
//! ```
//! All formats keep this layout, so that a reader can tell a newer format from damage.

use std::path::Path;

use super::error::{Damage, Found, StateError};

/// The mark of one kind of file, and the number of its only valid format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    pub magic: [u8; 8],
    /// The number of the format. Raise it when the layout changes. Each kind of file should have a
    /// test that compares its bytes with an expected text, so that no change goes unnoticed.
    pub number: u32,
}

const HEAD: usize = 16;
const CRC: usize = 4;

/// The reason why bytes are not a sealed file.
#[derive(Debug)]
pub enum Refusal {
    /// The bytes belong to another program.
    Foreign(Found),
    /// This release cannot read this format.
    Format(u32),
    Damaged(Damage),
}

impl Refusal {
    /// The error for the file `path` of this format; `relearn` as in
    /// [`Layout`](super::Layout::relearn).
    #[must_use]
    pub fn at(self, path: &Path, format: Format, relearn: &'static str) -> StateError {
        let path = path.to_owned();
        match self {
            Self::Foreign(found) => StateError::ForeignFile { path, found },
            Self::Format(found) => StateError::Version { path, found, known: format.number },
            Self::Damaged(damage) => StateError::Damaged { path, damage, relearn },
        }
    }
}

impl Format {
    /// A file with this body: head, body and checksum.
    #[must_use]
    pub fn seal(&self, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEAD + body.len() + CRC);
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Returns the body at the beginning of `bytes`, and the number of bytes that the file takes.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], usize), Refusal> {
        let magic = &self.magic;
        let common = bytes.len().min(magic.len());
        if bytes[..common] != magic[..common] {
            let begins = bytes[..common].escape_ascii().to_string();
            return Err(Refusal::Foreign(Found::Begins(begins)));
        }
        let damaged = |expected: usize| {
            let bytes = bytes.len() as u64;
            let expected = expected as u64;
            Refusal::Damaged(Damage::Length { bytes, expected })
        };
        let (Some(format), Some(length)) = (word(bytes, 8), word(bytes, 12)) else {
            return Err(damaged(HEAD + CRC));
        };
        let end = HEAD.saturating_add(length as usize);
        let Some(stored) = word(bytes, end) else {
            return Err(damaged(end.saturating_add(CRC)));
        };
        let computed = crc32fast::hash(&bytes[..end]);
        if stored != computed {
            return Err(Refusal::Damaged(Damage::Checksum { stored, computed }));
        }
        if format != self.number {
            return Err(Refusal::Format(format));
        }
        Ok((&bytes[HEAD..end], end + CRC))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { magic: *b"\x89TENUREt", number: 2 };

    #[test]
    fn sealed_text_opens() {
        let mut bytes = FORMAT.seal(b"body");
        assert_eq!(bytes.len(), HEAD + 4 + CRC);
        bytes.extend_from_slice(b"more");
        let (body, took) = FORMAT.open(&bytes).unwrap();
        assert_eq!((body, took), (&b"body"[..], HEAD + 4 + CRC));
    }

    #[test]
    fn changed_or_missing_byte_is_damage() {
        let good = FORMAT.seal(b"body");
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            match FORMAT.open(&bad) {
                Err(Refusal::Foreign(_)) => assert!(bit < 64, "bit {bit}"),
                Err(Refusal::Damaged(_)) => assert!(bit >= 64, "bit {bit}"),
                other => panic!("bit {bit}: {other:?}"),
            }
        }
        for length in 0..good.len() {
            let result = FORMAT.open(&good[..length]);
            assert!(
                matches!(result, Err(Refusal::Damaged(Damage::Length { .. }))),
                "length {length}: {result:?}"
            );
        }
    }

    #[test]
    fn other_format_is_not_damage() {
        let sealed = |number| Format { number, ..FORMAT }.seal(b"?");
        assert!(matches!(FORMAT.open(&sealed(3)), Err(Refusal::Format(3))));
        assert!(matches!(FORMAT.open(&sealed(1)), Err(Refusal::Format(1))));
        let mut bad = sealed(3);
        bad[HEAD] ^= 1;
        assert!(matches!(FORMAT.open(&bad), Err(Refusal::Damaged(Damage::Checksum { .. }))));
    }
}

//! How every file of a state directory begins: what it is, which format, how long, and unharmed.
//!
//! ```text
//! magic 8 | format u32 | length u32 | body | crc32 of all before     (little endian)
//! ```
//! This much stays the same in every format, so that a newer one is told from a damaged one.

use super::error::{Damage, Found, StateError};
use std::path::Path;

/// The format of all files. Raise it when the layout of a record changes; a test holds the bytes.
///
/// Format 1 knew no announced fence in a grant. It is read, and written anew as format 2.
pub(super) const FORMAT: u32 = 2;
/// The oldest format that is read.
pub(super) const OLDEST: u32 = 1;

const HEAD: usize = 16;
const CRC: usize = 4;

/// Why bytes are not what was sealed.
#[derive(Debug)]
pub(super) enum Refusal {
    Foreign(Found),
    Format(u32),
    Damaged(Damage),
}

impl Refusal {
    pub(super) fn at(self, path: &Path) -> StateError {
        let path = path.to_owned();
        match self {
            Self::Foreign(found) => StateError::ForeignFile { path, found },
            Self::Format(found) => {
                StateError::Version { path, found, oldest: OLDEST, known: FORMAT }
            }
            Self::Damaged(damage) => StateError::Damaged { path, damage },
        }
    }
}

pub(super) fn seal(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    seal_as(FORMAT, magic, body)
}

pub(super) fn seal_as(format: u32, magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEAD + body.len() + CRC);
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&format.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// The body of what `bytes` begin with, and how many of them it took.
pub(super) fn open<'a>(magic: &[u8; 8], bytes: &'a [u8]) -> Result<(&'a [u8], usize), Refusal> {
    let common = bytes.len().min(magic.len());
    if bytes[..common] != magic[..common] {
        let begins = bytes[..common].escape_ascii().to_string();
        return Err(Refusal::Foreign(Found::Begins(begins)));
    }
    let damaged = |expected: usize| {
        let (bytes, expected) = (bytes.len() as u64, expected as u64);
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
    if !(OLDEST..=FORMAT).contains(&format) {
        return Err(Refusal::Format(format));
    }
    Ok((&bytes[HEAD..end], end + CRC))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const MAGIC: &[u8; 8] = b"\x89TENUREt";

    /// A file as a later release would write it.
    pub(in crate::state) fn newer(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
        seal_as(FORMAT + 1, magic, body)
    }

    #[test]
    fn what_was_sealed_opens() {
        let mut bytes = seal(MAGIC, b"body");
        assert_eq!(bytes.len(), HEAD + 4 + CRC);
        bytes.extend_from_slice(b"more");
        let (body, took) = open(MAGIC, &bytes).unwrap();
        assert_eq!((body, took), (&b"body"[..], HEAD + 4 + CRC));
    }

    #[test]
    fn any_flipped_bit_and_any_missing_byte_is_seen() {
        let good = seal(MAGIC, b"body");
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            match open(MAGIC, &bad) {
                Err(Refusal::Foreign(_)) => assert!(bit < 64, "bit {bit}"),
                Err(Refusal::Damaged(_)) => assert!(bit >= 64, "bit {bit}"),
                other => panic!("bit {bit}: {other:?}"),
            }
        }
        for length in 0..good.len() {
            let result = open(MAGIC, &good[..length]);
            assert!(
                matches!(result, Err(Refusal::Damaged(Damage::Length { .. }))),
                "length {length}: {result:?}"
            );
        }
    }

    #[test]
    fn a_newer_format_is_told_from_a_damaged_one() {
        assert!(matches!(open(MAGIC, &newer(MAGIC, b"?")), Err(Refusal::Format(3))));
        let older = seal_as(OLDEST - 1, MAGIC, b"?");
        assert!(matches!(open(MAGIC, &older), Err(Refusal::Format(0))));
        assert!(open(MAGIC, &seal_as(OLDEST, MAGIC, b"?")).is_ok());
        let mut bad = newer(MAGIC, b"?");
        bad[HEAD] ^= 1;
        assert!(matches!(open(MAGIC, &bad), Err(Refusal::Damaged(Damage::Checksum { .. }))));
    }
}

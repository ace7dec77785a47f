//! Documents on the wire: the question for a part, the part, and a reader of all parts.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::identity::Inc;
use super::{Document, EpochId};
use crate::time::Time;

/// A question for a part of a document.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct DocumentRead {
    /// Time of the question on the asker's clock.
    pub start: Time,
    /// Epoch of the document.
    pub epoch: EpochId,
    /// First byte of the part.
    pub offset: u32,
}

/// A part of a document: the answer to [`DocumentRead`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct DocumentPart {
    /// Incarnation that asked.
    pub asker: Inc,
    /// Start of the question.
    pub start: Time,
    pub epoch: EpochId,
    pub offset: u32,
    /// Bytes of the whole document.
    pub total: u32,
    pub bytes: Vec<u8>,
}

impl DocumentPart {
    /// Maximum number of bytes of a document in one part: an answer is at most four times as long
    /// as its question.
    pub const BYTES_MAX: usize = 900;
}

impl Document {
    /// The bytes that nodes send and keep; `None` for a document that is too long for both.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        // Cannot fail: the output grows, and every type here serializes.
        let bytes = postcard::to_extend(self, Vec::new()).ok()?;
        (bytes.len() <= Self::BYTES_MAX).then_some(bytes)
    }

    /// Reads a document from its bytes, without a [check](Self::check).
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match postcard::take_from_bytes(bytes) {
            Ok((document, [])) => Some(document),
            _ => None,
        }
    }

    /// The part for which `read` asks, for the incarnation `asker`; `None` beyond the end, and for
    /// a document that is too long to be sent.
    pub(in crate::nerio) fn part(&self, read: &DocumentRead, asker: Inc) -> Option<DocumentPart> {
        let all = self.encode()?;
        let rest = all.get(usize::try_from(read.offset).ok()?..)?;
        let bytes = &rest[..rest.len().min(DocumentPart::BYTES_MAX)];
        (!bytes.is_empty()).then(|| DocumentPart {
            asker,
            start: read.start,
            epoch: read.epoch,
            offset: read.offset,
            total: u32::try_from(all.len()).unwrap_or(u32::MAX),
            bytes: bytes.to_vec(),
        })
    }
}

/// A reader of one document, part by part. The reader has no clock: its caller repeats the
/// question.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DocumentReader {
    epoch: EpochId,
    bytes: Vec<u8>,
    total: Option<u32>,
}

/// The effect of a part on a [`DocumentReader`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadOutcome {
    /// The part is of another document, or not the next part.
    Unexpected,
    /// Another part must follow.
    Unfinished,
    /// The document of the epoch, not [checked](Document::check) yet.
    Finished(Box<Document>),
    /// The parts are no document of the epoch.
    Unusable,
}

impl DocumentReader {
    /// A reader of the document of `epoch`.
    #[must_use]
    pub const fn new(epoch: EpochId) -> Self {
        Self { epoch, bytes: Vec::new(), total: None }
    }

    /// The epoch whose document is read.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.epoch
    }

    /// The question for the next part, asked at `start`.
    #[must_use]
    pub fn question(&self, start: Time) -> DocumentRead {
        DocumentRead { start, epoch: self.epoch, offset: self.offset() }
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    /// Takes a part. The sender may send anything: the digest of the epoch shows whether the parts
    /// are the document. The digest of an [upgraded](super::Origin::Upgraded) document does not
    /// cover the hosts, for which the reader believes the sender.
    pub fn on_part(&mut self, part: &DocumentPart) -> ReadOutcome {
        let expected = (self.epoch, self.offset());
        if (part.epoch, part.offset) != expected || part.bytes.is_empty() {
            return ReadOutcome::Unexpected;
        }
        let total = *self.total.get_or_insert(part.total);
        let whole = usize::try_from(total).unwrap_or(usize::MAX);
        self.bytes.extend_from_slice(&part.bytes);
        if part.total != total || whole > Document::BYTES_MAX || self.bytes.len() > whole {
            return ReadOutcome::Unusable;
        }
        if self.bytes.len() < whole {
            return ReadOutcome::Unfinished;
        }
        match Document::decode(&self.bytes) {
            Some(document) if document.id() == self.epoch => {
                ReadOutcome::Finished(Box::new(document))
            }
            _ => ReadOutcome::Unusable,
        }
    }
}

impl fmt::Display for DocumentRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, epoch, offset } = self;
        write!(f, "document read epoch {} byte {offset} start {start}", epoch.number)
    }
}

impl fmt::Display for DocumentPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, epoch, offset, total, bytes, .. } = self;
        let count = bytes.len();
        write!(f, "document part epoch {} ", epoch.number)?;
        write!(f, "{count} bytes from byte {offset} of {total} start {start}")
    }
}

#[cfg(test)]
mod tests;

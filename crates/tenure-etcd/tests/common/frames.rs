//! A direction of an HTTP/2 connection, frame by frame.

use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

/// Length of the fixed text that opens an HTTP/2 connection.
pub(crate) const PREFACE: usize = 24;
const HEAD: usize = 9;
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

/// A frame, or the bytes before the first.
pub(crate) struct Frame(pub(crate) Vec<u8>);

impl Frame {
    pub(crate) fn kind(&self) -> Option<u8> {
        // The preface is no frame.
        self.0.get(3).copied().filter(|_| !self.0.starts_with(b"PRI"))
    }

    pub(crate) fn stream(&self) -> u32 {
        let bytes = self.0.get(5..HEAD).and_then(|bytes| bytes.try_into().ok());
        let number = self.kind().and(bytes).map_or(0, u32::from_be_bytes);
        number & (u32::MAX >> 1)
    }

    pub(crate) fn ends_stream(&self) -> bool {
        matches!(self.kind(), Some(DATA | HEADERS)) && self.0[4] & END_STREAM != 0
    }
}

pub(crate) struct Frames {
    half: OwnedReadHalf,
    bytes: Vec<u8>,
    /// The bytes before the first frame.
    preface: usize,
}

impl Frames {
    /// The frames after a preface of this length.
    pub(crate) fn new(half: OwnedReadHalf, preface: usize) -> Self {
        Self { half, bytes: Vec::new(), preface }
    }

    /// Reads the next frame; `None` at the end. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            let needed = match (self.preface, self.bytes.get(..3)) {
                (0, Some(length)) => {
                    HEAD + length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
                }
                (0, None) => HEAD,
                (preface, _) => preface,
            };
            if self.bytes.len() >= needed {
                self.preface = 0;
                let rest = self.bytes.split_off(needed);
                return Some(Frame(std::mem::replace(&mut self.bytes, rest)));
            }
            if self.half.read_buf(&mut self.bytes).await.ok()? == 0 {
                return None;
            }
        }
    }
}

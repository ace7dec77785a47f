//! A small file that must survive the machine. Each write replaces it completely.
//!
//! A write goes to another name; the file is flushed and renamed, and then the directory is
//! flushed. So no interrupted write leaves damage, and a reader can refuse every damaged file. Two
//! slots in one file would be cheaper. But a damaged newer slot would look like an interrupted
//! write, and a reader would use the older slot.

use std::fs::File;
use std::io::Read;
use std::marker::PhantomData;
use std::path::Path;

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::directory::Directory;
use super::error::{Damage, StateError, WriteError};
use super::sealed::{Format, Refusal};

/// A file that holds one `T`, in postcard's encoding.
#[derive(Debug)]
pub struct Document<T> {
    pub name: &'static str,
    /// Format that distinguishes the document from other files.
    pub format: Format,
    /// The maximum number of bytes of a document. Tenure never writes a longer file.
    pub bytes_max: u64,
    content: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Document<T> {
    /// A document of this name and format.
    #[must_use]
    pub const fn new(name: &'static str, format: Format, bytes_max: u64) -> Self {
        Self { name, format, bytes_max, content: PhantomData }
    }

    /// Reads the document of `directory`; `None` if there is none.
    pub fn read(&self, directory: &Directory) -> Result<Option<T>, StateError> {
        let Some(file) = directory.stored(self.name, OFlags::RDONLY)? else { return Ok(None) };
        let path = directory.at(self.name);
        let mut bytes = Vec::new();
        file.take(self.bytes_max)
            .read_to_end(&mut bytes)
            .map_err(|source| StateError::io("read", &path, source))?;
        let relearn = directory.layout().relearn;
        self.decode(&bytes).map(Some).map_err(|refusal| refusal.at(&path, self.format, relearn))
    }

    /// Reads the document in the directory at `path` without its lock: a node may use the directory
    /// meanwhile. `None` if there is no document of this format.
    #[must_use]
    pub fn glance(&self, path: &Path) -> Option<T> {
        let path = path.join(self.name);
        // The open of a pipe could block.
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(self.bytes_max).read_to_end(&mut bytes).ok()?;
        self.decode(&bytes).ok()
    }

    /// Writes `content`, and returns once it would survive a loss of power. After an error the disk
    /// has either the earlier content or this one.
    pub fn write(&self, directory: &Directory, content: &T) -> Result<(), WriteError> {
        // The document itself is replaced, so it need not exist.
        let check = || directory.check(|file| file != self.name);
        check()?;
        if let Err(source) = directory.put_durably(self.name, &self.encode(content)) {
            // Another process may have removed the directory meanwhile.
            check()?;
            return Err(WriteError::Io { path: directory.at(self.name), source });
        }
        Ok(())
    }

    /// The bytes of the file.
    #[must_use]
    pub fn encode(&self, content: &T) -> Vec<u8> {
        // Cannot fail: the content has no part of unknown length.
        let body = postcard::to_allocvec(content).unwrap_or_default();
        self.format.seal(&body)
    }

    /// Decodes the bytes of a file.
    pub fn decode(&self, bytes: &[u8]) -> Result<T, Refusal> {
        let (body, took) = self.format.open(bytes)?;
        if took != bytes.len() {
            let bytes = bytes.len() as u64;
            let expected = took as u64;
            return Err(Refusal::Damaged(Damage::Length { bytes, expected }));
        }
        whole(body).ok_or(Refusal::Damaged(Damage::Content))
    }
}

/// Decodes a value that takes all of these bytes.
pub fn whole<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(body) {
        Ok((content, [])) => Some(content),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Document<u64> =
        Document::new("number", Format { magic: *b"\x89TENUREt", number: 1 }, 64);

    #[test]
    fn trailing_bytes_are_damage() {
        let mut bytes = NUMBER.encode(&7);
        assert!(matches!(NUMBER.decode(&bytes), Ok(7)));
        bytes.push(0);
        assert!(matches!(
            NUMBER.decode(&bytes),
            Err(Refusal::Damaged(Damage::Length { bytes: b, expected })) if b == expected + 1
        ));
    }

    #[test]
    fn content_of_another_shape_is_damaged() {
        let bytes = NUMBER.format.seal(&[0x80]);
        assert!(matches!(NUMBER.decode(&bytes), Err(Refusal::Damaged(Damage::Content))));
    }
}

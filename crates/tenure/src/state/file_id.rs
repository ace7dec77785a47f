//! The identity of a file, whatever its name.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Stat;

/// The identity of a file on this machine: two names with one identity lead to one file. The
/// identity of a file that is gone may be given to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) const fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    /// The identity of the file with these attributes.
    #[must_use]
    pub fn of(about: &Metadata) -> Self {
        Self { device: about.dev(), inode: about.ino() }
    }

    /// The identity of the file at `path`, which may be a link; `None` if there is no file.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().map(|about| Self::of(&about))
    }

    /// The identity of an open file; `None` if the system does not report it.
    #[must_use]
    pub fn open(file: &File) -> Option<Self> {
        file.metadata().ok().map(|about| Self::of(&about))
    }
}

impl From<&Stat> for FileId {
    fn from(about: &Stat) -> Self {
        Self::new(about.st_dev, about.st_ino)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn replaced_file_has_another_identity() {
        let directory = tempfile::tempdir().unwrap();
        let [path, next] = ["file", "next"].map(|name| directory.path().join(name));
        assert_eq!(FileId::at(&path), None);
        fs::write(&path, "1").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(FileId::open(&file), FileId::at(&path));
        fs::write(&next, "2").unwrap();
        fs::rename(&next, &path).unwrap();
        assert_ne!(FileId::open(&file), FileId::at(&path));
    }
}

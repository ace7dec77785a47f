//! The file that all CMDs write to, read as it grows.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::judge::{Judge, Violation};

/// A journal, and what the judge makes of it.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end is still to come.
    rest: String,
    judge: Judge,
}

impl Journal {
    /// Begins an empty one.
    pub fn create(path: PathBuf) -> Self {
        Self::judged_by(Judge::default(), path)
    }

    /// Begins an empty one that this judge reads.
    pub fn judged_by(judge: Judge, path: PathBuf) -> Self {
        let open = File::options().read(true).append(true).create_new(true).open(&path);
        Self { file: open.unwrap(), path, rest: String::new(), judge }
    }

    /// Where CMDs write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Judges what was written since the last time.
    pub fn read_on(&mut self) -> Result<&Judge, Violation> {
        self.file.read_to_string(&mut self.rest).unwrap();
        let end = self.rest.rfind('\n').map_or(0, |last| last + 1);
        let rest = self.rest.split_off(end);
        let whole = std::mem::replace(&mut self.rest, rest);
        whole.lines().try_for_each(|line| self.judge.read(line))?;
        Ok(&self.judge)
    }
}

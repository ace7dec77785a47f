//! The file to which all CMDs write, read while it grows.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::judge::{Judge, Violation};

pub struct Journal {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end is not written yet.
    rest: String,
    judge: Judge,
}

impl Journal {
    /// Creates an empty journal, read by the strict judge.
    pub fn create(path: PathBuf) -> Self {
        Self::judged_by(Judge::default(), path)
    }

    /// Creates an empty journal, read by this judge.
    pub fn judged_by(judge: Judge, path: PathBuf) -> Self {
        let open = File::options().read(true).append(true).create_new(true).open(&path);
        Self { file: open.unwrap(), path, rest: String::new(), judge }
    }

    /// The path to which CMDs write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the lines that were written after the last call, and returns the judge or its
    /// violation.
    pub fn read_on(&mut self) -> Result<&Judge, Violation> {
        self.file.read_to_string(&mut self.rest).unwrap();
        let end = self.rest.rfind('\n').map_or(0, |last| last + 1);
        let rest = self.rest.split_off(end);
        let whole = std::mem::replace(&mut self.rest, rest);
        whole.lines().try_for_each(|line| self.judge.read(line))?;
        Ok(&self.judge)
    }
}

//! The file that the leaders write, line by line.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use tenure::Time;

/// A line that a leader's worker writes many times a second: `boottime_ns fence id pid until_ns`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) at: Time,
    pub(super) fence: u64,
    /// Candidate of the worker.
    pub(super) id: String,
    /// Process id of the worker.
    pub(super) pid: u32,
    /// End of the lease, read after `at`.
    pub(super) until: Time,
}

impl Line {
    /// Reads a line without its end; `None` if the text is not exactly such a line.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = std::str::from_utf8(bytes).ok()?.split(' ');
        let mut next = || fields.next().filter(|field| !field.is_empty());
        let line = Self {
            at: Time::from_nanos(next()?.parse().ok()?),
            fence: next()?.parse().ok()?,
            id: next()?.to_owned(),
            pid: next()?.parse().ok()?,
            until: Time::from_nanos(next()?.parse().ok()?),
        };
        fields.next().is_none().then_some(line)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_nanos();
        let until = self.until.as_nanos();
        write!(f, "{at} {} {} {} {until}", self.fence, self.id, self.pid)
    }
}

/// Reads the lines of a growing file.
pub(super) struct Lines {
    file: BufReader<File>,
    begun: Vec<u8>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(File::open(path)?), begun: Vec::new() })
    }

    /// Passes each new line to `each`, without its end.
    pub(super) fn read(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        while self.file.read_until(b'\n', &mut self.begun)? > 0 {
            if let Some(line) = self.begun.strip_suffix(b"\n") {
                each(line);
                self.begun.clear();
            }
        }
        Ok(())
    }

    /// The bytes after the last line end: none, unless a writer stopped halfway.
    pub(super) fn rest(&self) -> &[u8] {
        &self.begun
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_whole_lines_are_read() {
        let line = Line {
            at: Time::from_nanos(12),
            fence: 3,
            id: "ann".into(),
            pid: 4711,
            until: Time::from_nanos(99),
        };
        assert_eq!(line.to_string(), "12 3 ann 4711 99");
        assert_eq!(Line::parse(line.to_string().as_bytes()), Some(line));
        for bad in ["", "12 3 ann 4711", "12 3 ann 4711 99 1", "12  3 ann 4711 99", "x 3 a 1 9"] {
            assert_eq!(Line::parse(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(Line::parse(b"12 3 \xff 4711 99"), None);
    }

    #[test]
    fn lines_come_once_and_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut lines = Lines::open(file.path()).unwrap();
        let read = |lines: &mut Lines| {
            let mut all = Vec::new();
            lines.read(|line| all.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
            all
        };
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(read(&mut lines), ["one"]);
        assert_eq!(lines.rest(), b"tw");
        file.write_all(b"o\n\n").unwrap();
        assert_eq!(read(&mut lines), ["two", ""]);
        assert_eq!(lines.rest(), b"");
    }
}

//! Was there ever more than one leader? The file of the leaders' work shows it.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use tenure::Time;

use super::work::{Line, Lines};
use crate::failure::quoted;

/// How many flaws are kept in full; further ones are counted.
const KEPT: usize = 8;

/// The lines under one fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Leadership {
    pub(super) fence: u64,
    pub(super) id: String,
    pub(super) pid: u32,
    /// When the first line was written.
    pub(super) first: Time,
    /// When the latest one was written.
    pub(super) last: Time,
    /// The latest end of the lease in a line.
    pub(super) until: Time,
    pub(super) lines: u64,
}

/// What must not be in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    /// It is no line.
    Unreadable { line: u64, text: String },
    /// An older leader wrote after a newer one.
    Stale { line: u64, id: String, fence: u64, newer: u64 },
    /// A leader's first line is not later than the last one of the leader before.
    Overlap { line: u64, id: String, fence: u64, before: u64, by: Duration },
    /// Two processes wrote under one fence.
    Shared { line: u64, fence: u64, first: String, second: String },
    /// Work was done when the lease was over.
    Late { line: u64, id: String, fence: u64, by: Duration },
    /// One process wrote lines whose times go back.
    Disorder { line: u64, id: String, fence: u64 },
}

/// Reads the lines in the order of the file. Needs the same memory for a file of any length.
#[derive(Default)]
pub(super) struct Judge {
    current: Option<Leadership>,
    lines: u64,
    leaderships: u64,
    flaws: Vec<Flaw>,
    flaw_count: u64,
}

impl Judge {
    /// Reads a whole file to which nobody writes any more.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut judge = Self::default();
        let mut lines = Lines::open(path)?;
        lines.read(|line| drop(judge.read(line)))?;
        if !lines.rest().is_empty() {
            judge.read(lines.rest());
        }
        Ok(judge)
    }

    /// Reads one line. When it begins a leadership, returns the one before, if there was one,
    /// in an outer `Some`.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<Option<Leadership>> {
        self.lines += 1;
        let Some(line) = Line::parse(bytes) else {
            let text = quoted(&String::from_utf8_lossy(bytes));
            self.flaw(Flaw::Unreadable { line: self.lines, text });
            return None;
        };
        if line.at >= line.until {
            let (id, by) = (line.id.clone(), line.at.since(line.until));
            self.flaw(Flaw::Late { line: self.lines, id, fence: line.fence, by });
        }
        match &self.current {
            Some(current) if line.fence < current.fence => {
                let newer = current.fence;
                let Line { id, fence, .. } = line;
                self.flaw(Flaw::Stale { line: self.lines, id, fence, newer });
                None
            }
            Some(current) if line.fence == current.fence => {
                self.same_fence(line);
                None
            }
            Some(_) | None => Some(self.next_fence(line)),
        }
    }

    fn same_fence(&mut self, line: Line) {
        let Some(current) = &mut self.current else { return };
        let fence = line.fence;
        let flaw = if (&line.id, line.pid) != (&current.id, current.pid) {
            let first = format!("{} ({})", current.id, current.pid);
            let second = format!("{} ({})", line.id, line.pid);
            Some(Flaw::Shared { line: self.lines, fence, first, second })
        } else if line.at < current.last {
            Some(Flaw::Disorder { line: self.lines, id: line.id, fence })
        } else {
            None
        };
        current.last = current.last.max(line.at);
        current.until = current.until.max(line.until);
        current.lines += 1;
        if let Some(flaw) = flaw {
            self.flaw(flaw);
        }
    }

    fn next_fence(&mut self, line: Line) -> Option<Leadership> {
        let Line { at, fence, id, pid, until } = line;
        let next = Leadership { fence, id, pid, first: at, last: at, until, lines: 1 };
        self.leaderships += 1;
        let before = self.current.replace(next)?;
        if at <= before.last {
            let (id, by) = (self.current.as_ref().map(|c| c.id.clone())?, before.last.since(at));
            self.flaw(Flaw::Overlap { line: self.lines, id, fence, before: before.fence, by });
        }
        Some(before)
    }

    fn flaw(&mut self, flaw: Flaw) {
        self.flaw_count += 1;
        if self.flaws.len() < KEPT {
            self.flaws.push(flaw);
        }
    }

    /// The leadership of the latest line.
    pub(super) fn current(&self) -> Option<&Leadership> {
        self.current.as_ref()
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn leaderships(&self) -> u64 {
        self.leaderships
    }

    /// The first few flaws.
    pub(super) fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// How many there are in all.
    pub(super) fn flaw_count(&self) -> u64 {
        self.flaw_count
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { line, text } => write!(f, "line {line} is not a line: {text}"),
            Self::Stale { line, id, fence, newer } => write!(
                f,
                "line {line}: {id} with the fence {fence} wrote after somebody with the newer \
                 fence {newer}"
            ),
            Self::Overlap { line, id, fence, before, by } => write!(
                f,
                "line {line}: {id} with the fence {fence} began {by:?} before the leader with \
                 the fence {before} had stopped"
            ),
            Self::Shared { line, fence, first, second } => {
                write!(f, "line {line}: {first} and {second} have the same fence {fence}")
            }
            Self::Late { line, id, fence, by } => write!(
                f,
                "line {line}: {id} with the fence {fence} wrote {by:?} after the end of its lease"
            ),
            Self::Disorder { line, id, fence } => write!(
                f,
                "line {line}: the lines of {id} with the fence {fence} are not in the order of \
                 their times"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Judge {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Judge::of(file.path()).unwrap()
    }

    fn flaws(text: &str) -> Vec<String> {
        judged(text).flaws().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_file_has_no_flaw() {
        let judge = judged("10 1 ann 7 90\n30 1 ann 7 120\n50 2 ben 8 140\n70 4 ann 9 150\n");
        assert_eq!(judge.flaws(), []);
        assert_eq!((judge.lines(), judge.leaderships(), judge.flaw_count()), (4, 3, 0));
        let last = judge.current().unwrap();
        assert_eq!((last.fence, &last.id[..], last.pid, last.lines), (4, "ann", 9, 1));
    }

    #[test]
    fn a_leadership_is_handed_on_when_the_next_one_begins() {
        let mut judge = Judge::default();
        assert_eq!(judge.read(b"10 1 ann 7 90"), Some(None));
        assert_eq!(judge.read(b"30 1 ann 7 120"), None);
        let before = judge.read(b"50 2 ben 8 140").unwrap().unwrap();
        let of = |nanos| Time::from_nanos(nanos);
        assert_eq!((before.first, before.last, before.until), (of(10), of(30), of(120)));
        assert_eq!((before.fence, before.lines), (1, 2));
    }

    #[test]
    fn an_older_leader_after_a_newer_one_is_a_flaw() {
        assert_eq!(
            flaws("10 1 ann 7 90\n20 2 ben 8 90\n30 1 ann 7 90\n40 2 ben 8 90\n"),
            ["line 3: ann with the fence 1 wrote after somebody with the newer fence 2"]
        );
    }

    #[test]
    fn two_at_once_are_a_flaw_even_when_the_lines_are_in_order() {
        let overlap =
            "line 3: ben with the fence 2 began 5ns before the leader with the fence 1 had stopped";
        assert_eq!(flaws("10 1 ann 7 90\n30 1 ann 7 90\n25 2 ben 8 90\n"), [overlap]);
        assert_eq!(flaws("30 1 ann 7 90\n30 2 ben 8 90\n").len(), 1);
        assert_eq!(flaws("30 1 ann 7 90\n31 2 ben 8 90\n").len(), 0);
    }

    #[test]
    fn one_fence_belongs_to_one_process() {
        assert_eq!(
            flaws("10 1 ann 7 90\n20 1 ben 8 90\n"),
            ["line 2: ann (7) and ben (8) have the same fence 1"]
        );
        assert_eq!(
            flaws("10 1 ann 7 90\n20 1 ann 8 90\n"),
            ["line 2: ann (7) and ann (8) have the same fence 1"]
        );
    }

    #[test]
    fn work_after_the_lease_is_a_flaw() {
        let late = "line 2: ann with the fence 1 wrote 6ns after the end of its lease";
        assert_eq!(flaws("10 1 ann 7 14\n20 1 ann 7 14\n"), [late]);
        assert_eq!(flaws("14 1 ann 7 14\n").len(), 1);
    }

    #[test]
    fn times_that_go_back_and_lines_that_are_none_are_flaws() {
        assert_eq!(
            flaws("20 1 ann 7 90\n10 1 ann 7 90\nnonsense\u{1b}[2J\n30 1 ann 7 90\n30 1 an"),
            [
                "line 2: the lines of ann with the fence 1 are not in the order of their times",
                r#"line 3 is not a line: "nonsense\u{1b}[2J""#,
                "line 5 is not a line: \"30 1 an\"",
            ]
        );
    }

    #[test]
    fn flaws_are_counted_beyond_those_that_are_kept() {
        let judge = judged(&"nonsense\n".repeat(100));
        assert_eq!((judge.flaws().len(), judge.flaw_count()), (KEPT, 100));
    }
}

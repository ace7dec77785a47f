//! Judges the leaders' file: did two leaders ever overlap?

use std::cmp::Ordering;

use tenure::Time;

use super::work::Line;
use crate::failure::quoted;

/// The number of flaws that are kept in full; further flaws are counted.
const KEPT: usize = 8;

/// A leadership: the lines with one fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Leadership {
    pub(super) fence: u64,
    pub(super) id: String,
    pub(super) pid: u32,
    /// Time of the first line.
    pub(super) first: Time,
    /// Time of the latest line.
    pub(super) last: Time,
    /// Latest end of the lease in any line.
    pub(super) until: Time,
}

/// Reads the lines in the order of the file, in constant memory.
#[derive(Default)]
pub(super) struct Judge {
    pub(super) current: Option<Leadership>,
    pub(super) lines: u64,
    pub(super) leaderships: u64,
    pub(super) flaws: Vec<String>,
    pub(super) flaw_count: u64,
}

impl Judge {
    /// Reads one line. Returns `Some` for a line that begins a leadership, with the leadership
    /// before it, if any.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<Option<Leadership>> {
        self.lines += 1;
        let Some(line) = Line::parse(bytes) else {
            let text = quoted(&String::from_utf8_lossy(bytes));
            self.flaw(format!("line {} was not written by a worker: {text}", self.lines));
            return None;
        };
        let fence = line.fence;
        let writer = format!("line {}: {} with the fence {fence}", self.lines, line.id);
        if line.at >= line.until {
            let by = line.at.since(line.until);
            self.flaw(format!("{writer} wrote {by:?} after the end of its lease"));
        }
        let Some(mut current) = self.current.take() else {
            self.begin(line);
            return Some(None);
        };
        match fence.cmp(&current.fence) {
            Ordering::Less => {
                let newer = current.fence;
                self.flaw(format!("{writer} wrote after the leader with the newer fence {newer}"));
            }
            Ordering::Equal => {
                if (&line.id, line.pid) != (&current.id, current.pid) {
                    let first = format!("{} ({})", current.id, current.pid);
                    let second = format!("{} ({})", line.id, line.pid);
                    let nth = self.lines;
                    self.flaw(format!(
                        "line {nth}: {first} and {second} have the same fence {fence}"
                    ));
                } else if line.at < current.last {
                    let nth = self.lines;
                    let id = &line.id;
                    self.flaw(format!(
                        "line {nth}: the lines of {id} with the fence {fence} are not in the order \
                         of their times"
                    ));
                }
                current.last = current.last.max(line.at);
                current.until = current.until.max(line.until);
            }
            Ordering::Greater => {
                if line.at <= current.last {
                    let by = current.last.since(line.at);
                    let before = current.fence;
                    self.flaw(format!(
                        "{writer} began {by:?} before the leader with the fence {before} had \
                         stopped"
                    ));
                }
                self.begin(line);
                return Some(Some(current));
            }
        }
        self.current = Some(current);
        None
    }

    fn begin(&mut self, line: Line) {
        let Line { at, fence, id, pid, until } = line;
        self.leaderships += 1;
        self.current = Some(Leadership { fence, id, pid, first: at, last: at, until });
    }

    fn flaw(&mut self, flaw: String) {
        self.flaw_count += 1;
        if self.flaws.len() < KEPT {
            self.flaws.push(flaw);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Judge {
        let mut judge = Judge::default();
        text.lines().for_each(|line| drop(judge.read(line.as_bytes())));
        judge
    }

    fn flaws(text: &str) -> Vec<String> {
        judged(text).flaws
    }

    #[test]
    fn good_file_has_no_flaw() {
        let judge = judged("10 1 ann 7 90\n30 1 ann 7 120\n50 2 ben 8 140\n70 4 ann 9 150\n");
        assert_eq!(judge.flaws, [""; 0]);
        assert_eq!((judge.lines, judge.leaderships, judge.flaw_count), (4, 3, 0));
        let last = judge.current.unwrap();
        assert_eq!((last.fence, &last.id[..], last.pid), (4, "ann", 9));
    }

    #[test]
    fn next_leadership_returns_the_last() {
        let mut judge = Judge::default();
        assert_eq!(judge.read(b"10 1 ann 7 90"), Some(None));
        assert_eq!(judge.read(b"30 1 ann 7 120"), None);
        let before = judge.read(b"50 2 ben 8 140").unwrap().unwrap();
        let of = |nanos| Time::from_nanos(nanos);
        assert_eq!((before.first, before.last, before.until), (of(10), of(30), of(120)));
        assert_eq!(before.fence, 1);
    }

    #[test]
    fn older_leader_after_newer_is_flaw() {
        assert_eq!(
            flaws("10 1 ann 7 90\n20 2 ben 8 90\n30 1 ann 7 90\n40 2 ben 8 90\n"),
            ["line 3: ann with the fence 1 wrote after the leader with the newer fence 2"]
        );
    }

    #[test]
    fn overlapping_leaders_are_a_flaw() {
        let overlap =
            "line 3: ben with the fence 2 began 5ns before the leader with the fence 1 had stopped";
        assert_eq!(flaws("10 1 ann 7 90\n30 1 ann 7 90\n25 2 ben 8 90\n"), [overlap]);
        assert_eq!(flaws("30 1 ann 7 90\n30 2 ben 8 90\n").len(), 1);
        assert_eq!(flaws("30 1 ann 7 90\n31 2 ben 8 90\n").len(), 0);
    }

    #[test]
    fn fences_belong_to_single_processes() {
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
    fn work_after_lease_is_flaw() {
        let late = "line 2: ann with the fence 1 wrote 6ns after the end of its lease";
        assert_eq!(flaws("10 1 ann 7 14\n20 1 ann 7 14\n"), [late]);
        assert_eq!(flaws("14 1 ann 7 14\n").len(), 1);
    }

    #[test]
    fn disordered_and_broken_lines_are_flaws() {
        assert_eq!(
            flaws("20 1 ann 7 90\n10 1 ann 7 90\nnonsense\u{1b}[2J\n30 1 ann 7 90\n30 1 an"),
            [
                "line 2: the lines of ann with the fence 1 are not in the order of their times",
                r#"line 3 was not written by a worker: "nonsense\u{1b}[2J""#,
                "line 5 was not written by a worker: \"30 1 an\"",
            ]
        );
    }

    #[test]
    fn all_flaws_are_counted() {
        let judge = judged(&"nonsense\n".repeat(100));
        assert_eq!((judge.flaws.len(), judge.flaw_count), (KEPT, 100));
    }
}

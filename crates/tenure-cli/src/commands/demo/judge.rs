//! The proof at the end of the demo: the file that all workers wrote to.

use std::io;

/// One line of a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    /// When it was written, in nanoseconds of `CLOCK_BOOTTIME`.
    pub(super) at: u64,
    /// The fence of its leader.
    pub(super) fence: u64,
    /// Its leader.
    pub(super) id: String,
}

/// Reads the file in the order in which it was written, as it grows.
#[derive(Default)]
pub(super) struct Judge {
    unread: Vec<u8>,
    /// The first line of each leadership.
    pub(super) leaderships: Vec<Line>,
    pub(super) last: Option<Line>,
    pub(super) lines: u64,
    /// What is wrong, in words; at most a screenful.
    pub(super) wrong: Vec<String>,
}

impl Judge {
    /// Reads on.
    pub(super) fn read(&mut self, file: &mut impl io::Read) -> io::Result<()> {
        file.read_to_end(&mut self.unread)?;
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(());
        };
        let rest = self.unread.split_off(end + 1);
        let whole = std::mem::replace(&mut self.unread, rest);
        for line in String::from_utf8_lossy(&whole).lines() {
            self.judge(line);
        }
        Ok(())
    }

    fn judge(&mut self, text: &str) {
        let Some(line) = parse(text) else {
            return self.complain(format!("a line that no worker writes: {text:?}"));
        };
        self.lines += 1;
        let wrong = self.last.as_ref().and_then(|last| {
            if line.fence < last.fence {
                Some(format!(
                    "{} wrote with fence {} after {} had written with {}",
                    line.id, line.fence, last.id, last.fence
                ))
            } else if line.fence == last.fence && line.id != last.id {
                Some(format!("{} and {} share the fence {}", last.id, line.id, line.fence))
            } else if line.at < last.at {
                Some(format!("the clock went back at {}", line.at))
            } else {
                None
            }
        });
        if let Some(wrong) = wrong {
            self.complain(wrong);
        }
        if self.last.as_ref().is_none_or(|last| last.fence < line.fence) {
            self.leaderships.push(line.clone());
        }
        self.last = Some(line);
    }

    fn complain(&mut self, wrong: String) {
        if self.wrong.len() < 20 {
            self.wrong.push(wrong);
        }
    }
}

fn parse(text: &str) -> Option<Line> {
    let mut words = text.split(' ');
    let at = words.next()?.parse().ok()?;
    let fence = words.next()?.parse().ok()?;
    let id = words.next()?.to_owned();
    words.next().is_none().then_some(Line { at, fence, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Judge {
        let mut judge = Judge::default();
        // In two pieces, the first of which ends in the middle of a line.
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        judge.read(&mut &*first).unwrap();
        judge.read(&mut &*second).unwrap();
        judge
    }

    #[test]
    fn a_good_file_has_a_leadership_for_each_fence() {
        let judge = judged("10 1 one\n12 1 one\n20 4 two\n22 4 two\n30 5 one\n");
        assert_eq!(judge.wrong, Vec::<String>::new());
        assert_eq!((judge.lines, judge.leaderships.len()), (5, 3));
        assert_eq!(judge.leaderships[1], Line { at: 20, fence: 4, id: "two".to_owned() });
    }

    #[test]
    fn every_kind_of_bad_line_is_named() {
        for (text, wrong) in [
            ("10 1 one\n20 2 two\n21 1 one\n", "one wrote with fence 1 after two had written"),
            ("10 1 one\n20 1 two\n", "one and two share the fence 1"),
            ("10 1 one\n9 1 one\n", "the clock went back at 9"),
            ("10 1 one\nhello\n", "a line that no worker writes: \"hello\""),
            ("10 1 one two\n", "a line that no worker writes"),
        ] {
            let judge = judged(text);
            assert_eq!(judge.wrong.len(), 1, "{text}");
            assert!(judge.wrong[0].starts_with(wrong), "{:?}", judge.wrong);
        }
    }
}

//! A line of the journal: a step of a process of CMD, its time, and its leadership.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tenure_core::{Fence, Time};

/// A step of a process of CMD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The first process of CMD has started.
    Begin,
    /// A child of the first process has started.
    Child,
    /// Work.
    Tick,
    /// The process ends normally.
    End,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    pub what: Step,
    /// Clock reading immediately before the line was written.
    pub at: Time,
    /// Fence of its leadership; in a protocol without fences, the start of its CMD.
    pub fence: Fence,
    pub id: String,
    pub pid: i32,
    /// End of the lease as the process last read it, before `at`; zero if the process could not
    /// read it.
    pub until: Time,
}

impl Step {
    const WORDS: [(Self, &str); 4] =
        [(Self::Begin, "begin"), (Self::Child, "child"), (Self::Tick, "tick"), (Self::End, "end")];
}

impl Line {
    /// Rest of the lease, as `Ok`; time since its end, as `Err`.
    pub fn left(&self) -> Result<Duration, Duration> {
        if self.until >= self.at {
            Ok(self.until.since(self.at))
        } else {
            Err(self.at.since(self.until))
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = Step::WORDS.iter().find(|(what, _)| *what == self.what).map_or("", |one| one.1);
        let at = self.at.as_nanos();
        let until = self.until.as_nanos();
        let fence = self.fence.number();
        write!(f, "{what} {at} {fence} {} {} {until}", self.id, self.pid)
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let [what, at, fence, id, pid, until] = words[..] else { return Err(()) };
        let number = |word: &str| word.parse::<u64>().map_err(drop);
        Ok(Self {
            what: Step::WORDS.iter().find(|(_, word)| *word == what).ok_or(())?.0,
            at: Time::from_nanos(number(at)?),
            fence: Fence::new(number(fence)?),
            id: id.to_owned(),
            pid: pid.parse().map_err(drop)?,
            until: Time::from_nanos(number(until)?),
        })
    }
}

//! The judge: reads the journal and says whether two CMDs ever ran at once.
//!
//! The order of lines is the order of writes, and each clock reading was taken before its write:
//! both orders must agree that one leadership was over before the next began.

use std::fmt;
use std::time::Duration;

use tenure_core::{Fence, Time};

use crate::line::{Line, What};

/// All lines of one CMD, from its begin to whatever was its last.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    pub(crate) id: String,
    pub(crate) fence: Fence,
    /// The first process of CMD.
    pub(crate) pid: i32,
    pub(crate) began: Time,
    /// The latest reading of the clock by any of its processes.
    pub(crate) last: Time,
    /// The latest end of its lease that was seen.
    pub(crate) until: Time,
    pub(crate) ticks: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Violation {
    /// A line that no worker writes.
    Unreadable { text: String },
    /// A leadership wrote after the next one had begun.
    Overlap { line: Line, leader: String },
    /// A leadership began on the clock before the last reading of the one before it.
    ClockOverlap { line: Line, last: Time, leader: String },
    /// Two leaderships were given one fence.
    SameFence { line: Line, leader: String },
    /// A leadership was given a smaller fence than an earlier one.
    FenceWentBack { line: Line, leader: String },
    /// Work by somebody who never began.
    NeverBegan { line: Line },
    /// CMD was started a second time under one fence.
    BegunTwice { line: Line, first: i32 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { text } => write!(f, "no worker writes `{text}`"),
            Self::Overlap { line, leader } => {
                write!(f, "overlap: `{line}` after {leader} had begun")
            }
            Self::ClockOverlap { line, last, leader } => {
                write!(f, "overlap: `{line}`, but {leader} still worked at {last}")
            }
            Self::SameFence { line, leader } => {
                write!(f, "one fence twice: `{line}`, and {leader} had it")
            }
            Self::FenceWentBack { line, leader } => {
                write!(f, "the fence went back: `{line}` after {leader}")
            }
            Self::NeverBegan { line } => write!(f, "`{line}` without a begin"),
            Self::BegunTwice { line, first } => {
                write!(f, "`{line}`, and process {first} had begun under that fence")
            }
        }
    }
}

impl fmt::Display for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with fence {}", self.id, self.fence)
    }
}

#[derive(Default)]
pub(crate) struct Judge {
    current: Option<Leadership>,
    past: Vec<Leadership>,
    pub(crate) tallies: Tallies,
}

/// What was seen, to prove that there was something to see.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tallies {
    pub(crate) leaderships: u64,
    pub(crate) lines: u64,
    /// The least that was left of a lease, as far as CMD could read it, at any work.
    pub(crate) least_left: Option<Duration>,
    /// Lines later than the end of the lease that CMD had read.
    pub(crate) beyond: u64,
}

impl Judge {
    pub(crate) fn current(&self) -> Option<&Leadership> {
        self.current.as_ref()
    }

    /// The fence of the latest leadership.
    pub(crate) fn fence(&self) -> Fence {
        self.current.as_ref().map_or(Fence::NONE, |leadership| leadership.fence)
    }

    /// When the first leadership with a fence above `fence` began.
    pub(crate) fn began_after(&self, fence: Fence) -> Option<Time> {
        let mut all = self.past.iter().chain(&self.current);
        all.find(|leadership| leadership.fence > fence).map(|leadership| leadership.began)
    }

    /// The next line of the journal, without its end.
    pub(crate) fn read(&mut self, text: &str) -> Result<(), Violation> {
        let line: Line = text.parse().map_err(|()| Violation::Unreadable { text: text.into() })?;
        self.tally(&line);
        match &mut self.current {
            Some(leader) if leader.fence == line.fence && leader.id == line.id => {
                if line.what == What::Begin {
                    return Err(Violation::BegunTwice { line, first: leader.pid });
                }
                leader.last = leader.last.max(line.at);
                leader.until = leader.until.max(line.until);
                leader.ticks += u64::from(line.what == What::Tick);
                Ok(())
            }
            _ => self.change(line),
        }
    }

    /// A line of another leadership than the one before it.
    fn change(&mut self, line: Line) -> Result<(), Violation> {
        if let Some(leader) = &self.current {
            let (last, name) = (leader.last, leader.to_string());
            if self.past.iter().any(|past| past.fence == line.fence && past.id == line.id) {
                return Err(Violation::Overlap { line, leader: name });
            }
            if line.fence == leader.fence {
                return Err(Violation::SameFence { line, leader: name });
            }
            if line.fence < leader.fence {
                return Err(Violation::FenceWentBack { line, leader: name });
            }
            if line.at <= last {
                return Err(Violation::ClockOverlap { line, last, leader: name });
            }
        }
        if line.what != What::Begin {
            return Err(Violation::NeverBegan { line });
        }
        self.past.extend(self.current.take());
        self.tallies.leaderships += 1;
        self.current = Some(Leadership {
            id: line.id,
            fence: line.fence,
            pid: line.pid,
            began: line.at,
            last: line.at,
            until: line.until,
            ticks: 0,
        });
        Ok(())
    }

    fn tally(&mut self, line: &Line) {
        let tallies = &mut self.tallies;
        tallies.lines += 1;
        match line.left() {
            Ok(left) => {
                let least = tallies.least_left.map_or(left, |least| least.min(left));
                tallies.least_left = Some(least);
            }
            Err(_) => tallies.beyond += u64::from(line.until > Time::ZERO),
        }
    }
}

crate::tests!(
    leaders_one_after_the_other_are_right,
    a_line_after_the_next_began_is_an_overlap,
    a_clock_reading_before_the_last_of_the_one_before_is_an_overlap,
    an_equal_fence_is_wrong,
    a_smaller_fence_is_wrong,
    a_stale_line_of_an_old_leader_is_wrong,
    work_without_a_begin_is_wrong,
    a_command_that_is_started_twice_is_wrong,
    what_nobody_writes_is_wrong,
);

fn verdict(journal: &str) -> Result<Judge, Violation> {
    let mut judge = Judge::default();
    journal.lines().try_for_each(|line| judge.read(line))?;
    Ok(judge)
}

const TWO: &str = "begin 100 1 x 10 900\nchild 101 1 x 11 900\ntick 120 1 x 10 900\n\
                   tick 119 1 x 11 950\nend 130 1 x 10 950\nbegin 200 3 y 20 990\ntick 201 3 y 20 990";

fn leaders_one_after_the_other_are_right() {
    let judge = verdict(TWO).unwrap();
    assert_eq!((judge.tallies.leaderships, judge.tallies.lines), (2, 7));
    assert_eq!(judge.tallies.least_left, Some(Duration::from_nanos(780)));
    let leader = judge.current().unwrap();
    assert_eq!((leader.fence, leader.last.as_nanos(), leader.ticks), (Fence::new(3), 201, 1));
}

fn a_line_after_the_next_began_is_an_overlap() {
    let found = verdict(&format!("{TWO}\ntick 202 1 x 11 950")).err().unwrap();
    assert!(matches!(found, Violation::Overlap { .. }), "{found}");
    // Even if the clock says that it came before.
    let found = verdict(&format!("{TWO}\ntick 131 1 x 11 950")).err().unwrap();
    assert!(matches!(found, Violation::Overlap { .. }), "{found}");
}

fn a_clock_reading_before_the_last_of_the_one_before_is_an_overlap() {
    for at in [200, 201] {
        let found = verdict(&format!("{TWO}\nbegin {at} 4 x 30 990")).err().unwrap();
        assert!(matches!(found, Violation::ClockOverlap { .. }), "{found}");
    }
    verdict(&format!("{TWO}\nbegin 202 4 x 30 990")).unwrap();
}

fn an_equal_fence_is_wrong() {
    let found = verdict(&format!("{TWO}\nbegin 300 3 x 30 990")).err().unwrap();
    assert!(matches!(found, Violation::SameFence { .. }), "{found}");
}

fn a_smaller_fence_is_wrong() {
    let found = verdict(&format!("{TWO}\nbegin 300 2 x 30 990")).err().unwrap();
    assert!(matches!(found, Violation::FenceWentBack { .. }), "{found}");
}

fn a_stale_line_of_an_old_leader_is_wrong() {
    let three = format!("{TWO}\nbegin 300 4 x 30 990\ntick 301 4 x 30 990");
    for stale in ["tick 302 1 x 10 950", "end 302 3 y 20 990"] {
        let found = verdict(&format!("{three}\n{stale}")).err().unwrap();
        assert!(matches!(found, Violation::Overlap { .. }), "{found}");
    }
    let found = verdict(&format!("{three}\ntick 302 2 z 10 950")).err().unwrap();
    assert!(matches!(found, Violation::FenceWentBack { .. }), "{found}");
}

fn work_without_a_begin_is_wrong() {
    for line in ["tick 300 9 x 30 990", "child 300 9 x 30 990", "end 300 9 x 30 990"] {
        let found = verdict(&format!("{TWO}\n{line}")).err().unwrap();
        assert!(matches!(found, Violation::NeverBegan { .. }), "{found}");
        assert!(matches!(verdict(line), Err(Violation::NeverBegan { .. })));
    }
}

fn a_command_that_is_started_twice_is_wrong() {
    let found = verdict(&format!("{TWO}\nbegin 300 3 y 30 990")).err().unwrap();
    assert!(matches!(found, Violation::BegunTwice { first: 20, .. }), "{found}");
}

fn what_nobody_writes_is_wrong() {
    for text in ["", "tick", "tock 1 1 x 1 1", "tick 1 1 x 1", "tick -1 1 x 1 1", "tick 1 1 x 1 1 "]
    {
        assert!(matches!(verdict(&format!("{TWO}\n{text}\n")), Err(Violation::Unreadable { .. })));
    }
}

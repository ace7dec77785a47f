//! The judge: reads the journal and says whether two CMDs ever ran at once, or a CMD ran beyond its
//! lease.
//!
//! Lines have the order of their writes, and each line has a clock reading from just before its
//! write. By the order of lines, and also by the clock, a leadership must be over before the next
//! begins.

use std::fmt;
use std::time::Duration;

use tenure_core::{Fence, Time};

use super::line::{Line, Step};
use super::rounds::is_soak;

/// A leadership, as the lines of its CMD show it.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub id: String,
    /// Fence of the leadership, as CMD received it.
    pub fence: Fence,
    /// The first process of CMD.
    pub pid: i32,
    /// Clock of the machine in the first line.
    pub began: Time,
    /// Latest clock reading of any process of the leadership.
    pub last: Time,
    /// Latest end of the lease that any process of the leadership read.
    pub until: Time,
    pub ticks: u64,
    /// Clock reading of the first line that was later than the end of the lease in that line.
    pub beyond: Option<Time>,
}

impl Leadership {
    fn wrote(&self, line: &Line) -> bool {
        self.fence == line.fence && self.id == line.id
    }
}

/// Longest work beyond the end of a lease that may still be the machine's fault. After a standstill
/// of the machine, CMD may run for a moment before its guard gets the processor. Outside the soak
/// the moment may take seconds.
pub(super) fn moment() -> Duration {
    Duration::from_millis(if is_soak() { 500 } else { 3_000 })
}

/// A violation that a journal must never show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViolationKind {
    /// A line that no worker writes.
    Unreadable,
    /// A leadership wrote after the next one had begun.
    Overlap,
    /// By the clock, a leadership began before the last clock reading of the previous leadership.
    ClockOverlap,
    /// Two leaderships have the same fence.
    SameFence,
    /// A leadership has a smaller fence than an earlier one.
    FenceWentBack,
    /// Work of a leadership whose start is not in the journal.
    NeverBegan,
    /// CMD was started a second time under one fence.
    BegunTwice,
    /// A leadership went on working beyond its lease.
    Beyond,
}

/// A violation in a journal, with its place.
#[derive(Clone, Debug)]
pub struct Violation {
    pub wrong: ViolationKind,
    said: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

fn found(wrong: ViolationKind, said: String) -> Violation {
    Violation { wrong, said }
}

impl fmt::Display for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with fence {}", self.id, self.fence)
    }
}

/// Reads a journal line by line.
#[derive(Default)]
pub struct Judge {
    /// Whether overlaps are only measured, and are no violation.
    may_overlap: bool,
    /// Leadership of the last line.
    current: Option<Leadership>,
    past: Vec<Leadership>,
    /// Counts of the lines read so far.
    pub tallies: Tallies,
}

/// Counts that show how many events the judge has checked.
#[derive(Clone, Copy, Default)]
pub struct Tallies {
    pub leaderships: u64,
    /// Lines of all leaderships.
    pub lines: u64,
    /// Smallest rest of a lease that CMD read in any line of work.
    pub least_left: Option<Duration>,
    /// Lines later than the end of the lease that CMD had read.
    pub beyond: u64,
}

impl Judge {
    /// A judge for a protocol whose leaders may overlap.
    pub fn of_leaders_that_may_overlap() -> Self {
        Self { may_overlap: true, ..Self::default() }
    }

    /// The longest overlap of two different candidates after `since`.
    pub fn overlap(&self, since: Time) -> Duration {
        let late = |leadership: &&Leadership| leadership.last > since;
        let all: Vec<_> = self.past.iter().chain(&self.current).filter(late).collect();
        let both = |one: &Leadership, other: &Leadership| {
            one.last.min(other.last).since(one.began.max(other.began).max(since))
        };
        let pairs = all.iter().flat_map(|one| all.iter().map(move |other| (one, other)));
        let pairs = pairs.filter(|(one, other)| one.id != other.id);
        pairs.map(|(one, other)| both(one, other)).max().unwrap_or_default()
    }

    /// The latest leadership.
    pub fn current(&self) -> Option<&Leadership> {
        self.current.as_ref()
    }

    /// The fence of the latest leadership.
    pub fn fence(&self) -> Fence {
        self.current.as_ref().map_or(Fence::NONE, |leadership| leadership.fence)
    }

    /// Start of the first leadership with a fence above `fence`.
    pub fn began_after(&self, fence: Fence) -> Option<Time> {
        let all = self.past.iter().chain(&self.current);
        let next = all.filter(|leadership| leadership.fence > fence);
        next.map(|leadership| leadership.began).min()
    }

    /// Checks the next line of the journal, without its line end.
    pub fn read(&mut self, text: &str) -> Result<(), Violation> {
        let unreadable =
            |()| found(ViolationKind::Unreadable, format!("no worker writes `{text}`"));
        let line: Line = text.parse().map_err(unreadable)?;
        if self.may_overlap && self.current.as_ref().is_some_and(|leader| !leader.wrote(&line)) {
            self.turn_to(&line);
        }
        self.tally(&line);
        match &mut self.current {
            Some(leader) if leader.wrote(&line) => {
                if line.what == Step::Begin {
                    let said = format!("`{line}`, and process {} had begun so", leader.pid);
                    return Err(found(ViolationKind::BegunTwice, said));
                }
                leader.last = leader.last.max(line.at);
                leader.until = leader.until.max(line.until);
                leader.ticks += u64::from(line.what == Step::Tick);
                let is_beyond = line.until > Time::ZERO && line.left().is_err();
                leader.beyond = leader.beyond.or(Some(line.at)).filter(|_| is_beyond);
                match leader.beyond {
                    Some(since) if line.at.since(since) > moment() => {
                        let said =
                            format!("work beyond its lease: `{line}`, and already at {since}");
                        Err(found(ViolationKind::Beyond, said))
                    }
                    _ => Ok(()),
                }
            }
            _ => self.change(line),
        }
    }

    /// Makes the leadership of this line the current one: an earlier leadership may go on at the
    /// same time as the latest.
    fn turn_to(&mut self, line: &Line) {
        if let Some(at) = self.past.iter().position(|past| past.wrote(line)) {
            let earlier = self.past.swap_remove(at);
            self.past.extend(self.current.replace(earlier));
        }
    }

    /// Checks a line whose leadership differs from the leadership of the line before.
    fn change(&mut self, line: Line) -> Result<(), Violation> {
        if let Some(leader) = self.current.as_ref().filter(|_| !self.may_overlap) {
            let wrong = if self.past.iter().any(|past| past.wrote(&line)) {
                Some(ViolationKind::Overlap)
            } else if line.fence == leader.fence {
                Some(ViolationKind::SameFence)
            } else if line.fence < leader.fence {
                Some(ViolationKind::FenceWentBack)
            } else {
                (line.at <= leader.last).then_some(ViolationKind::ClockOverlap)
            };
            if let Some(wrong) = wrong {
                let said =
                    format!("{wrong:?}: `{line}` after {leader}, seen last at {}", leader.last);
                return Err(found(wrong, said));
            }
        }
        if line.what != Step::Begin {
            return Err(found(ViolationKind::NeverBegan, format!("`{line}` without a begin")));
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
            beyond: None,
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

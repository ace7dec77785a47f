//! Processes that a lost guard left behind (strays), while the supervisor kills them.

use std::collections::BTreeSet;
use std::io;

use rustix::process::Pid;

use crate::guards;
use crate::launcher;

/// The processes that a pass has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remains {
    /// No process but the guard itself, and dead processes that cannot be reaped.
    GuardOnly,
    /// Only processes that were killed before they became the command, and so never run its code.
    NeverRan,
    /// Other processes, which may be the command's.
    Others,
}

/// Remembers, from one pass to the next, the processes that were killed before they became the
/// command.
#[derive(Default)]
pub(crate) struct Strays {
    before: BTreeSet<i32>,
    never_ran: BTreeSet<i32>,
}

impl Strays {
    pub(crate) const fn pids(&self) -> &BTreeSet<i32> {
        &self.before
    }

    /// Checks the processes that are left after another round of SIGKILL. A process that the
    /// previous pass found got SIGKILL then, too: if it has not become the command by now, it never
    /// runs the command's code.
    pub(crate) fn look(&mut self, guard: Option<Pid>) -> io::Result<Remains> {
        let left = guards::left(guard)?;
        for pid in &left {
            if self.before.contains(&pid.as_raw_pid()) && launcher::is_part_of_us(*pid) {
                self.never_ran.insert(pid.as_raw_pid());
            }
        }
        self.before = left.iter().map(|pid| pid.as_raw_pid()).collect();
        Ok(if left.is_empty() {
            Remains::GuardOnly
        } else if self.before.is_subset(&self.never_ran) {
            Remains::NeverRan
        } else {
            Remains::Others
        })
    }
}

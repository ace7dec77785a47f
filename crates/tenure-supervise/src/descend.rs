//! The processes below this one: finding, signalling and reaping them.
//!
//! The kernel reuses process ids, so a signal must only go to an id that still belongs to the same
//! process. A child keeps its id, and that of its group, until it is reaped, and only this process
//! reaps its children. So this module signals children by id, together with their groups. A signal
//! to a group reaches every member at once, however fast the members fork. This module signals
//! deeper descendants through a pidfd, after a check of their parent.
//!
//! The group of a child holds only descendants of this process: the group belongs to a session that
//! this process or a process below it began, and no group is in two sessions. This process's own
//! group is the exception, and gets no signal.
//!
//! A single pass can miss processes that are being born or whose parents are dying. A later pass
//! finds them, at the latest as children of this process, which is the subreaper.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, test_kill_process, waitpid,
};

use crate::frame::Ended;

/// The maximum number of passes, even if no two in a row agree: a program may start processes all
/// the time.
const LOOKS: usize = 16;

/// Processes below this one that live or are not reaped yet, as far as one pass shows them.
#[derive(Default)]
struct Tree {
    children: Vec<Pid>,
    deeper: Vec<Descendant>,
    pids: BTreeSet<i32>,
}

struct Descendant {
    pid: Pid,
    parent: Pid,
}

/// Sends SIGTERM to everything below this process, except `spared` children and their descendants.
/// Also sends SIGCONT, without which a stopped process would not see SIGTERM. Call this once: a
/// second call would hit the processes that programs start for their own shutdown.
pub(crate) fn terminate(spared: &dyn Fn(Pid) -> bool) -> io::Result<()> {
    let tree = Tree::settled(spared)?;
    tree.signal(Signal::TERM);
    tree.signal(Signal::CONT);
    Ok(())
}

/// Sends SIGKILL to everything below this process, except `spared` children and their descendants.
/// Callers repeat this until nothing is left.
pub(crate) fn kill(spared: &dyn Fn(Pid) -> bool) -> io::Result<()> {
    // Kill the groups of the children first: that alone nearly always ends everything.
    let children = children(spared)?;
    Tree { children, ..Tree::default() }.signal(Signal::KILL);
    Tree::look(spared)?.signal(Signal::KILL);
    Ok(())
}

/// Reaps the dead children that are not `spared`, passes each to `ended`, and returns whether any
/// child is left. The answer `false` is certain only when it comes twice in a row: a child that
/// dies during a pass can hide another.
pub(crate) fn reap(
    spared: &dyn Fn(Pid) -> bool,
    ended: &mut dyn FnMut(Pid, Ended),
) -> io::Result<bool> {
    let mut left = false;
    for child in children(spared)? {
        left |= !reap_one(child, ended);
    }
    Ok(left)
}

/// The processes below this one that are not dead, and not below `spared` children.
pub(crate) fn living(spared: &dyn Fn(Pid) -> bool) -> io::Result<Vec<Pid>> {
    let Tree { mut children, deeper, .. } = Tree::look(spared)?;
    children.extend(deeper.iter().map(|found| found.pid));
    // `/proc` may hide the processes of other users (hidepid). A signal to a hidden process fails
    // with `EPERM`, and a signal to a missing process fails with another error.
    let is_hidden = |pid| test_kill_process(pid) == Err(Errno::PERM);
    children.retain(|pid| Stat::read(*pid).map_or(is_hidden(*pid), |stat| !stat.is_dead(*pid)));
    Ok(children)
}

pub(crate) fn began(pid: Pid) -> Option<u64> {
    Stat::read(pid).map(|stat| stat.began)
}

/// The session of `pid`; 0 for a session that began outside of this process's PID namespace.
pub(crate) fn session(pid: Pid) -> Option<i32> {
    Stat::read(pid).map(|stat| stat.session)
}

/// Whether this process has a terminal with another group in its foreground.
pub(crate) fn is_in_background() -> bool {
    Stat::read(getpid()).is_some_and(|stat| stat.is_in_background())
}

/// Whether the process `pid` has begun to end, or has ended.
pub(crate) fn is_ending(pid: Pid) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.flags & Stat::ENDING != 0)
}

/// Reaps `child` if it is dead; true if this process has no such child any more.
pub(crate) fn reap_one(child: Pid, ended: &mut dyn FnMut(Pid, Ended)) -> bool {
    match rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::NOHANG)) {
        Ok(Some((pid, status))) => {
            if let Some(how) = Ended::from_status(status) {
                ended(pid, how);
            }
            true
        }
        Ok(None) => false,
        Err(error) => error == Errno::CHILD,
    }
}

/// Fails if `/proc` is that of another PID namespace: its numbers belong to other processes here.
pub(crate) fn check_proc() -> io::Result<()> {
    static IS_OURS: OnceLock<bool> = OnceLock::new();
    let is_ours = match IS_OURS.get() {
        Some(is_ours) => *is_ours,
        None => {
            let status = fs::read_to_string("/proc/self/status")?;
            // The line has a number for each namespace, from that of `/proc` down to our own.
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            let is_ours = numbers.is_none_or(|line| line.split_ascii_whitespace().count() == 1);
            *IS_OURS.get_or_init(|| is_ours)
        }
    };
    if is_ours {
        Ok(())
    } else {
        Err(io::Error::other(
            "/proc belongs to another PID namespace; mount a /proc for this namespace, as `unshare \
             --mount-proc` does",
        ))
    }
}

/// This process's children that are not `spared`, dead or alive.
pub(crate) fn children(spared: &dyn Fn(Pid) -> bool) -> io::Result<Vec<Pid>> {
    check_proc()?;
    let mut found = children_of(getpid())?;
    found.retain(|pid| !spared(*pid));
    Ok(found)
}

impl Tree {
    fn look(spared: &dyn Fn(Pid) -> bool) -> io::Result<Self> {
        let children = children(spared)?;
        let mut pids: BTreeSet<i32> = children.iter().map(|pid| pid.as_raw_pid()).collect();
        let mut deeper = Vec::new();
        let mut parents = children.clone();
        while let Some(parent) = parents.pop() {
            // An error means that the parent is gone. Its children are children of this process
            // now.
            for pid in children_of(parent).unwrap_or_default() {
                if pids.insert(pid.as_raw_pid()) {
                    deeper.push(Descendant { pid, parent });
                    parents.push(pid);
                }
            }
        }
        Ok(Self { children, deeper, pids })
    }

    /// Looks until a pass finds the same processes as the previous pass. A process that a dying
    /// parent hid from a pass is a child of this process in the next pass.
    fn settled(spared: &dyn Fn(Pid) -> bool) -> io::Result<Self> {
        let mut tree = Self::look(spared)?;
        for _ in 0..LOOKS {
            let before = std::mem::replace(&mut tree, Self::look(spared)?);
            if before.pids == tree.pids {
                break;
            }
        }
        Ok(tree)
    }

    fn signal(&self, signal: Signal) {
        let own = group(getpid());
        let mut groups = BTreeSet::new();
        for child in &self.children {
            match group(*child) {
                Some(group) if Some(group) != own => {
                    if groups.insert(group.as_raw_pid()) {
                        sent(kill_process_group(group, signal));
                    }
                }
                Some(_) | None => sent(kill_process(*child, signal)),
            }
        }
        for descendant in &self.deeper {
            sent(descendant.signal(signal, &groups));
        }
    }
}

impl Descendant {
    /// Signals the descendant if it is still the same process, and in none of the `groups` that
    /// have the signal already: to many programs a second SIGTERM means "at once".
    fn signal(&self, signal: Signal, groups: &BTreeSet<i32>) -> rustix::io::Result<()> {
        let pidfd = pidfd_open(self.pid, PidfdFlags::empty())?;
        // Read the stat after the pidfd was opened. If the number has gone to another process
        // since, the pidfd belongs to the dead process, and no process gets the signal.
        let Some(stat) = Stat::read(self.pid) else { return Ok(()) };
        let ours = [self.parent, getpid()].iter().any(|pid| pid.as_raw_pid() == stat.parent);
        if !ours || groups.contains(&stat.group) {
            return Ok(());
        }
        pidfd_send_signal(&pidfd, signal)
    }
}

/// The group of `pid`, if it has a number in this process's PID namespace. A signal to group 0
/// would reach this process's own group.
fn group(pid: Pid) -> Option<Pid> {
    Stat::read(pid).filter(|stat| stat.group > 0).and_then(|stat| Pid::from_raw(stat.group))
}

/// Drops the error: a process that is gone needs no signal, and a process of another user gets no
/// signal, but is waited for.
fn sent(result: rustix::io::Result<()>) {
    match result {
        Ok(()) | Err(_) => {}
    }
}

fn children_of(pid: Pid) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?.path();
        let list = match fs::read_to_string(task.join("children")) {
            Ok(list) => list,
            // The thread ended meanwhile; its children belong to another thread.
            Err(_) if pid != getpid() || !task.exists() => continue,
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => continue,
            Err(error) => return Err(error),
        };
        let numbers = list.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        found.extend(numbers.filter(|number: &i32| *number > 0).filter_map(Pid::from_raw));
    }
    Ok(found)
}

/// Fields of `/proc/<pid>/stat`. Group and session are 0 when they began outside of this process's
/// PID namespace, as under `nsenter`. rustix's `getpgid` and `getsid` have no value for that.
#[derive(PartialEq, Eq, Debug)]
struct Stat {
    state: char,
    parent: i32,
    group: i32,
    session: i32,
    /// Group in the foreground of the process's terminal; -1 without a terminal.
    foreground: i32,
    flags: u32,
    /// Start of the process, in ticks since the machine started. Id and start together identify a
    /// process.
    began: u64,
}

impl Stat {
    /// `PF_EXITING` of the kernel.
    const ENDING: u32 = 4;

    /// Whether every thread has ended: other threads may still run after the first has ended.
    fn is_dead(&self, pid: Pid) -> bool {
        let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        matches!(self.state, 'Z' | 'X') && threads() <= 1
    }

    const fn is_in_background(&self) -> bool {
        self.foreground > 0 && self.foreground != self.group
    }

    fn read(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses a line. The name of the process is in parentheses and may hold anything, parentheses
    /// included.
    fn parse(line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(line.get(name_end + 1..)?).ok()?.split(' ').skip(1);
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let foreground = fields.nth(1)?.parse().ok()?;
        let flags = fields.next()?.parse().ok()?;
        let began = fields.nth(12)?.parse().ok()?;
        Some(Self { state, parent, group, session, foreground, flags, began })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rustix::process::getppid;

    use super::*;
    use crate::eventually::eventually;

    #[test]
    fn a_name_cannot_forge_a_parent() {
        let line = b"42 (a) R 1 1 (b\xff) S 7 9 8 0 -1 4 1 2 3 4 5 6 7 8 9 10 11 12 99 14";
        let stat = Stat::parse(line).unwrap();
        let expected = Stat {
            state: 'S',
            parent: 7,
            group: 9,
            session: 8,
            foreground: -1,
            flags: 4,
            began: 99,
        };
        assert_eq!(stat, expected);
        for bad in [&b""[..], b"42 (x", b"42 (x) S", b"42 (x) S 1 2 3 4 5", b"42 (x) S one 2 3"] {
            assert_eq!(Stat::parse(bad), None);
        }
        let own = Stat::read(getpid()).unwrap();
        assert_eq!(Pid::from_raw(own.parent), getppid());
    }

    #[test]
    fn foreign_process_gets_no_signal() {
        let script = "sleep 60 & echo $!; wait $!";
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        let kill = |parent, groups: &[i32]| {
            let groups = groups.iter().copied().collect();
            Descendant { pid, parent }.signal(Signal::KILL, &groups).unwrap();
        };
        kill(Pid::INIT, &[]);
        kill(Pid::from_child(&shell), &[Stat::read(pid).unwrap().group]);
        assert!(shell.try_wait().unwrap().is_none(), "killed what it should have spared");
        assert!(Stat::read(pid).is_some());
        kill(Pid::from_child(&shell), &[]);
        assert_eq!(shell.wait().unwrap().code(), Some(128 + 9));
    }

    #[test]
    fn ending_thread_is_no_error() {
        let over = AtomicBool::new(false);
        let looked = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    thread::spawn(|| ()).join().unwrap();
                }
            });
            let looked = (0..5_000).try_for_each(|_| children(&|_| false).map(drop));
            over.store(true, Ordering::Relaxed);
            looked
        });
        looked.unwrap();
    }

    #[test]
    fn look_shows_grandchildren() {
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "cat; exit 3"]).stdin(Stdio::piped()).spawn().unwrap();
        let child = Pid::from_child(&shell);
        let spared = |pid| pid != child;
        // Another test's child that dies during a look can hide this child.
        let mut tree = Tree::default();
        eventually("a grandchild", || {
            tree = Tree::look(&spared).unwrap();
            !tree.deeper.is_empty()
        });
        assert_eq!(tree.children, [child]);
        assert_eq!(tree.deeper.iter().map(|found| found.parent).collect::<Vec<_>>(), [child]);
        drop(shell.stdin.take());
        let mut seen = Vec::new();
        eventually("its end", || {
            reap(&spared, &mut |pid, how| seen.push((pid, how))).unwrap();
            !seen.is_empty()
        });
        assert_eq!(seen, [(child, Ended::Code(3))]);
        eventually("none left", || !reap(&spared, &mut |_, _| panic!("another end")).unwrap());
        assert!(reap_one(child, &mut |_, _| {}), "it is no child any longer");
        assert!(shell.wait().is_err());
    }
}

//! Every exit code of the command.
//!
//! A command returns its exit to `program.rs`. For `tenure run`, `Runner::serve` in
//! `commands/run/runner.rs` decides it, and `Process::serve` takes that of the first runner to end.

use tenure_supervise::SuperviseError;

/// How the command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The command did its work.
    Done,
    /// The command ran, and its check failed: the check at the end of `demo`; a state that
    /// `wait-safe` waits for and a setting rules out; `transfer`, and another candidate leads.
    Wrong,
    /// The arguments, variables or file cannot be used; nothing was started.
    Usage,
    /// The election has no leader.
    Vacant,
    /// No quorum could be asked, so the leader is unknown.
    Unknown,
    /// `run --once`: the leadership was lost before CMD ended.
    Lost,
    /// The process refuses: it does not lead, does not wait, the name is held by another, no
    /// permission.
    Refused,
    /// `run --once --try`: the candidate was not elected within that span. CMD may end with the
    /// same code.
    NotElected,
    /// No process answers where the runner or the node should be, or a leader that was told from
    /// elsewhere to step down leads on.
    Unreachable,
    /// A bug in tenure.
    Bug,
    /// The operating system refuses: a file, a directory, a socket, a port in use.
    System,
    /// CMD exists and cannot be executed.
    NotExecutable,
    /// CMD does not exist.
    NotFound,
    /// CMD ended with this code of its own.
    Command(u8),
    /// CMD, or the command itself, was ended by this signal. Not once CMD has ended well, while
    /// `run --hold` keeps its leadership.
    Signal(u8),
}

impl Exit {
    /// The code that the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Wrong => 1,
            Self::Usage => 2,
            Self::Vacant => 3,
            Self::Unknown => 4,
            Self::Lost => 5,
            Self::Refused => 6,
            Self::NotElected => 7,
            // 69, 70 and 74 are what sysexits.h calls them.
            Self::Unreachable => 69,
            Self::Bug => 70,
            Self::System => 74,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Command(code) => code,
            // As shells do it. There is no signal above 64.
            Self::Signal(number) => 128 + number % 128,
        }
    }
}

/// The exit and the remedy for a CMD that did not start.
pub fn exit_of_start(error: &SuperviseError) -> (Exit, &'static str) {
    let exit = match error.exit_code() {
        127 => Exit::NotFound,
        126 => Exit::NotExecutable,
        _ => Exit::System,
    };
    let fix = match error {
        SuperviseError::Hung { .. } | SuperviseError::Stuck { .. } => {
            "look at the file system that it is on, or put CMD on one of this machine"
        }
        // The error names the fault of the file.
        SuperviseError::Exec { source, .. } if source.raw_os_error().is_none() => {
            "mend that file, or give another CMD"
        }
        _ => match exit {
            Exit::NotFound => "correct its name, or give the path of an executable file",
            Exit::NotExecutable => "make it executable, or give another CMD",
            _ => "look at the limits of this process and at /proc",
        },
    };
    (exit, fix)
}

/// The table that `tenure --help` ends with.
pub const HELP: &str = "\
Exit codes:
    0  done
    1  it ran, and a check failed (demo), what is waited for never comes (wait-safe), or
       another one leads than was named (transfer)
    2  arguments, variables or file cannot be used, or nobody to elect with can be used with them;
       CMD has not run, or has ended
    3  vacant: nobody leads
    4  unknown: no quorum could be asked, or who leads may not have been heard of
    5  leadership lost (run --once)
    6  refused: not leading, not waiting, no permission, the name is held by another, or others
       go by other times
    7  not elected in time (run --once --try): CMD has not run
   69  no answer where the runner or the node should be, or one that was told to step down over
       the network leads on
   70  a bug in tenure
   74  the system refuses: a file, a directory, a socket, a port in use
  126  CMD cannot be executed
  127  CMD does not exist
128+n  ended by signal n
  any  CMD's own code passes through, be it one of these: with --json, the event not-elected tells
       a 7 of tenure from one of CMD";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_code_once() {
        let exits = [
            Exit::Done,
            Exit::Wrong,
            Exit::Usage,
            Exit::Vacant,
            Exit::Unknown,
            Exit::Lost,
            Exit::Refused,
            Exit::NotElected,
            Exit::Unreachable,
            Exit::Bug,
            Exit::System,
            Exit::NotExecutable,
            Exit::NotFound,
        ];
        let listed: Vec<u8> =
            HELP.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        assert_eq!(listed, exits.map(Exit::code));
        assert_eq!(Exit::Signal(9).code(), 137);
        assert_eq!(Exit::Command(42).code(), 42);
    }
}

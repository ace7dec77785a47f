//! Every exit code of the command.
//!
//! A command returns its exit to `program.rs`. For `tenure run`, `finish` in
//! `commands/run/leading.rs` takes the exit of CMD, and `Runner::serve` decides all other exits of
//! a runner. `Process::serve` takes the exit of the first runner that ends.

use tenure_supervise::SuperviseError;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Done,
    /// A check failed, at the end of `demo` or in `doctor`. Or `wait-safe` found a setting that
    /// keeps the cluster from ever being safe. Or another candidate leads after a `transfer`.
    Wrong,
    /// The settings are wrong, or do not fit the service or the nodes. CMD has not run, or has
    /// ended.
    Usage,
    Vacant,
    /// The leader is unknown, because no quorum could be asked; or the outcome of a change of
    /// members is unknown.
    Unknown,
    /// `run --once`: the leadership was lost before CMD ended.
    Lost,
    /// The process refuses: it does not lead or wait, another process has its name, or a permission
    /// is missing. Or the members refuse a change or an election, or a gate refuses an edict.
    Refused,
    /// `run --once --try`: the candidate was not elected within the span of `--try`. CMD may end
    /// with the same code.
    NotElected,
    /// The runner or the node does not answer, or a leader still leads after an order over the
    /// network to step down.
    Unreachable,
    Bug,
    /// The operating system refuses a file, a directory, a socket or a port.
    System,
    /// CMD exists and cannot be executed.
    NotExecutable,
    /// CMD does not exist.
    NotFound,
    Command(u8),
    /// The signal that ended CMD or the command itself. Under `run --hold`, a signal after CMD has
    /// succeeded ends the hold, and the exit is that of CMD.
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
            // sysexits.h has names for 69, 70 and 74.
            Self::Unreachable => 69,
            Self::Bug => 70,
            Self::System => 74,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Command(code) => code,
            // Shells report signals by such codes. No signal is above 64.
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
            "check the file system of CMD, or put CMD on a file system of this machine"
        }
        // The error names the fault of the file.
        SuperviseError::Exec { source, .. } if source.raw_os_error().is_none() => {
            "mend the file of CMD, or give another CMD"
        }
        _ => match exit {
            Exit::NotFound => "correct the name of CMD, or give the path of an executable file",
            Exit::NotExecutable => "make CMD executable, or give another CMD",
            _ => "check the limits of this process (ulimit -a), and /proc",
        },
    };
    (exit, fix)
}

/// The table at the end of `tenure --help`.
pub const HELP: &str = "\
Exit codes:
    0  done
    1  a check failed (demo, doctor), a restart will never be safe (wait-safe), or a candidate
       leads that was not named (transfer)
    2  the settings are wrong, or do not fit the service or the nodes; CMD has not run, or has
       ended
    3  vacant: nobody leads
    4  unknown: no quorum could be asked, a leader may exist that was not heard, or a change of
       members was not done in time
    5  leadership lost (run --once)
    6  refused: the process does not lead or does not wait, has no permission, another process
       has its name, other processes have different timing settings, the members refuse a change
       or an election, or a later edict was admitted (edict check)
    7  not elected in time (run --once --try): CMD has not run
   69  the runner or the node does not answer, or the leader still leads after an order over the
       network to step down
   70  a bug in tenure
   74  the system refuses: a file, a directory, a socket, a port in use
  126  CMD cannot be executed
  127  CMD does not exist
128+n  ended by signal n
  any  the code of CMD, which may be one of these; with --json, the event not-elected shows that
       a 7 is from tenure and not from CMD";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_code_once() {
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

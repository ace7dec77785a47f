//! The hidden subcommands of the demo: one of its processes, and a leader's worker.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use tenure::{Time, clock};

use super::work::Line;

/// The hidden subcommand that becomes a process of the demo.
const PROCESS: &str = "__demo-process";
/// The hidden subcommand that works while its candidate leads.
pub(super) const WORKER: &str = "__demo-worker";
/// The path of this binary, which works even after the file was replaced or removed.
pub(super) const MYSELF: &str = "/proc/self/exe";

/// Interval between two lines of a worker.
const TICK: Duration = Duration::from_millis(20);

/// Runs a hidden subcommand if this process was started for such a subcommand, and returns the exit
/// code for `main`. Call this function before the process starts threads.
#[must_use]
pub fn reenter() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    let ended = match args.next()?.to_str()? {
        PROCESS => perform(args),
        WORKER => work(args),
        _ => return None,
    };
    let Err(error) = ended;
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "error: a part of tenure demo: {error}");
    Some(ExitCode::FAILURE)
}

/// Builds a command that starts `tenure ARGS` and does not outlive the thread that starts it, even
/// after kill -9 of the demo. The process has its own process group: only the demo handles Ctrl-C.
pub(super) fn tenure(args: impl IntoIterator<Item = OsString>) -> Command {
    let mut command = Command::new(MYSELF);
    command.arg0("tenure").arg(PROCESS).arg(getpid().to_string()).args(args);
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TENURE_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).process_group(0);
    command
}

fn perform(mut args: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    let parent = args.next().unwrap_or_default();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the signal was armed.
    if getppid().is_none_or(|pid| *pid.to_string() != *parent) {
        return Err(io::Error::other("only tenure demo starts this subcommand"));
    }
    Err(Command::new(MYSELF).arg0("tenure").args(args).exec())
}

/// Appends a line to the file at each tick, until the process is killed.
fn work(mut args: impl Iterator<Item = OsString>) -> io::Result<Infallible> {
    let variable = |name: &str| {
        env::var(name).map_err(|error| io::Error::other(format!("variable {name}: {error}")))
    };
    let path = PathBuf::from(args.next().unwrap_or_default());
    let mut file = OpenOptions::new().append(true).open(path)?;
    let fence = variable("TENURE_FENCE")?.parse().map_err(io::Error::other)?;
    let id = variable("TENURE_ID")?;
    let pid = getpid().as_raw_pid().unsigned_abs();
    let until_file = PathBuf::from(variable("TENURE_UNTIL_FILE")?);
    loop {
        // Read the clock before the lease, so that `at` is never later than the moment in which the
        // lease was read.
        let at = clock::now();
        let until = until(&until_file)?;
        let line = Line { at, fence, id: id.clone(), pid, until };
        // Each line is one write, so that lines of two processes never mix.
        file.write_all(format!("{line}\n").as_bytes())?;
        std::thread::sleep(TICK);
    }
}

fn until(file: &Path) -> io::Result<Time> {
    let text = fs::read_to_string(file)?;
    let nanos = text.trim_end().parse().map_err(io::Error::other)?;
    Ok(Time::from_nanos(nanos))
}

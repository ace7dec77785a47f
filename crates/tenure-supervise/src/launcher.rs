//! The launcher: a process that becomes the command.

use std::convert::Infallible;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use tenure::state::FileId;

use crate::descend;
use crate::frame::{Failure, Report};
use crate::link::Link;
use crate::roles::{GUARD, LAUNCHER, MYSELF};

/// The name of a launcher in `/proc`, until `execve` names it after the command.
const NAME: &CStr = c"tenure:launch";

/// The kernel reads this many bytes of a file to find the file's interpreter.
const INTERPRETER_MAX: u64 = 256;

/// The reason if the file exists, and `execve` still reports that it does not.
const NO_LOADER: &str = "its dynamic loader is not on this machine; install the loader that `file` \
                         names, or build the program for the C library of this machine";

/// The order that a guard hands to its launcher with the command's standard input.
type Go = ();

pub(crate) struct Launch {
    pub(crate) guard: Pid,
    pub(crate) program: OsString,
    pub(crate) name: OsString,
    pub(crate) args: Vec<OsString>,
}

impl Launch {
    /// The command that starts the launcher, in its own process group, with `link` as standard
    /// input. The launcher shares the other standard streams with the guard, and so with the
    /// supervisor.
    pub(crate) fn command(&self, link: Link) -> Command {
        let mut command = Command::new(MYSELF);
        command.arg0(std::env::args_os().next().unwrap_or_default());
        command.arg(LAUNCHER).arg(self.guard.to_string());
        command.arg(&self.program).arg(&self.name).args(&self.args);
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(link)));
        command.process_group(0);
        command
    }

    fn parse(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let guard: i32 = args.next()?.to_str()?.parse().ok()?;
        let guard = Pid::from_raw(Some(guard).filter(|guard| *guard > 0)?)?;
        Some(Self { guard, program: args.next()?, name: args.next()?, args: args.collect() })
    }
}

/// Orders the launcher to go, with the command's standard input.
pub(crate) fn go(link: &Link, stdin: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
    let go: Go = ();
    link.send_with(&go, &[stdin])
}

/// Whether an unreaped launcher with a closed link has become the command.
pub(crate) fn became_the_command(launcher: Pid) -> bool {
    // Check for the end first: a process that has begun to end does not change its name any more.
    // (`execve` closes the link before it changes the name.)
    let ends = descend::is_ending(launcher);
    let name = fs::read(format!("/proc/{launcher}/comm")).unwrap_or_default();
    !ends || name.strip_suffix(b"\n") != Some(NAME.to_bytes())
}

/// Whether `pid` is a guard, a launcher, or a process that was forked to become one, and so not
/// part of a command.
pub(crate) fn is_part_of_us(pid: Pid) -> bool {
    let file = |pid: &str| {
        let about = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
        Some(FileId::of(&about))
    };
    let line = |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).ok();
    let own = "self";
    let theirs = pid.to_string();
    let is_own_file = file(own).is_some_and(|own| file(&theirs) == Some(own));
    is_own_file
        && line(&theirs).is_some_and(|theirs| {
            let role = theirs.split(|byte| *byte == 0).nth(1);
            let has_role = [GUARD, LAUNCHER].iter().any(|name| role == Some(name.as_bytes()));
            has_role || line(own) == Some(theirs)
        })
}

pub(crate) fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    rustix::thread::set_name(NAME).ok();
    let (Some(launch), Ok(link)) = (Launch::parse(args), Link::from_stdin()) else {
        return crate::guard::refuse(LAUNCHER);
    };
    let Err(failure) = become_command(&launch, &link);
    // Without a guard there is no process to report to.
    link.send(&Report::Failed(failure)).ok();
    ExitCode::FAILURE
}

/// Returns only on failure. `execve` closes the link, by which the guard learns of the success.
fn become_command(launch: &Launch, link: &Link) -> Result<Infallible, Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::setup("asking for a signal at the guard's end", &error.into()))?;
    // The guard may have ended before the death signal was requested.
    if getppid() != Some(launch.guard) {
        return Err(Failure::Setup { doing: "looking for the guard".to_owned(), errno: 0 });
    }
    let (_, [stdin]): (Go, _) = link
        .receive_with()
        .map_err(|error| Failure::setup("taking over standard input", &error))?;
    let program = Path::new(&launch.program);
    if let Some(why) = unusable_script(program) {
        return Err(Failure::Interpreter(why));
    }
    let mut command = Command::new(program);
    command.arg0(&launch.name).args(&launch.args).stdin(Stdio::from(stdin));
    let error = command.exec();
    match error.raw_os_error() {
        Some(_) if error.kind() == io::ErrorKind::NotFound && program.exists() => {
            Err(Failure::Interpreter(NO_LOADER.to_owned()))
        }
        Some(errno) => Err(Failure::Exec(errno)),
        None => Err(Failure::setup("executing the command", &error)),
    }
}

/// The reason why the interpreter in a script's first line cannot execute the script.
pub(crate) fn unusable_script(program: &Path) -> Option<String> {
    let head = head(program)?;
    // The C library would run the file by `/bin/sh`, whatever interpreter the file names.
    if head.starts_with(b"\xef\xbb\xbf#!") {
        let why = "a byte order mark stands before the #! of its first line, so no interpreter is \
                   found; remove the mark, as `sed -i '1s/^\\xEF\\xBB\\xBF//' FILE` does";
        return Some(why.to_owned());
    }
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = line.trim_ascii_start();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let name = &line[..end];
    if name.is_empty() || !matches!(Path::new(OsStr::from_bytes(name)).try_exists(), Ok(false)) {
        return None;
    }
    let name = String::from_utf8_lossy(name);
    Some(match name.strip_suffix('\r') {
        None => format!("the interpreter {name} of its first line does not exist"),
        Some(name) => format!(
            "its lines end with CR LF, so its first line names the interpreter {name} followed by \
             a carriage return, which does not exist; remove the carriage returns, as \
             `sed -i 's/\\r$//' FILE` does"
        ),
    })
}

/// The bytes of a file that the kernel reads to find its interpreter; `None` for a file that cannot
/// be opened at once, which is left to the kernel.
fn head(program: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(program, flags, Mode::empty()).ok()?;
    let mut head = Vec::new();
    File::from(file).take(INTERPRETER_MAX).read_to_end(&mut head).ok()?;
    Some(head)
}

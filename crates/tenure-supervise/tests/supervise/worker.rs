//! A command that writes the time into a file again and again, and has children in every place that
//! they can reach.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Signal, getpid, setpgid, setsid};
use tenure::clock;

pub(crate) const ROLE: &str = "__worker";

const TICK: Duration = Duration::from_millis(2);

/// `file manner place child…`, where a child is `manner/place`.
///
/// Manners: `plain` dies of SIGTERM, `polite` exits with 7 on it, `stubborn` goes on, `restless`
/// replaces itself by a new process all the time. Places: `here`, a `group` of its own, a
/// `session` of its own, a `daemon` (a new session, forked twice).
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<String> = args.map(|arg| arg.into_string().unwrap()).collect();
    let [file, manner, place, children @ ..] = &args[..] else { return ExitCode::from(2) };
    let log = OpenOptions::new().append(true).create(true).open(file).unwrap();
    // The signal handler writes a byte for each SIGTERM.
    let (mut told, tell) = UnixStream::pair().unwrap();
    told.set_nonblocking(true).unwrap();
    if matches!(&manner[..], "polite" | "stubborn") {
        signal_hook::low_level::pipe::register(Signal::TERM.as_raw(), tell).unwrap();
    }
    match &place[..] {
        "group" => setpgid(None, None).unwrap(),
        "session" => drop(setsid().unwrap()),
        "daemon" => {
            setsid().unwrap();
            spawn(file, manner, "here");
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    for child in children {
        let (manner, place) = child.split_once('/').unwrap();
        spawn(file, manner, place);
    }
    stamp(&log, 'B');
    if manner == "restless" {
        spawn(file, manner, place);
        return ExitCode::SUCCESS;
    }
    loop {
        while told.read(&mut [0]).is_ok_and(|read| read == 1) {
            stamp(&log, 'T');
            if manner == "polite" {
                return ExitCode::from(7);
            }
        }
        std::thread::sleep(TICK);
        stamp(&log, '.');
    }
}

fn spawn(file: &str, manner: &str, place: &str) {
    // As under a shell, no process waits for this child.
    #[expect(clippy::zombie_processes)]
    let _child = Command::new("/proc/self/exe")
        .arg0(ROLE)
        .args([ROLE, file, manner, place])
        .spawn()
        .unwrap();
}

/// Writes a line in one call, so that lines of many processes do not mix.
fn stamp(mut log: &File, what: char) {
    let line = format!("{} {} {what}\n", getpid(), clock::now().as_nanos());
    log.write_all(line.as_bytes()).unwrap();
}

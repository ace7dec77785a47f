//! The services of a test end when the test is killed with -9, although the test drops nothing. A
//! test that panics shows the last lines of their logs.
//!
//! This program starts itself again as the test that is killed, or that panics.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tenure_services::{ALL, Service};

/// The variable of the test that is killed. Its value is the service that the test starts.
const ROLE: &str = "TENURE_SERVICES_TO_BE_KILLED";

/// The variable of the test that panics.
const PANICS: &str = "TENURE_SERVICES_TO_PANIC";

fn main() -> ExitCode {
    if std::env::var_os(PANICS).is_some() {
        let _started = (ALL[0].start)(0, 1).unwrap();
        panic!("this panic is meant");
    }
    if let Ok(name) = std::env::var(ROLE) {
        let service = ALL.into_iter().find(|service| service.name == name);
        return run_until_killed(service.unwrap());
    }
    let trial = |service: &'static Service| {
        Trial::test(format!("{}_does_not_outlive_a_killed_test", service.name), || killed(service))
    };
    let mut trials: Vec<_> = ALL.map(trial).into();
    trials.push(Trial::test("a_panic_shows_what_services_said_last", panics));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run_until_killed(service: &Service) -> ExitCode {
    let started = (service.start)(0, 1).unwrap();
    let pids =
        started.said.lines().filter_map(|line| line.split_once("(process ")?.1.split_once(')'));
    let pids: Vec<_> = pids.map(|(pid, _)| pid).collect();
    let mut out = io::stdout();
    writeln!(out, "{} {}", started.folder.display(), pids.join(", ")).unwrap();
    out.flush().unwrap();
    loop {
        thread::park();
    }
}

fn killed(service: &Service) -> Result<(), Failed> {
    let mut test = Command::new(std::env::current_exe()?)
        .env(ROLE, service.name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(out) = test.stdout.take() {
        BufReader::new(out).read_line(&mut said)?;
    }
    test.kill()?;
    test.wait()?;
    let (folder, pids) = said.trim().split_once(' ').ok_or("it did not say its pids")?;
    let pids: Vec<&str> = pids.split(", ").collect();
    let left = || pids.iter().filter(|pid| runs_here(pid, folder)).count();
    // The test checks 600 times, because the end takes a moment.
    for _ in 0..600 {
        if left() == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let left = left();
    // The files stay after -9.
    fs::remove_dir_all(folder)?;
    if pids.len() != 1 || left > 0 {
        return Err(format!("of {pids:?}, {left} are left").into());
    }
    Ok(())
}

fn panics() -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?).env(PANICS, "1").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let (_, log) = said.split_once("the last lines of ").ok_or(&*said)?;
    if log.lines().count() < 2 {
        return Err(said.into());
    }
    Ok(())
}

/// Whether the process runs, and still has its data in `folder`.
fn runs_here(pid: &str, folder: &str) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains(folder)
}

//! A test that is killed with -9 drops nothing; its services end all the same.
//!
//! This program starts itself again to be the test that is killed.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tenure_services::{ALL, Service};

/// Set for the one that is killed, to the service that it starts.
const ROLE: &str = "TENURE_SERVICES_TO_BE_KILLED";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(ROLE) {
        let service = ALL.into_iter().find(|service| service.name == name);
        return run_until_killed(service.unwrap());
    }
    let trial = |service: &'static Service| {
        Trial::test(format!("{}_does_not_outlive_a_killed_test", service.name), || killed(service))
    };
    libtest_mimic::run(&Arguments::from_args(), ALL.map(trial).into()).exit_code()
}

/// Starts a server, says its folder and its pid, and waits.
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
    // Looked at 600 times: ending takes them a moment.
    for _ in 0..600 {
        if left() == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let left = left();
    // Files are what -9 leaves behind.
    fs::remove_dir_all(folder)?;
    if pids.len() != 1 || left > 0 {
        return Err(format!("of {pids:?}, {left} are left").into());
    }
    Ok(())
}

/// Whether the process is there, and still the one that has its data in `folder`.
fn runs_here(pid: &str, folder: &str) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains(folder)
}

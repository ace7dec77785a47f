//! Runs steps of `cargo xtask test`, and prints the seconds of each.

use std::fs;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::steps::Step;
use crate::tests;
use crate::workspace::Workspace;

/// Prints `steps` and the commands of each.
pub(crate) fn list(workspace: &Workspace, steps: &[Step]) -> Result<(), Error> {
    for step in steps {
        println!("{:12}{}", step.name(), step.purpose());
        for command in step.commands(workspace)? {
            println!("{:12}  {command}", "");
        }
    }
    Ok(())
}

/// Runs `steps` in order and stops at the first that fails. At the end, in either case, what took
/// how long.
pub(crate) fn run(workspace: &Workspace, steps: &[Step]) -> Result<(), Error> {
    if steps.is_empty() {
        return Err(Error::Missing {
            what: "no step is left to run".into(),
            remedy: "`cargo xtask test --list` names them.".into(),
        });
    }
    let all = Meter::start();
    let (mut times, mut slowest, mut done) = (Vec::new(), Vec::new(), Ok(()));
    for step in steps {
        println!("\n== {}: {}", step.name(), step.purpose());
        let meter = Meter::start();
        done = step.run(workspace);
        let (took, how) = (meter.read(), if done.is_ok() { "passed in" } else { "failed after" });
        println!("\n== {} {how} {took}", step.name());
        times.push((step.name(), took));
        if *step == Step::Test {
            // The next run of tests writes its own.
            slowest = tests::slowest(workspace);
        }
        if done.is_err() {
            break;
        }
    }
    tests::print(&slowest);
    let took = all.read();
    match &done {
        Ok(()) => println!("\nAll {} steps passed in {took}:", steps.len()),
        Err(_) => println!("\nStep {} of {} failed after {took}:", times.len(), steps.len()),
    }
    for (step, took) in times {
        println!("{took:>36}  {step}");
    }
    done
}

/// Measures a step or a part.
pub(crate) struct Meter {
    began: Instant,
    processors: Duration,
}

impl Meter {
    #[expect(clippy::disallowed_methods, reason = "people read how long a step takes")]
    pub(crate) fn start() -> Self {
        Self { began: Instant::now(), processors: of_ended_children() }
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Time since the start, and the processor time of children meanwhile.
    pub(crate) fn read(&self) -> String {
        let wall = self.elapsed().as_secs_f64();
        let processors = (of_ended_children() - self.processors).as_secs_f64();
        format!("{wall:.1} s ({processors:.0} s of processors)")
    }
}

/// The processor time of all children that have ended, and of theirs: `cutime` and `cstime` of
/// proc(5), in ticks. None where that cannot be read.
fn of_ended_children() -> Duration {
    /// In hundredths of a second on every system that this runs on.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: f64 = fields.skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Duration::from_secs_f64(ticks / TICKS)
}

#[cfg(test)]
mod tests_of_run {
    use super::*;

    #[test]
    fn meter_counts_work_of_children() {
        let meter = Meter::start();
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let ended = std::process::Command::new("sh").args(["-c", work]).status();
        assert!(ended.is_ok_and(|status| status.success()));
        assert!(of_ended_children() > meter.processors);
    }
}

//! The tests, run by `cargo nextest`: each in a process of its own, with the limits of
//! `.config/nextest.toml`.

use std::fs;
use std::path::PathBuf;

use roxmltree::Document;

use crate::command::Cmd;
use crate::error::Error;
use crate::steps::FULL;
use crate::tools;
use crate::workspace::Workspace;

/// How many of the slowest tests the end of a run names.
const SLOWEST: usize = 10;

/// All tests, with every feature of the command.
pub(crate) fn all() -> Cmd {
    nextest("--features").arg(FULL)
}

/// Refusals of a command without features: nothing else of it differs. The whole workspace is
/// chosen all the same, so that dependencies have the features that they were built with before.
pub(crate) fn bare() -> Cmd {
    nextest("--test errors")
}

/// `cargo nextest run` of the workspace. Backtraces would stand before what a test waited for.
pub(crate) fn nextest(arguments: &str) -> Cmd {
    Cmd::cargo("nextest run --workspace").args(arguments).env("RUST_BACKTRACE", "0")
}

/// Runs `command` beside a server that its tests share.
pub(crate) fn run(workspace: &Workspace, command: Cmd) -> Result<(), Error> {
    tenure_services::build_tools()?;
    tools::NEXTEST.ensure(workspace)?;
    // Without one of this run, that of an earlier run would be taken for it.
    let _ = fs::remove_file(report(workspace));
    let shared = tenure_services::share()?;
    command.env(shared.variable, &shared.address).run(workspace)
}

/// Where nextest reports what each test took.
fn report(workspace: &Workspace) -> PathBuf {
    workspace.target.join("nextest/default/junit.xml")
}

/// Seconds and names of the slowest tests of the last run, the slowest first; none if it ran none.
pub(crate) fn slowest(workspace: &Workspace) -> Vec<(f64, String)> {
    fs::read_to_string(report(workspace)).map(|report| in_report(&report)).unwrap_or_default()
}

/// Prints them, if there are any.
pub(crate) fn print(slowest: &[(f64, String)]) {
    if !slowest.is_empty() {
        println!("\nThe slowest tests:");
    }
    for (seconds, test) in slowest {
        println!("{seconds:>9.1} s  {test}");
    }
}

/// The slowest tests in a report of nextest's.
fn in_report(report: &str) -> Vec<(f64, String)> {
    let Ok(report) = Document::parse(report) else { return Vec::new() };
    let cases = report.descendants().filter(|node| node.has_tag_name("testcase"));
    let mut tests: Vec<_> = cases
        .filter_map(|case| {
            let name = format!("{} {}", case.attribute("classname")?, case.attribute("name")?);
            Some((case.attribute("time")?.parse().ok()?, name))
        })
        .collect();
    tests.sort_by(|(one, _): &(f64, _), (other, _)| other.total_cmp(one));
    tests.truncate(SLOWEST);
    tests
}

#[cfg(test)]
mod tests_of_tests {
    use super::*;

    #[test]
    fn slowest_tests_come_first() {
        let case = |nth: u32| {
            format!(r#"<testcase name="t{nth}" classname="core::paper" time="{nth}.5"/>"#)
        };
        let cases: String = (0..20).map(case).collect();
        let report = format!("<testsuites><testsuite>{cases}</testsuite></testsuites>");
        let slowest = in_report(&report);
        assert_eq!(slowest.len(), SLOWEST);
        assert_eq!(slowest[0], (19.5, "core::paper t19".to_owned()));
        assert_eq!(slowest[9], (10.5, "core::paper t10".to_owned()));
    }
}

//! The tests, run by `cargo nextest`: each in a process of its own, with the limits of
//! `.config/nextest.toml`.

use std::fs;

use roxmltree::Document;

use crate::command::Cmd;
use crate::error::Error;
use crate::tools;
use crate::tree::Tree;
use crate::workspace::{root, target};

/// Number of the slowest tests that the end of a run names.
const SLOWEST: usize = 10;

/// `cargo nextest run` of the workspace, without backtraces, which would hide the message of a
/// failed test.
pub(crate) fn nextest(arguments: &str) -> Cmd {
    Cmd::cargo("nextest run --workspace").args(arguments).env("RUST_BACKTRACE", "0")
}

/// The names of the tests that only the soak runs: `crates/*/tests/*_long.rs`.
pub(crate) fn long() -> Result<Vec<String>, Error> {
    let name = |path: &String| {
        let (_, name) = path.strip_suffix(".rs")?.rsplit_once("/tests/")?;
        name.ends_with("_long").then(|| name.to_owned())
    };
    Ok(Tree::read(&root())?.texts.keys().filter_map(name).collect())
}

/// Runs `command` beside a server that its tests share, and prints the slowest tests.
pub(crate) fn run(command: Cmd) -> Result<(), Error> {
    tenure_services::build_tools()?;
    tools::NEXTEST.ensure()?;
    let report = target().join("nextest/default/junit.xml");
    // Remove the report of an earlier run, so that it does not pass for the report of this run.
    let _ = fs::remove_file(&report);
    let shared = tenure_services::share()?;
    let done = command.env(shared.variable, &shared.address).run();
    let slowest = fs::read_to_string(report).map(|report| slowest(&report)).unwrap_or_default();
    if !slowest.is_empty() {
        println!("\nThe slowest tests:");
    }
    for (seconds, test) in slowest {
        println!("{seconds:>9.1} s  {test}");
    }
    done
}

/// Seconds and names of the slowest tests in a report of nextest, the slowest first.
fn slowest(report: &str) -> Vec<(f64, String)> {
    let Ok(report) = Document::parse(report) else { return Vec::new() };
    let cases = report.descendants().filter(|node| node.has_tag_name("testcase"));
    let mut tests: Vec<(f64, String)> = cases
        .filter_map(|case| {
            let name = format!("{} {}", case.attribute("classname")?, case.attribute("name")?);
            Some((case.attribute("time")?.parse().ok()?, name))
        })
        .collect();
    tests.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    tests.truncate(SLOWEST);
    tests
}

#[cfg(test)]
mod tests_of_tests {
    use super::*;

    #[test]
    fn slowest_tests_come_first() {
        let case =
            |nth: u32| format!(r#"<testcase name="t{nth}" classname="core" time="{nth}.5"/>"#);
        let cases: String = (0..20).map(case).collect();
        let slowest = slowest(&format!("<testsuites><testsuite>{cases}</testsuite></testsuites>"));
        assert_eq!(slowest.len(), SLOWEST);
        assert_eq!(slowest[0], (19.5, "core t19".to_owned()));
        assert_eq!(slowest[9], (10.5, "core t10".to_owned()));
    }
}

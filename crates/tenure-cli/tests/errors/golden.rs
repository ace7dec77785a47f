//! Runs golden cases and compares.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

use crate::case::{Case, Outcome, Suite};
use crate::stage::{self, Text};

/// The number of cases that run at once.
const AT_ONCE: usize = 8;

/// The largest number of attempts for a case.
const PLAYS: usize = 10;

/// The files of cases in `folder` of the tests.
pub(crate) fn suites(folder: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(here)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

/// Runs every case of `files`, with these texts for its placeholders, and returns their number.
pub(crate) fn compare(files: &[PathBuf], texts: &[Text]) -> usize {
    let bless = blessing();
    let (mut count, mut report) = (0, String::new());
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        let mut suite = Suite::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        count += suite.cases.len();
        let found = perform_all(&suite.cases, texts);
        for (case, found) in suite.cases.iter_mut().zip(found) {
            let found = found
                .unwrap_or_else(|error| panic!("{}, {:?}: {error}", path.display(), case.title));
            if let Some(complaint) = complaint(case, &found) {
                write!(report, "\n{}, {:?}: {complaint}", path.display(), case.title).unwrap();
            } else if bless {
                case.expected = found;
            } else if case.expected != found {
                write!(
                    report,
                    "\n{}, {:?}\n--- expected\n{}--- found\n{}",
                    path.display(),
                    case.title,
                    case.expected,
                    found
                )
                .unwrap();
            }
        }
        if bless && suite.to_string() != text {
            std::fs::write(path, suite.to_string()).unwrap();
        }
    }
    assert!(report.is_empty(), "{report}\nReview this. If it is meant: cargo xtask bless");
    count
}

/// The outcomes of all cases. Several run at once, because most of them wait for a silent process.
fn perform_all(cases: &[Case], texts: &[Text]) -> Vec<Result<Outcome, String>> {
    let mut found = Vec::new();
    for few in cases.chunks(AT_ONCE) {
        found.extend(thread::scope(|scope| {
            let running: Vec<_> =
                few.iter().map(|case| scope.spawn(move || perform(case, texts))).collect();
            running.into_iter().map(|case| case.join().unwrap()).collect::<Vec<_>>()
        }));
    }
    found
}

/// Plays a case again while a process that should answer is silent, as on a busy machine.
fn perform(case: &Case, texts: &[Text]) -> Result<Outcome, String> {
    let silent = |outcome: &Outcome| {
        let said = outcome.to_string();
        said.matches("did not answer within").count() + said.matches("does not answer").count()
    };
    let play = || stage::perform(case, texts).map_err(|error| error.to_string());
    let all_answer = |found: &Result<Outcome, String>| {
        !found.as_ref().is_ok_and(|found| silent(found) > silent(&case.expected))
    };
    (1..PLAYS).map(|_| play()).find(all_answer).unwrap_or_else(play)
}

/// Whether to write golden texts. Never in CI, where nobody would review them.
fn blessing() -> bool {
    let bless = std::env::var_os("TENURE_BLESS").is_some();
    let ci = std::env::var_os("CI").is_some();
    assert!(!(bless && ci), "TENURE_BLESS is refused in CI: golden texts are reviewed by people");
    bless
}

/// Checks the rules for all errors of the command, whatever the case expects.
fn complaint(case: &Case, found: &Outcome) -> Option<String> {
    let lines: Vec<&str> = found.stderr.lines().collect();
    let begins = |label: &str| lines.iter().filter(|line| line.starts_with(label)).count();
    // A runner reports its steps before a fault shows.
    let labels = ["warning: ", "error: ", "origin: ", "fix: ", "tenure: "];
    let rules = [
        (found.exit != 0, "it succeeded"),
        (begins("error: ") == 1, "there is not one error line"),
        (begins("fix: ") == 1, "there is not one fix line"),
        (found.exit != 2 || begins("origin: ") > 0, "there is no origin line"),
        (
            lines.iter().all(|line| labels.iter().any(|label| line.starts_with(label))),
            "a line has no label",
        ),
        (lines.iter().all(|line| line.chars().count() <= 500), "a line is too long"),
        (!found.stderr.contains(['\x1b', '\r', '\x07']), "a control character got through"),
        (!found.stderr.contains("panicked"), "it panicked"),
    ];
    let broken = rules.iter().find(|(holds, _)| !holds)?;
    Some(format!("{}:\n$ {}\n{found}", broken.1, case.command.join(" ")))
}

//! Wrong invocations and files, each with the golden text of its error.
//!
//! The cases are in `*.txt` beside this file and are run against the real binary, each in a
//! directory of its own. `case.rs` says how they are written, `stage.rs` what they can set up.
//! `cargo xtask bless` rewrites what they expect; read the difference before you keep it.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod case;
mod stage;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use case::{Case, Outcome, Suite};

/// The issue asks for 40.
const CASES_AT_LEAST: usize = 45;

/// Cases of builds that are not this one.
const ELSEWHERE: &str = if cfg!(feature = "etcd") { "no_etcd" } else { "etcd" };

fn suites() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut files: Vec<_> = std::fs::read_dir(here)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != ELSEWHERE))
        .collect();
    files.sort();
    files
}

#[test]
fn every_wrong_invocation_is_refused_in_its_golden_words() {
    let bless = blessing();
    let (mut count, mut report) = (0, String::new());
    for path in suites() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut suite = Suite::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for case in &mut suite.cases {
            count += 1;
            let found = stage::perform(case)
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
            std::fs::write(&path, suite.to_string()).unwrap();
        }
    }
    assert!(report.is_empty(), "{report}\nReview this. If it is meant: cargo xtask bless");
    assert!(count >= CASES_AT_LEAST, "{count} cases");
}

/// Whether golden texts are to be written. Never in CI, where nobody would read them.
fn blessing() -> bool {
    let bless = std::env::var_os("TENURE_BLESS").is_some();
    let ci = std::env::var_os("CI").is_some();
    assert!(!(bless && ci), "TENURE_BLESS is refused in CI: golden texts are reviewed by people");
    bless
}

/// What no error of this command may look like, whatever is expected of it.
fn complaint(case: &Case, found: &Outcome) -> Option<String> {
    let lines: Vec<&str> = found.stderr.lines().collect();
    let begins = |label: &str| lines.iter().filter(|line| line.starts_with(label)).count();
    let labels = ["warning: ", "error: ", "origin: ", "fix: "];
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

#[test]
fn a_case_is_written_as_it_is_read() {
    let text = "# about\n\n## one\nfile a.toml\n| x = 1\nenv TENURE_X=y\n$ tenure 'a b' \\x01\n\
                exit 2\n| error: no\n\n## two\nbusy p\n$ sh\nexit 0\nstdout\n| yes\n";
    let suite = Suite::parse(text).unwrap();
    assert_eq!(suite.to_string(), text);
    assert_eq!(suite.cases.len(), 2);
    assert!(Suite::parse("## x\nnonsense\n").is_err());
    assert!(Suite::parse("## x\nexit 2\n").is_err());
}

/// What the cases of a running cluster need works: a held port, a process that is there.
#[test]
fn the_stage_holds_ports_and_processes_and_hides_their_numbers() {
    let text = "## x\nbusy p\nfree q\ndir d\nfile d/f\n| {pid:s}\nmode d/f 400\n\
                start s sh -c 'echo ready; exec sleep 600'\nuntil s ready\n\
                $ sh -c 'kill -0 {pid:s} && echo {port:p} {port:q} {dir} && echo {pid:s} >&2; \
                exit 9'\nexit 9\n";
    let suite = Suite::parse(text).unwrap();
    let found = stage::perform(&suite.cases[0]).unwrap();
    assert_eq!(found.stdout, "{port:p} {port:q} {dir}\n");
    assert_eq!((found.stderr.as_str(), found.exit), ("{pid:s}\n", 9));
}

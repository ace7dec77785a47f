//! Wrong invocations and files, each with the golden text of its error.
//!
//! The cases are in `*.txt` beside this file and run against the real binary, each in its own
//! directory. `case.rs` has their format, and `stage.rs` carries out their steps. `cargo xtask
//! bless` rewrites the expected texts; read the difference before you keep it.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod case;
mod golden;
mod stage;

use std::path::PathBuf;

use case::Suite;
use tenure_cli::protocol::ALL;

fn lacks(feature: &str) -> bool {
    ALL.iter().any(|protocol| protocol.lacks() == Some(feature))
}

/// The files of cases with these names, without `.txt`.
fn suites(ours: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files = golden::suites("errors");
    files.retain(|path| ours(&path.file_stem().unwrap().to_string_lossy()));
    files
}

/// `X.txt` has cases of builds with the feature X.
#[test]
fn wrong_invocations_get_golden_errors() {
    let files = suites(|stem| !stem.starts_with("no_") && !lacks(stem));
    assert!(golden::compare(&files, &[]) > 0, "no case was found");
}

/// `no_X.txt` has cases of builds without the feature X. A build with all features has no such
/// test, so the step `bare` fails if it builds all features.
#[cfg(not(feature = "full"))]
#[test]
fn missing_features_are_named() {
    let files = suites(|stem| stem.strip_prefix("no_").is_some_and(lacks));
    assert!(golden::compare(&files, &[]) > 0, "this build lacks no feature");
}

#[test]
fn case_survives_writing_and_reading() {
    let text = "# about\n\n## one\nfile a.toml\n| x = 1\nenv TENURE_X=y\n$ tenure 'a b' \\x01\n\
                exit 2\n| error: no\n\n## two\nbusy p\n$ sh\nexit 0\nstdout\n| yes\n";
    let suite = Suite::parse(text).unwrap();
    assert_eq!(suite.to_string(), text);
    assert_eq!(suite.cases.len(), 2);
    assert!(Suite::parse("## x\nnonsense\n").is_err());
    assert!(Suite::parse("## x\nexit 2\n").is_err());
}

/// In the output of a case, held ports and process ids of background processes become placeholders.
#[test]
fn stage_hides_ports_and_process_ids() {
    let text = "## x\nbusy p\nfree q\ndir d\nfile d/f\n| {pid:s}\nmode d/f 400\n\
                start s sh -c 'echo ready; exec sleep 600'\nuntil s ready\n\
                $ sh -c 'kill -0 {pid:s} && echo :{port:p} :{port:q} {dir} && echo process {pid:s} \
                >&2; exit 9'\nexit 9\n";
    let suite = Suite::parse(text).unwrap();
    let found = stage::perform(&suite.cases[0], &[]).unwrap();
    assert_eq!(found.stdout, ":{port:p} :{port:q} {dir}\n");
    assert_eq!((found.stderr.as_str(), found.exit), ("process {pid:s}\n", 9));
}

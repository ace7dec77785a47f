//! Test programs, several at a time: most of what they do is wait.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::Cmd;
use crate::error::Error;
use crate::failures::Failures;
use crate::workspace::Workspace;

/// Builds what `tests` would run, and runs all of that: as many programs at a time as there are
/// processors. What each prints is printed whole when it has ended, and kept in `target/tests`.
pub(crate) fn run(workspace: &Workspace, tests: &Cmd) -> Result<(), Error> {
    let build = tests.clone().args("--no-run --message-format=json-render-diagnostics");
    let programs = programs(&build.told(workspace)?);
    let folder = workspace.target.join("tests");
    fs::create_dir_all(&folder).map_err(|source| Error::Read { path: folder.clone(), source })?;
    Lanes { tests, folder: &folder }.run(programs)
}

/// What is the same for all programs.
struct Lanes<'a> {
    /// The command that Cargo built them for: they are given its variables.
    tests: &'a Cmd,
    /// Where what they print is kept.
    folder: &'a Path,
}

impl Lanes<'_> {
    fn run(&self, programs: Vec<Program>) -> Result<(), Error> {
        let lanes = thread::available_parallelism().map_or(1, usize::from);
        println!("   {} programs of tests, {lanes} at a time", programs.len());
        let waiting = Mutex::new(programs.into_iter());
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let (done, all) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..lanes {
                let done = done.clone();
                scope.spawn(move || {
                    let mut programs = iter::from_fn(next);
                    // Nobody receives any more once one could not be started.
                    let _ = programs.try_for_each(|program| done.send(self.ended(program)));
                });
            }
            drop(done);
            self.judge(all)
        })
    }

    fn ended(&self, program: Program) -> Result<Ended, Error> {
        let file = program.executable.file_name().unwrap_or(OsStr::new("program"));
        let printed = self.folder.join(file).with_extension("txt");
        let (status, took) = measured(|| {
            let output = File::create(&printed)?;
            let mut command = self.tests.prepared(&program.executable);
            command.current_dir(&program.package).env("CARGO_MANIFEST_DIR", &program.package);
            command.stdout(output.try_clone()?).stderr(output).status()
        });
        match status {
            Ok(status) => Ok(Ended { program, status, printed, took }),
            Err(source) => Err(Error::Spawn { command: program.to_string(), source }),
        }
    }

    /// Prints each that has ended, and fails with all that failed.
    fn judge(&self, all: impl IntoIterator<Item = Result<Ended, Error>>) -> Result<(), Error> {
        let (mut told, mut commands, mut last) = (String::new(), Vec::new(), None);
        for ended in all {
            let Ended { program, status, printed, took } = ended?;
            println!("\n   {program}: {status}, {:.1} s", took.as_secs_f64());
            let read = |source| Error::Read { path: printed.clone(), source };
            let mut failures = Failures::default();
            failures.pass_on(File::open(&printed).map_err(read)?, io::stdout());
            if !status.success() {
                told.extend([&format!("{program}: {status}\n"), failures.told().as_str()]);
                commands.push(self.tests.only(&program.choice).to_string());
                last = Some(status);
            }
        }
        match last {
            None => Ok(()),
            Some(status) => Err(Error::Failed { told, command: commands.join("\n    "), status }),
        }
    }
}

/// One that Cargo has built.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Program {
    /// The folder of its package, in which it runs.
    package: PathBuf,
    /// How Cargo is told to choose it: `--test elections`.
    choice: String,
    executable: PathBuf,
}

struct Ended {
    program: Program,
    status: ExitStatus,
    printed: PathBuf,
    took: Duration,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let package = self.package.file_name().unwrap_or_default().to_string_lossy();
        write!(f, "{package} {}", self.choice)
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a program took is for people to read")]
fn measured<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = run();
    (result, began.elapsed())
}

/// The programs of tests among what Cargo says that it built, a line of JSON each: in an order that
/// is the same each time, which that of building is not.
fn programs(told: &str) -> Vec<Program> {
    let messages = told.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs: Vec<_> = messages.filter_map(|message| program(&message)).collect();
    programs.sort();
    programs
}

fn program(message: &Value) -> Option<Program> {
    let tests = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let executable = message["executable"].as_str().filter(|_| tests)?;
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let target = &message["target"];
    let (kind, name) = (target["kind"][0].as_str()?, target["name"].as_str()?);
    let choice = match kind {
        "test" | "bin" | "example" | "bench" => format!("--{kind} {name}"),
        _ => format!("--package {} --lib", package.file_name()?.to_str()?),
    };
    Some(Program { package, choice, executable: executable.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_found_among_what_was_built() {
        let line = |package: &str, kind: &str, name: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/{package}/Cargo.toml",
                "target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{test}}},
                "executable":{executable}}}"#
            )
            .replace('\n', " ")
        };
        let told = [
            line("cli", "test", "elections", true, r#""/t/elections-1""#),
            line("core", "lib", "the_core", true, r#""/t/the_core-2""#),
            line("cli", "bin", "tenure", false, r#""/t/tenure""#),
            line("core", "lib", "the_core", false, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = programs(&told.join("\n"));
        let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["cli --test elections", "core --package core --lib"]);
        assert_eq!(found[0].executable, Path::new("/t/elections-1"));
        assert_eq!(found[0].package, Path::new("/r/cli"));
    }

    fn program(executable: &str) -> Program {
        let choice = format!("--test {executable}");
        Program { package: "/".into(), choice, executable: Path::new("/bin").join(executable) }
    }

    #[test]
    fn all_run_and_what_failed_is_told_with_the_command_that_repeats_it() {
        let folder = tempfile::tempdir().unwrap();
        let tests = Cmd::cargo("test --workspace --lib --test errors").arg("--tests");
        let lanes = Lanes { tests: &tests, folder: folder.path() };
        assert!(lanes.run(["true", "pwd", "true"].map(program).into()).is_ok());
        let printed = fs::read_to_string(folder.path().join("pwd.txt")).unwrap();
        assert_eq!(printed, "/\n");

        let error = lanes.run(["false", "pwd", "false"].map(program).into()).unwrap_err();
        let Error::Failed { told, command, .. } = error else { panic!("{error}") };
        assert_eq!(told.matches("--test false: exit status: 1").count(), 2, "{told}");
        let again = "cargo test --workspace --test false";
        assert_eq!(command, [again, again].join("\n    "));
        assert!(matches!(lanes.run(vec![program("not there")]), Err(Error::Spawn { .. })));
    }
}

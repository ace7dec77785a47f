//! What failed in a run of tests, told again where it can be found: at the end.

use std::io::{BufRead, BufReader, Read, Write};

/// Lines kept of one test binary. What else there is stands in the output before.
const KEPT: usize = 200;

/// What test binaries print between `failures:` and their result, without backtraces.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    told: String,
    inside: Option<usize>,
}

impl Failures {
    /// Passes `output` on to `to`, line by line, and keeps what failed.
    pub(crate) fn pass_on(&mut self, output: impl Read, mut to: impl Write) {
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            // Whoever reads this may have gone; the tests go on.
            let _ = to.write_all(&line).and_then(|()| to.flush());
            self.line(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }

    /// What to print at the end; nothing if nothing failed.
    pub(crate) fn told(self) -> String {
        self.told
    }

    fn keep(&mut self, line: &str) {
        self.told.extend([line, "\n"]);
    }

    fn line(&mut self, line: &str) {
        if line.starts_with("test result: ") {
            if self.inside.take().is_some() {
                self.keep(line);
            }
        } else if line == "failures:" {
            // It comes twice for a binary: with what each printed, and with the names alone.
            self.inside = Some(0);
            self.keep(line);
        } else if let Some(kept) = &mut self.inside
            && *kept < KEPT
            && !of_a_backtrace(line)
        {
            *kept += 1;
            self.keep(line);
        }
    }
}

/// Whether it is `  12: function` or `  at file:line`.
fn of_a_backtrace(line: &str) -> bool {
    let text = line.trim_start();
    let numbered = || {
        text.split_once(": ").is_some_and(|(number, _)| number.bytes().all(|c| c.is_ascii_digit()))
    };
    text.len() < line.len() && (text.starts_with("at ") || numbered())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 2 tests
test fine ... ok
test wrong ... FAILED

failures:

---- wrong stdout ----
thread 'wrong' panicked at src/lib.rs:7:5:
it is 3
stack backtrace:
   0: std::panicking
             at /rustc/lib.rs:1:2

failures:
    wrong

test result: FAILED. 1 passed; 1 failed
test fine ... ok
test result: ok. 1 passed
";

    #[test]
    fn what_failed_is_told_again_without_its_backtrace_and_everything_is_passed_on() {
        let (mut failures, mut passed_on) = (Failures::default(), Vec::new());
        failures.pass_on(OUTPUT.as_bytes(), &mut passed_on);
        assert_eq!(passed_on, OUTPUT.as_bytes());
        let told = failures.told();
        assert!(told.starts_with("failures:\n\n---- wrong stdout ----"), "{told}");
        assert!(told.contains("it is 3"), "{told}");
        assert!(!told.contains("panicking") && !told.contains("rustc"), "{told}");
        assert!(told.ends_with("    wrong\n\ntest result: FAILED. 1 passed; 1 failed\n"), "{told}");
    }

    #[test]
    fn of_many_failures_the_first_lines_are_kept_and_every_result() {
        let mut failures = Failures::default();
        failures.line("failures:");
        (0..10_000).for_each(|line| failures.line(&format!("line {line}")));
        failures.line("test result: FAILED.");
        let told = failures.told();
        assert_eq!(told.lines().count(), KEPT + 2);
        assert_eq!(told.lines().last(), Some("test result: FAILED."));
    }

    #[test]
    fn of_tests_that_pass_nothing_is_told() {
        let mut failures = Failures::default();
        failures.pass_on(&b"test fine ... ok\ntest result: ok. 1 passed\n"[..], Vec::new());
        assert!(failures.told().is_empty());
    }
}

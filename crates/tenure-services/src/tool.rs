//! Programs that are run to their end.

use std::io;
use std::process::{Command, Output, Stdio};

use crate::error::Error;

/// The maximum number of lines of a program's output that an error repeats.
const LINES_REPEATED: usize = 20;

/// Runs a command without showing its output. The error of a failure has the output.
pub(crate) fn run(command: &mut Command) -> Result<Output, Error> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::System { what: shown(command), source })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = last_lines(&both(&output));
    Err(Error::Failed { command: shown(command), status: output.status, said })
}

/// Does the same as [`run`], with the error `missing` if the program does not exist.
pub(crate) fn run_or(
    command: &mut Command,
    missing: impl FnOnce() -> Error,
) -> Result<Output, Error> {
    run(command).map_err(|error| match error {
        Error::System { source, .. } if source.kind() == io::ErrorKind::NotFound => missing(),
        other => other,
    })
}

/// The output of a program on either stream; `None` if the program does not exist or fails.
pub(crate) fn says(command: &mut Command) -> Option<String> {
    run(command).ok().map(|output| both(&output))
}

fn both(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

/// The command approximately as a user would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The last lines of a program's output.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_REPEATED)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_failing_programs_differ() {
        let missing = || Error::Missing { what: "nothing".into(), remedy: "Install.".into() };
        let none = run_or(&mut Command::new("tenure-no-such-program"), missing);
        assert!(matches!(none, Err(Error::Missing { .. })), "{none:?}");
        let script = ["-c", "echo out; echo err >&2; exit 3"];
        let failed = run_or(Command::new("sh").args(script), missing).unwrap_err().to_string();
        assert!(failed.contains("exit status: 3\nout\nerr"), "{failed}");
    }
}

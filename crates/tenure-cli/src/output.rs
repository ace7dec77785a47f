//! Standard output.

use std::io::{ErrorKind, Write, stdout};
use std::time::Duration;

use crate::exit::Exit;
use crate::failure::Failure;

/// Writes `text` to standard output. A reader that has left, as in `tenure … | head -1`, is no
/// failure.
pub fn print(text: &str) -> Result<(), Failure> {
    reaches(text).map(drop)
}

/// The same, and whether the reader was still there.
pub fn reaches(text: &str) -> Result<bool, Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(
            Exit::System,
            format!("standard output cannot be written: {error}"),
            "send it to a file or a program that takes it",
        )),
    }
}

/// A span as programs are told it: whole milliseconds.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

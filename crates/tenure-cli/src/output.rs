//! Standard output.

use std::io::{ErrorKind, Write, stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::failure::Failure;

/// Writes `text` to standard output. A reader that has left, as in `tenure … | head -1`, is no
/// failure.
pub fn print(text: &str) -> Result<(), Failure> {
    reaches(text).map(drop)
}

/// Prints `text`, and returns whether the reader is still connected.
pub fn reaches(text: &str) -> Result<bool, Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        // A socket reports this error if its reader left with unread text.
        Err(error)
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
        {
            Ok(false)
        }
        Err(error) => Err(Failure::new(
            Exit::System,
            format!("standard output cannot be written: {error}"),
            "send standard output to a file or to a program that reads it",
        )),
    }
}

/// Prints `text` on another thread, for commands that handle signals: a full pipe can block a
/// writer forever.
pub async fn reaches_aside(text: &str) -> Result<bool, Failure> {
    let (tell, told) = oneshot::channel();
    let own = text.to_owned();
    // The receiver may be gone.
    let write = move || drop(tell.send(reaches(&own)));
    match thread::Builder::new().name("writer".to_owned()).spawn(write) {
        Ok(_) => told.await.unwrap_or(Ok(false)),
        Err(_) => reaches(text),
    }
}

/// Resolves once the reader of standard output has left, even while this process writes nothing.
/// Never resolves for a file, or for a terminal, which reports a hang-up by a signal.
pub async fn reader_left() {
    let (tell, left) = oneshot::channel();
    let watch = move || {
        if hangs_up(stdout().as_fd()) {
            // The receiver may be gone.
            let _ = tell.send(());
        }
    };
    let begun = thread::Builder::new().name("reader".to_owned()).spawn(watch);
    if begun.is_err() || left.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Blocks until the reader of `out` has left; returns at once without a reader. A TCP reader that
/// closes its side looks alive until the next write.
fn hangs_up(out: BorrowedFd<'_>) -> bool {
    let kind = fstat(out).map(|about| FileType::from_raw_mode(about.st_mode));
    if !matches!(kind, Ok(FileType::Fifo | FileType::Socket)) {
        return false;
    }
    loop {
        // `poll` always reports hang-ups and errors.
        match poll(&mut [PollFd::from_borrowed_fd(out, PollFlags::empty())], None) {
            Err(Errno::INTR) => {}
            polled => return polled.is_ok(),
        }
    }
}

/// A span as JSON output has it, in whole milliseconds.
pub(crate) use tenure_http::millis;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use rustix::event::Timespec;

    use super::*;

    fn ends_with<T>(out: &impl AsFd, reader: T) {
        let mut now = [PollFd::new(out, PollFlags::empty())];
        assert_eq!(poll(&mut now, Some(&Timespec::default())), Ok(0), "the reader is there");
        drop(reader);
        assert!(hangs_up(out.as_fd()));
    }

    #[test]
    fn reader_that_leaves_is_noticed() {
        let (reader, out) = std::io::pipe().unwrap();
        ends_with(&out, reader);
        let (reader, out) = UnixStream::pair().unwrap();
        ends_with(&out, reader);
    }

    /// A full pipe takes no more text, and the hang-up is still noticed.
    #[test]
    fn full_pipe_hangs_up() {
        let (reader, mut out) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&out, true).unwrap();
        while out.write(&[0; 4_096]).is_ok() {}
        ends_with(&out, reader);
    }

    #[test]
    fn files_have_no_reader() {
        assert!(!hangs_up(File::options().write(true).open("/dev/null").unwrap().as_fd()));
        assert!(!hangs_up(tempfile::tempfile().unwrap().as_fd()));
    }
}

//! The output of CMD, with a prefix if several CMDs run.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::mpsc;

/// The largest part of a line that is written in one piece.
const LINE_MAX: u64 = 64 << 10;

/// The time to write the last output once CMD is gone. A process of CMD that runs as another user
/// may keep the pipe open for longer.
const REST: Duration = Duration::from_secs(1);

/// The output of a CMD. A thread copies each of the two streams, so that a slow reader blocks only
/// the output of CMD.
pub(super) struct Output {
    /// Closes when both streams have ended.
    ended: mpsc::Receiver<()>,
}

impl Output {
    /// Begins to copy. Only CMD may keep the writing ends: the streams end when the last is closed.
    pub(super) fn begin(prefix: &str) -> io::Result<(Self, tenure_supervise::Output)> {
        let (running, ended) = mpsc::channel(1);
        let out = copy(prefix, io::stdout, &running)?;
        let err = copy(prefix, io::stderr, &running)?;
        let output = tenure_supervise::Output { out: Arc::new(out), err: Arc::new(err) };
        Ok((Self { ended }, output))
    }

    /// Waits until the last output of the ended CMD is written.
    pub(super) async fn rest(mut self) {
        // The channel only closes; no value is sent.
        let _ = tokio::time::timeout(REST, self.ended.recv()).await;
    }
}

fn copy<W: Write>(
    prefix: &str,
    to: impl Fn() -> W + Send + 'static,
    running: &mpsc::Sender<()>,
) -> io::Result<OwnedFd> {
    let (from, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let prefix = prefix.to_owned();
    let running = running.clone();
    thread::Builder::new().name("tenure-output".into()).spawn(move || {
        let _running = running;
        // CMD gets a write error when the reader of this process's output has left.
        let _ = lines(File::from(from), &prefix, to);
    })?;
    Ok(theirs)
}

fn lines<W: Write>(from: impl Read, prefix: &str, to: impl Fn() -> W) -> io::Result<()> {
    let mut from = BufReader::new(from);
    loop {
        let mut line = prefix.as_bytes().to_vec();
        if from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // Writes each line in one piece, so that lines of several CMDs never mix.
        let mut to = to();
        to.write_all(&line)?;
        to.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn lines_have_prefixes_and_bounds() {
        let written = Mutex::new(Vec::new());
        struct To<'a>(&'a Mutex<Vec<Vec<u8>>>);
        impl Write for To<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().push(bytes.to_vec());
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let long = vec![b'x'; usize::try_from(LINE_MAX).unwrap() + 1];
        let text = [b"one\n\n\xff".as_slice(), b"\n", &long].concat();
        lines(&*text, "[n/3] ", || To(&written)).unwrap();
        let written = written.into_inner().unwrap();
        assert_eq!(written[..3], [&b"[n/3] one\n"[..], b"[n/3] \n", b"[n/3] \xff\n"]);
        assert_eq!((written.len(), &written[4][..]), (5, &b"[n/3] x\n"[..]));
    }
}

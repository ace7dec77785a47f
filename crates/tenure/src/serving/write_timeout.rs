//! A stream whose other side must read. A client that reads nothing would keep its connection and
//! the unsent bytes for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails when a write makes no progress for this time.
#[derive(Debug)]
pub struct WriteTimeout<S> {
    stream: S,
    most: Duration,
    /// The timer of a write without progress.
    over: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    #[must_use]
    pub const fn new(stream: S, most: Duration) -> Self {
        Self { stream, most, over: None }
    }

    fn judge<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.over = None;
            return polled;
        }
        let most = self.most;
        let over = self.over.get_or_insert_with(|| Box::pin(sleep(most)));
        ready!(over.as_mut().poll(context));
        let why = format!("the other side has taken nothing for {most:?}");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(polled, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn stalled_write_ends_connection() {
        let most = Duration::from_millis(200);
        let (mut far, near) = duplex(8);
        let mut near = WriteTimeout::new(near, most);
        let slow = async {
            let mut byte = [0; 8];
            for _ in 0..8 {
                sleep(most / 4).await;
                far.read_exact(&mut byte).await.unwrap();
            }
        };
        // If the machine stands still, both timers may expire. The reader then goes first, so the
        // write makes progress.
        let ((), written) = tokio::join!(biased; slow, near.write_all(&[1; 72]));
        written.unwrap();
        let stalled = tenure_testkit::handles::soon(near.write_all(&[1; 72])).await;
        assert_eq!(stalled.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(far);
    }
}

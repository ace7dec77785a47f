//! Waiting for a descriptor in tokio.

use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use tokio::net::unix::pipe;

/// A value with a descriptor that becomes readable.
///
/// Tokio's `AsyncFd` cannot be constructed without unsafe code. Instead a pipe of tokio watches a
/// duplicate of the descriptor. Such a pipe accepts each descriptor that `epoll` accepts, and only
/// the readiness of the descriptor is used.
#[derive(Debug)]
pub struct Watched<T> {
    inner: T,
    readiness: pipe::Receiver,
}

impl<T: AsFd> Watched<T> {
    /// Watches `inner`, whose reads must not block. Call this in a tokio runtime with I/O.
    pub fn new(inner: T) -> io::Result<Self> {
        let duplicate = inner.as_fd().try_clone_to_owned()?;
        Ok(Self { readiness: pipe::Receiver::from_owned_fd_unchecked(duplicate)?, inner })
    }

    /// The watched value.
    #[must_use]
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Waits until `read` returns anything but `WouldBlock`, for one task at a time. Cancel safe:
    /// if a poll reads a value, that poll returns it.
    pub async fn read<R>(&self, mut read: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        poll_fn(|context| self.poll_read(context, &mut read)).await
    }

    /// Waits by polling. Only the task that polled last is woken.
    pub fn poll_read<R>(
        &self,
        context: &mut Context<'_>,
        mut read: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            ready!(self.readiness.poll_read_ready(context))?;
            match self.readiness.try_io(|| read(&self.inner)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

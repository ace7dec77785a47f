//! The server: a thread and a runtime of its own, so that nothing here holds up a renewal.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use subtle::ConstantTimeEq;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::monitor::Monitor;

/// The largest head of a request, in bytes.
const HEAD_MAX: usize = 16 * 1_024;
/// The longest time for which a connection stays open without a request.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// The pause when no connection can be accepted, for example without free descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// A secret that callers show.
#[derive(Clone)]
pub(crate) struct Token(Arc<str>);

impl Token {
    /// Compares in a time that does not depend on the contents.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    Address(SocketAddr),
    /// A Unix socket at this path, of mode 0600.
    Unix(PathBuf),
}

impl Place {
    /// Whether only this machine reaches it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Address(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl From<SocketAddr> for Place {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// Where and how a server listens.
#[derive(Clone, Debug)]
pub struct Options {
    pub place: Place,
    token: Option<Token>,
}

impl Options {
    /// Listens at this place, without orders.
    #[must_use]
    pub const fn new(place: Place) -> Self {
        Self { place, token: None }
    }

    /// Takes orders from callers that show this token.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(Token(token.into()));
        self
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("the server of HTTP cannot listen at {place}: {source}")]
    Bind { place: Place, source: io::Error },
    #[error("the thread of HTTP cannot be started: {0}")]
    Thread(io::Error),
}

/// A server on a thread of its own, until it is dropped.
pub struct Server {
    place: Place,
    options: Options,
    runtime: Handle,
    listener: Mutex<Option<Listener>>,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds the address, and starts the thread. Connections wait until [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// Errors of the system: the address is in use, or no thread can be started.
    pub fn bind(options: Options) -> Result<Self, ServerError> {
        let bind = |source| ServerError::Bind { place: options.place.clone(), source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ServerError::Thread)?;
        let handle = runtime.handle().clone();
        let (listener, place) = {
            let _in = handle.enter();
            listen(&options.place).map_err(bind)?
        };
        let (ends, end) = oneshot::channel();
        let run = move || {
            // The sender is dropped with the server.
            let _ = runtime.block_on(end);
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("tenure-http".to_owned()).spawn(run);
        let thread = thread.map_err(ServerError::Thread)?;
        Ok(Self {
            place,
            options,
            runtime: handle,
            listener: Mutex::new(Some(listener)),
            ends: Some(ends),
            thread: Some(thread),
        })
    }

    /// Where the server listens: with its own port if the options ask for any.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The runtime of the server's thread, for a [`Monitor`].
    #[must_use]
    pub fn runtime(&self) -> Handle {
        self.runtime.clone()
    }

    /// Answers for the monitor. A second call does nothing.
    pub fn serve(&self, monitor: &Monitor) {
        let router = monitor.routes(self.options.token.clone());
        if let Some(listener) = crate::watch::lock(&self.listener).take() {
            self.runtime.spawn(accept(listener, router));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.ends.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("place", &self.place).finish_non_exhaustive()
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

fn listen(place: &Place) -> io::Result<(Listener, Place)> {
    match place {
        Place::Address(address) => {
            let listener = std::net::TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            let address = listener.local_addr()?;
            Ok((Listener::Tcp(listener), Place::Address(address)))
        }
        Place::Unix(path) => Ok((Listener::Unix(UnixListener::bind(path)?), place.clone())),
    }
}

async fn accept(listener: Listener, router: Router) {
    loop {
        let accepted = match &listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection(stream, router.clone()));
            }),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(connection(stream, router.clone()));
            }),
        };
        if let Err(error) = accepted {
            tracing::debug!(%error, "no connection was accepted");
            tokio::time::sleep(ACCEPT_AGAIN).await;
        }
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended");
    }
}

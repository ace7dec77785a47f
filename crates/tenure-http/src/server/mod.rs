//! The server: a thread and a runtime of its own, so that nothing here holds up a renewal.

mod accept;
mod guard;
mod listen;
#[cfg(feature = "tls")]
mod tls;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use subtle::ConstantTimeEq;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::accept::Acceptor;
pub(crate) use self::accept::CONNECTIONS_MAX;
use self::guard::Guard;
use self::listen::Bound;
use crate::monitor::Monitor;
use crate::watch::lock;

/// The fewest characters of a token: the server does not slow down callers that guess tokens.
const TOKEN_MIN: usize = 16;

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

/// The place at which a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    Address(SocketAddr),
    /// A Unix socket at this path, of mode 0600.
    Unix(PathBuf),
}

impl Place {
    /// Whether only this machine reaches the place.
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

/// Where and how a server listens.
#[derive(Clone, Debug)]
pub struct Options {
    pub place: Place,
    token: Option<Token>,
    /// The files of the certificate and its key.
    #[cfg(feature = "tls")]
    tls: Option<(PathBuf, PathBuf)>,
    insecure: bool,
}

impl Options {
    /// Listens at this place, without orders.
    #[must_use]
    pub const fn new(place: Place) -> Self {
        Self {
            place,
            token: None,
            #[cfg(feature = "tls")]
            tls: None,
            insecure: false,
        }
    }

    /// Takes orders from callers that show this token, of at least 16 characters.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(Token(token.into()));
        self
    }

    /// Presents the certificate in this file, with the key in that file (PEM). The files are read
    /// again when they change.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, certificate: PathBuf, key: PathBuf) -> Self {
        self.tls = Some((certificate, key));
        self
    }

    /// Allows addresses outside loopback without TLS. Every machine on the way can then read and
    /// change the answers, and may read the token.
    #[must_use]
    pub const fn insecure(mut self) -> Self {
        self.insecure = true;
        self
    }

    fn is_encrypted(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("the HTTP server cannot listen at {place}: {source}")]
    Listen { place: Place, source: io::Error },
    #[error(
        "other machines can reach {place}, and the options of the HTTP server set neither TLS \
             nor insecure"
    )]
    Open { place: Place },
    #[error("the HTTP certificate cannot be used: {0}")]
    Certificate(String),
    #[error(
        "the HTTP token has {characters} characters, so callers could guess it; at least \
         {TOKEN_MIN} are needed"
    )]
    Token { characters: usize },
    #[error("the thread of the HTTP server cannot be started: {0}")]
    Thread(io::Error),
}

/// A server on a thread of its own. A drop ends the server.
pub struct Server {
    place: Place,
    options: Options,
    runtime: Handle,
    acceptor: Mutex<Option<Acceptor>>,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds the address, and starts the thread. Connections wait until [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// Errors of the system, files that hold no certificate or key, a short token, and an address
    /// outside loopback without TLS.
    pub fn bind(options: Options) -> Result<Self, ServerError> {
        if !options.place.is_local() && !options.is_encrypted() && !options.insecure {
            return Err(ServerError::Open { place: options.place });
        }
        let characters = options.token.as_ref().map(|token| token.0.chars().count());
        if let Some(characters) = characters.filter(|characters| *characters < TOKEN_MIN) {
            return Err(ServerError::Token { characters });
        }
        let listen = |source| ServerError::Listen { place: options.place.clone(), source };
        let bound = Bound::bind(&options.place).map_err(listen)?;
        let place = bound.place();
        let acceptor = Acceptor {
            bound,
            #[cfg(feature = "tls")]
            tls: options.tls.clone().map(tls::Certificate::read).transpose()?,
        };
        // The new thread makes and drops the runtime, because callers may be in a runtime of their
        // own.
        let (ends, end) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let _ = tell.send(Ok(runtime.handle().clone()));
            // This wait ends when the server drops the sender.
            let _ = runtime.block_on(end);
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("tenure-http".to_owned()).spawn(run);
        let thread = thread.map_err(ServerError::Thread)?;
        let ended = |_| io::Error::other("it has ended");
        let runtime = told.recv().map_err(ended).flatten().map_err(ServerError::Thread)?;
        Ok(Self {
            place,
            options,
            runtime,
            acceptor: Mutex::new(Some(acceptor)),
            ends: Some(ends),
            thread: Some(thread),
        })
    }

    /// The place at which the server listens, with the chosen port if the options leave the port
    /// open.
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
        let Some(acceptor) = lock(&self.acceptor).take() else { return };
        let checks_host = matches!(&self.place, Place::Address(_) if self.place.is_local())
            && !self.options.is_encrypted();
        let counts = monitor.shared.counts.clone();
        let guard = Guard { checks_host, counts: counts.clone() };
        let router = guard.before(monitor.routes(self.options.token.clone()));
        self.runtime.spawn(acceptor.run(router, counts));
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

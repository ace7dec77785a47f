//! A connection to a server, which does not reconnect.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{
    Auth, AuthError, Client, ConnectErrorKind, ConnectOptions, Event, ServerInfo, Subscriber,
};
use tenure_core::allcall::MAX_PAYLOAD_MIN;
use tenure_tls::TlsCause;
use tokio::sync::mpsc;

use crate::login::{Login, LoginError};
use crate::options::{CheckedOptions, Tls};
use crate::server::Server;

/// The maximum number of messages that wait for a server that reads nothing: about a second of a
/// process with hundreds of elections. Later messages are dropped, because they would arrive too
/// late.
const UNSENT_MAX: usize = 1_024;

/// The maximum number of messages that the client library keeps. After each read our own queue
/// takes these messages over.
pub(super) const UNREAD_MAX: usize = 65_536;

/// The maximum number of unread events. The bus notices the end of a connection even without the
/// event.
const EVENTS_MAX: usize = 1_024;

pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) subscriber: Subscriber,
    /// Events, except for lost messages.
    pub(super) events: mpsc::Receiver<Event>,
    /// Whether the library has lost messages since the bus last set this flag to false.
    pub(super) has_lost: Arc<AtomicBool>,
    pub(super) info: ServerInfo,
}

/// The reason for which a server cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("no answer within {within:?}")]
    Silent { within: Duration },
    /// The server knows no such user, or has another password, other credentials or another key.
    #[error("the server refuses this login ({said}): it asks for {asks}")]
    Refused { said: Arc<str>, asks: Asks },
    #[error("{why}")]
    Login { why: Arc<str> },
    #[error("the TLS connection failed: {why}")]
    Tls { why: TlsCause },
    #[error("the server speaks no TLS")]
    NoTls,
    #[error(
        "the server takes messages of {max_payload} bytes: its max_payload must be {needed} or more"
    )]
    PayloadTooSmall { max_payload: usize, needed: usize },
    /// Any other failure: no server listens there, or the host does not exist.
    #[error("{why}")]
    Failed { why: Arc<str> },
}

impl ConnectError {
    /// Whether the error may pass by itself. Login files that were good before may become good
    /// again, because another process may be writing them now.
    #[must_use]
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Login { .. } | Self::Failed { .. })
    }
}

/// The login that the greeting of a server asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// A user with a password, or a token; or a certificate that the server maps to a user. The
    /// server knows no keys.
    Word,
    /// The server sent a nonce to sign. The server knows keys, and maybe users with passwords as
    /// well.
    Signature,
}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word => "a user with its password, or a token",
            Self::Signature => "a signature, by credentials or an NKey",
        })
    }
}

/// Connects and subscribes, within the options' `connect_within`.
pub(super) async fn connect(
    options: &CheckedOptions,
    server: &Server,
    subject: &str,
    name: &str,
    silence: Duration,
) -> Result<Connection, ConnectError> {
    let within = options.connect_within;
    let joining = async {
        let (connected, signs) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let (tell, events) = mpsc::channel(EVENTS_MAX);
        let has_lost: Arc<AtomicBool> = Arc::default();
        let losing = has_lost.clone();
        let login = with_login(options.login.clone(), &connected, &signs)
            .name(name)
            .connection_timeout(within)
            .ping_interval(silence)
            .client_capacity(UNSENT_MAX)
            .subscription_capacity(UNREAD_MAX)
            .ignore_discovered_servers()
            // The client must not reconnect, but 0 means no limit here: see `with_login`.
            .max_reconnects(1)
            .event_callback(move |event| {
                match event {
                    // The library sends this event for each lost message.
                    Event::SlowConsumer(_) => losing.store(true, Ordering::Release),
                    event => {
                        // The send fails without room, or when the node has left the connection;
                        // ignore it.
                        let _ = tell.try_send(event);
                    }
                }
                std::future::ready(())
            });
        let made = with_tls(login, options.tls.as_ref(), server)?;
        let client = made.connect(server.as_str()).await.map_err(|error| {
            let asks = if signs.load(Ordering::Acquire) { Asks::Signature } else { Asks::Word };
            why(&error, options, asks)
        })?;
        connected.store(true, Ordering::Release);
        let failed = |why: String| ConnectError::Failed { why: why.into() };
        let subscribed = client.subscribe(subject.to_owned()).await;
        // Subscribe before the first message on this connection: a server handles messages in
        // order.
        let subscriber = subscribed.map_err(|error| failed(error.to_string()))?;
        // The flush ends when the bytes are written. The library does not report the server's PONG.
        client.flush().await.map_err(|error| failed(error.to_string()))?;
        let info = client.server_info();
        let max_payload = info.max_payload;
        let needed = MAX_PAYLOAD_MIN;
        if max_payload < needed {
            return Err(ConnectError::PayloadTooSmall { max_payload, needed });
        }
        Ok(Connection { client, subscriber, events, has_lost, info })
    };
    tokio::time::timeout(within, joining).await.unwrap_or(Err(ConnectError::Silent { within }))
}

/// Passes the login to the library, which asks for it at each connection. The second request for
/// the login fails on purpose. The library then gives up before it sends messages from the time
/// without a connection. `signs` notes whether the server sent a nonce to sign.
fn with_login(
    login: Option<Login>,
    connected: &Arc<AtomicBool>,
    signs: &Arc<AtomicBool>,
) -> ConnectOptions {
    let connected = connected.clone();
    let signs = signs.clone();
    ConnectOptions::with_auth_callback(move |nonce| {
        signs.store(!nonce.is_empty(), Ordering::Release);
        let auth = match &login {
            _ if connected.load(Ordering::Acquire) => Err(AuthError::new("once is enough")),
            None => Ok(Auth::new()),
            Some(login) => login.auth(&nonce).map_err(AuthError::new),
        };
        std::future::ready(auth)
    })
}

fn with_tls(
    made: ConnectOptions,
    tls: Option<&Tls>,
    server: &Server,
) -> Result<ConnectOptions, ConnectError> {
    let (authority, identity, first) = match tls {
        Some(tls) => (tls.authority.as_ref(), tls.identity.as_ref(), tls.first),
        None => (None, None, false),
    };
    let config = tenure_tls::client_config(authority, identity);
    let config =
        config.map_err(|error| ConnectError::Tls { why: TlsCause::other(error.to_string()) })?;
    let made = made.tls_client_config(config).require_tls(server.is_secure());
    Ok(if first { made.tls_first() } else { made })
}

fn why(error: &async_nats::ConnectError, options: &CheckedOptions, asks: Asks) -> ConnectError {
    let mut said = error.to_string();
    if let Some(source) = error.source() {
        said = source.to_string();
    }
    if let Some(tls) = error.source().and_then(|source| tenure_tls::reason(source)) {
        if tenure_tls::is_no_tls(tls) {
            return ConnectError::NoTls;
        }
        return ConnectError::Tls { why: TlsCause::of(tls) };
    }
    let said: Arc<str> = said.into();
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation => ConnectError::Refused { said, asks },
        // The refusal is ours: the server was not asked.
        ConnectErrorKind::Authentication => {
            let again = options.login.as_ref().and_then(|login| login.auth(b"").err());
            let why = again.map_or(said, |error: LoginError| error.to_string().into());
            ConnectError::Login { why }
        }
        ConnectErrorKind::TimedOut => ConnectError::Silent { within: options.connect_within },
        ConnectErrorKind::Tls => ConnectError::Tls { why: TlsCause::other(said) },
        _ => ConnectError::Failed { why: said },
    }
}

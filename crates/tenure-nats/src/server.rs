//! The URL of a server.

use std::fmt;
use std::str::FromStr;

use tenure::driver::{ServerUrl, UrlError, UrlForm};

const FORM: UrlForm = UrlForm {
    what: "a server",
    service: "NATS",
    plain: "nats",
    secure: "tls",
    port: 4222,
    rule: "write nats://HOST:PORT, or tls:// where NATS has a certificate, and give a login in \
           the Options",
};

/// The URL of one server for its clients: `nats://10.0.0.7:4222`, or `tls://` for TLS only. The URL
/// must have a scheme, and cannot have a user: see [`Options::login`](crate::Options::login).
///
/// With `nats://` the client speaks TLS only if the server asks for TLS, and an attacker on the way
/// could suppress this request. With `tls://` the client always speaks TLS.
///
/// ```
/// use tenure_nats::Server;
///
/// let server: Server = "tls://nats-1.example.com".parse()?;
/// assert!(server.is_secure());
/// assert_eq!(server.as_str(), "tls://nats-1.example.com:4222");
/// let error = "nats-1.example.com:4222".parse::<Server>().unwrap_err();
/// assert_eq!(error.what, "a server has no scheme");
/// # Ok::<(), tenure_nats::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Server(ServerUrl);

impl Server {
    /// Whether the client accepts only TLS.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.0.is_secure()
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl From<ServerUrl> for Server {
    fn from(url: ServerUrl) -> Self {
        Self(url)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Server {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        FORM.read(text).map(Self)
    }
}

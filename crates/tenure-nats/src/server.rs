//! Where a server is reached.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tenure::driver::{host_and_port, on_one_line};

/// The URL of one server for its clients: `nats://10.0.0.7:4222`, or `tls://` for TLS and nothing
/// else. Scheme and port are not guessed, and a user has no place in it: that is
/// [`Options::login`](crate::Options::login).
///
/// With `nats://` TLS is spoken too if the server asks for it, which whoever is in between could
/// keep it from; `tls://` takes no less.
///
/// ```
/// use tenure_nats::Server;
///
/// let server: Server = "tls://nats-1.example.com:4222".parse()?;
/// assert!(server.is_secure());
/// let error = "nats-1.example.com:4222".parse::<Server>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "server \"nats-1.example.com:4222\" has no scheme: write nats://nats-1.example.com:4222, or \
///      tls:// if it has a certificate",
/// );
/// # Ok::<(), tenure_nats::ServerError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Server {
    url: Arc<str>,
    secure: bool,
}

impl Server {
    /// Whether nothing but TLS will do.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl FromStr for Server {
    type Err = ServerError;

    fn from_str(given: &str) -> Result<Self, ServerError> {
        // Before anything that repeats the text.
        if let Some((_, rest)) = given.rsplit_once('@') {
            return Err(ServerError::Login { rest: on_one_line(rest) });
        }
        let shown = || on_one_line(given);
        let Some((scheme, rest)) = given.split_once("://") else {
            return Err(ServerError::NoScheme { given: shown() });
        };
        let secure = match scheme {
            "nats" => false,
            "tls" => true,
            _ => return Err(ServerError::Scheme { given: shown() }),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let Some((host, port)) = host_and_port(authority) else {
            return Err(ServerError::NotAnAddress { given: shown() });
        };
        Ok(Self { url: format!("{scheme}://{host}:{port}").into(), secure })
    }
}

/// Errors of a text that is no [`Server`]. The text before an `@` may be a password, and no error
/// shows it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum ServerError {
    /// A user, a password or a token stands before the host.
    #[error(
        "server \"…@{rest}\" holds a user, a password or a token, which is not shown: leave out \
         all up to the @, and give a login in the Options"
    )]
    Login {
        /// The text behind the last `@`: a user and a password may stand before it.
        rest: String,
    },
    /// The server could be meant with or without TLS.
    #[error(
        "server \"{given}\" has no scheme: write nats://{given}, or tls:// if it has a certificate"
    )]
    NoScheme { given: String },
    #[error("server \"{given}\": its scheme must be nats or tls")]
    Scheme { given: String },
    #[error(
        "server \"{given}\" must be a scheme, a host and a port and nothing else, as \
         nats://10.0.0.7:4222 or tls://[fd00::7]:4222"
    )]
    NotAnAddress { given: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_has_scheme_host_port() {
        for (given, url, secure) in [
            ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222", false),
            ("tls://nats-1.example.com:4222/", "tls://nats-1.example.com:4222", true),
            ("nats://[::1]:4222", "nats://[::1]:4222", false),
        ] {
            let server: Server = given.parse().unwrap();
            assert_eq!((server.as_str(), server.is_secure()), (url, secure));
        }
    }

    #[test]
    fn error_says_what_to_write() {
        let form = "must be a scheme, a host and a port and nothing else, as \
                    nats://10.0.0.7:4222 or tls://[fd00::7]:4222";
        for given in
            ["nats://host", "nats://:1", "tls://host:0", "nats://host:99999", "nats://a b:1"]
        {
            let error = given.parse::<Server>().unwrap_err().to_string();
            assert_eq!(error, format!("server \"{given}\" {form}"));
        }
        let error = |given: &str| given.parse::<Server>().unwrap_err().to_string();
        assert_eq!(
            error("ws://host:80"),
            "server \"ws://host:80\": its scheme must be nats or tls"
        );
        assert_eq!(error("nats://a\nb:1"), format!("server \"nats://a\\nb:1\" {form}"));
    }

    #[test]
    fn a_password_is_not_repeated() {
        for given in
            ["nats://ann:secret@host:4222", "ann:secret@host:4222", "tls://secret@host:4222"]
        {
            let error = given.parse::<Server>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
            assert!(error.to_string().contains("…@host:4222"), "{error}");
        }
    }
}

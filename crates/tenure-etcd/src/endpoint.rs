//! Where a member of the cluster is reached.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tenure::driver::{host_and_port, on_one_line};

/// The URL of one member for its clients: `http://10.0.0.7:2379`, or `https://` for TLS. Scheme
/// and port are not guessed, and a user has no place in it: that is
/// [`Options::credentials`](crate::Options::credentials).
///
/// ```
/// use tenure_etcd::Endpoint;
///
/// let endpoint: Endpoint = "https://etcd-1.example.com:2379".parse()?;
/// assert!(endpoint.is_secure());
/// let error = "etcd-1.example.com:2379".parse::<Endpoint>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "endpoint \"etcd-1.example.com:2379\" has no scheme: write \
///      http://etcd-1.example.com:2379, or https:// if the server has a certificate",
/// );
/// # Ok::<(), tenure_etcd::EndpointError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    url: Arc<str>,
    secure: bool,
}

impl Endpoint {
    /// Whether it is reached by TLS.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// The same host and port, with TLS instead of without, or the other way round.
    pub(crate) fn other_scheme(&self) -> Self {
        let authority = self.url.split_once("://").map_or(&*self.url, |(_, rest)| rest);
        let scheme = if self.secure { "http" } else { "https" };
        Self { url: format!("{scheme}://{authority}").into(), secure: !self.secure }
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(given: &str) -> Result<Self, EndpointError> {
        // Before anything that repeats the text.
        if let Some((_, rest)) = given.rsplit_once('@') {
            return Err(EndpointError::Credentials { rest: on_one_line(rest) });
        }
        let shown = || on_one_line(given);
        let Some((scheme, rest)) = given.split_once("://") else {
            return Err(EndpointError::NoScheme { given: shown() });
        };
        let secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(EndpointError::Scheme { given: shown() }),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let Some((host, port)) = host_and_port(authority) else {
            return Err(EndpointError::NotAnAddress { given: shown() });
        };
        Ok(Self { url: format!("{scheme}://{host}:{port}").into(), secure })
    }
}

/// Errors of a text that is no [`Endpoint`]. The text before an `@` may be a password, and no error
/// shows it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum EndpointError {
    /// A user, and a password perhaps, stand before the host.
    #[error(
        "endpoint \"…@{rest}\" holds a user or a password, which is not shown: leave out all up to \
         the @, and give them as Credentials in the Options"
    )]
    Credentials {
        /// The text behind the last `@`: a user and a password may stand before it.
        rest: String,
    },
    /// The endpoint could be meant with or without TLS.
    #[error(
        "endpoint \"{given}\" has no scheme: write http://{given}, or https:// if the server has \
         a certificate"
    )]
    NoScheme { given: String },
    #[error("endpoint \"{given}\": its scheme must be http or https")]
    Scheme { given: String },
    #[error(
        "endpoint \"{given}\" must be a scheme, a host and a port and nothing else, as \
         http://10.0.0.7:2379 or https://[fd00::7]:2379"
    )]
    NotAnAddress { given: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_has_scheme_host_port() {
        for (given, url) in [
            ("http://127.0.0.1:2379", "http://127.0.0.1:2379"),
            ("https://etcd-1.example.com:2379/", "https://etcd-1.example.com:2379"),
            ("http://[::1]:2379", "http://[::1]:2379"),
        ] {
            assert_eq!(given.parse::<Endpoint>().unwrap().as_str(), url);
        }
    }

    #[test]
    fn error_says_what_to_write() {
        let told: Vec<_> = [
            "127.0.0.1:2379",
            "unix:///run/etcd.sock",
            "http://127.0.0.1",
            "http://:2379",
            "http://host:0",
            "http://host:99999",
            "http://host:2379/v3",
            "http://::1:2379",
            "http://a\nb:2379",
            "",
        ]
        .into_iter()
        .map(|given| given.parse::<Endpoint>().unwrap_err().to_string())
        .collect();
        let form = "must be a scheme, a host and a port and nothing else, as \
                    http://10.0.0.7:2379 or https://[fd00::7]:2379";
        assert_eq!(
            told,
            [
                "endpoint \"127.0.0.1:2379\" has no scheme: write http://127.0.0.1:2379, or \
                 https:// if the server has a certificate"
                    .to_owned(),
                "endpoint \"unix:///run/etcd.sock\": its scheme must be http or https".to_owned(),
                format!("endpoint \"http://127.0.0.1\" {form}"),
                format!("endpoint \"http://:2379\" {form}"),
                format!("endpoint \"http://host:0\" {form}"),
                format!("endpoint \"http://host:99999\" {form}"),
                format!("endpoint \"http://host:2379/v3\" {form}"),
                format!("endpoint \"http://::1:2379\" {form}"),
                format!("endpoint \"http://a\\nb:2379\" {form}"),
                "endpoint \"\" has no scheme: write http://, or https:// if the server has a \
                 certificate"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn a_password_is_not_repeated() {
        for given in [
            "http://ann:secret@host:2379",
            "https://ann:p@secret@host:2379",
            "etcd://ann:secret@host:2379",
            "ann:secret@host:2379",
            "secret@://host:2379@host:2379",
            "http://ann:sec/secret\n@host:2379",
        ] {
            let error = given.parse::<Endpoint>().unwrap_err();
            assert_eq!(
                error.to_string(),
                "endpoint \"…@host:2379\" holds a user or a password, which is not shown: leave \
                 out all up to the @, and give them as Credentials in the Options",
                "{given}"
            );
            assert_eq!(format!("{error:?}"), r#"Credentials { rest: "host:2379" }"#);
        }
        let no_host = "http://ann:secret@".parse::<Endpoint>().unwrap_err();
        assert_eq!(no_host, EndpointError::Credentials { rest: String::new() });
    }
}

//! The seeds, by which a voter first finds other voters. A host name may have several addresses.
//! Each address gets the same port and path, as `SEED_HOST` and `VOTER_URL` in the protocol's
//! source.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::voter::{SEEDS_MAX, VoterUrl};
use tokio::sync::mpsc;

use crate::incoming::Incoming;
use crate::notice::Notice;

/// The shortest time between two questions to the resolver.
const AGAIN_MIN: Duration = Duration::from_secs(1);

/// A seed host: `[http://|https://]NAME[:PORT]`, and the path of its voters. Without a scheme the
/// node uses `https://` where TLS is configured, else `http://`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeds {
    /// Whether the scheme is `https`; `None` without a scheme.
    secure: Option<bool>,
    host: String,
    port: Option<u16>,
    path: String,
}

/// A seed host that no voter's URL can have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeedsError {
    #[error(
        "the seed host {host:?} must be a name or an address, with a scheme (http:// or https://) \
         and a port where needed, such as voters.example:8080"
    )]
    Host { host: String },
    #[error(
        "the seed path {path:?} must be a path without a host, such as /voter: give the host as \
         the seed host"
    )]
    Path { path: String },
}

impl Seeds {
    /// Seeds at this host, with this path at each of its addresses; an empty path is the root.
    ///
    /// # Errors
    ///
    /// When host or path cannot be part of a URL.
    pub fn new(host: &str, path: &str) -> Result<Self, SeedsError> {
        let (secure, rest) = match (host.strip_prefix("https://"), host.strip_prefix("http://")) {
            (Some(rest), _) => (Some(true), rest),
            (None, Some(rest)) => (Some(false), rest),
            (None, None) => (None, host),
        };
        let wrong = || SeedsError::Host { host: host.to_owned() };
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port))
                if !rest.ends_with(']') && (!name.contains(':') || name.ends_with(']')) =>
            {
                (name, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (rest, None),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(wrong());
        }
        let path = path.trim_matches('/');
        let printable = path.chars().all(|c| !c.is_control() && !c.is_whitespace() && c != '#');
        if path.contains("://") || path.contains('?') || !printable {
            return Err(SeedsError::Path { path: path.to_owned() });
        }
        Ok(Self { secure, host: name.to_owned(), port, path: path.to_owned() })
    }

    /// Uses TLS if the seeds have no scheme.
    pub(crate) fn or_https(self) -> Self {
        Self { secure: self.secure.or(Some(true)), ..self }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.secure != Some(true)
    }

    fn url(&self, address: IpAddr) -> Option<VoterUrl> {
        let scheme = if self.is_plain() { "http" } else { "https" };
        let host = match (address, self.port) {
            (address, Some(port)) => SocketAddr::new(address, port).to_string(),
            (IpAddr::V4(address), None) => address.to_string(),
            (IpAddr::V6(address), None) => format!("[{address}]"),
        };
        let slash = if self.path.is_empty() { "" } else { "/" };
        VoterUrl::from_str(&format!("{scheme}://{host}{slash}{}", self.path)).ok()
    }

    /// The URLs of all addresses, each once, in order.
    ///
    /// # Errors
    ///
    /// When the name cannot be resolved now.
    pub async fn resolve(&self) -> std::io::Result<Vec<VoterUrl>> {
        let addresses = tokio::net::lookup_host((self.host.as_str(), 0)).await?;
        let mut urls: Vec<_> = addresses.filter_map(|address| self.url(address.ip())).collect();
        urls.sort();
        urls.dedup();
        urls.truncate(SEEDS_MAX);
        Ok(urls)
    }

    /// Resolves the name again and again, and sends each changed result to the loop.
    pub(crate) async fn watch(self, every: Duration, to_loop: mpsc::UnboundedSender<Incoming>) {
        let every = every.max(AGAIN_MIN);
        let mut before = Vec::new();
        let mut last_error = None;
        loop {
            let incoming = match self.resolve().await {
                Ok(urls) if urls != before => {
                    before = urls.clone();
                    last_error = None;
                    Some(Incoming::Seeds(urls))
                }
                Ok(_) => None,
                Err(error) => self.wrong(&error, &mut last_error),
            };
            if incoming.is_some_and(|incoming| to_loop.send(incoming).is_err()) {
                return;
            }
            tokio::time::sleep(every).await;
        }
    }

    /// Returns the failure, unless the last failure had the same reason.
    fn wrong(&self, error: &std::io::Error, last_error: &mut Option<Arc<str>>) -> Option<Incoming> {
        let why: Arc<str> = error.to_string().into();
        if last_error.as_ref() == Some(&why) {
            return None;
        }
        *last_error = Some(why.clone());
        Some(Incoming::Notice(Notice::Seeds { host: self.host.as_str().into(), why }))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed host {}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(host: &str, path: &str, address: &str) -> String {
        let seeds = Seeds::new(host, path).unwrap();
        seeds.url(address.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn seed_addresses_become_urls() {
        assert_eq!(url("voters.example", "", "10.0.0.1"), "http://10.0.0.1");
        assert_eq!(url("voters.example:8080", "/a/b/", "10.0.0.1"), "http://10.0.0.1:8080/a/b");
        assert_eq!(url("https://voters.example", "a", "::1"), "https://[::1]/a");
        assert_eq!(url("[::1]:8080", "a", "::1"), "http://[::1]:8080/a");
        assert_eq!(url("::1", "", "::1"), "http://[::1]");
    }

    #[test]
    fn default_scheme_follows_tls() {
        for (host, called) in [
            ("a:8080", "https://10.0.0.1:8080"),
            ("http://a:8080", "http://10.0.0.1:8080"),
            ("https://a:8080", "https://10.0.0.1:8080"),
        ] {
            let seeds = Seeds::new(host, "").unwrap().or_https();
            assert_eq!(seeds.url("10.0.0.1".parse().unwrap()).unwrap().to_string(), called);
        }
    }

    #[test]
    fn wrong_seed_is_refused() {
        for host in ["", "http://", "a b", "a/b", "a:port", "a:70000", "user@a"] {
            let told = Seeds::new(host, "").unwrap_err();
            assert!(matches!(told, SeedsError::Host { .. }), "{host:?}: {told}");
        }
        for path in ["http://elsewhere", "a b", "a?b", "a#b"] {
            let told = Seeds::new("a", path).unwrap_err();
            assert!(matches!(told, SeedsError::Path { .. }), "{path:?}: {told}");
        }
    }
}

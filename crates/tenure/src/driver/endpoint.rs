//! Addresses of servers, as people write them.

use std::fmt;
use std::net::Ipv6Addr;
use std::sync::Arc;

/// The form of a service's URLs, such as `http://10.0.0.1:2379`.
#[derive(Clone, Copy, Debug)]
pub struct UrlForm {
    /// Noun for such a URL with its article, such as `an endpoint`.
    pub what: &'static str,
    /// Name of the service, in lower case.
    pub service: &'static str,
    /// Scheme without TLS.
    pub plain: &'static str,
    /// Scheme with TLS.
    pub secure: &'static str,
    /// Port of a URL without a port.
    pub port: u16,
    /// Advice that each error prints.
    pub rule: &'static str,
}

/// The URL of a server: a scheme, a host and a port. Equal URLs mean the same server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServerUrl {
    url: Arc<str>,
    secure: bool,
}

/// The reason why a text is no [`ServerUrl`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct UrlError {
    /// The violated rule. A text with an `@` is not quoted: a password may stand before the `@`.
    pub what: String,
    /// The remedy, with the right form.
    pub fix: String,
}

impl ServerUrl {
    /// Whether the scheme uses TLS.
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

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl UrlForm {
    /// Reads `http://10.0.0.1:2379`, `https://store-0.example.org`, `http://[fd00::7]`. A text
    /// without a scheme is refused: a wrong guess could send a password in the clear.
    pub fn read(&self, text: &str) -> Result<ServerUrl, UrlError> {
        let Self { what, service, plain, secure, port, rule } = *self;
        let refuse = |what: String| Err(UrlError { what, fix: rule.to_owned() });
        // Check this first: other refusals quote the text, and with it a password.
        if text.contains('@') {
            return refuse(format!("{what} must not hold a user or a password"));
        }
        if text.is_empty() {
            return refuse(format!("{what} is empty"));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse(format!("{what} has no scheme"));
        };
        let is_secure = match scheme {
            _ if scheme == plain => false,
            _ if scheme == secure => true,
            "unix" | "unixs" => {
                return refuse(format!("Unix sockets of {service} are not supported"));
            }
            _ => return refuse(format!("the scheme {scheme:?} is not one that {service} speaks")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some(more) = authority.find(['/', '?', '#']) {
            return refuse(format!("{:?} does not belong to {what}", &authority[more..]));
        }
        let (host, given) = self.split(authority)?;
        let port = match given {
            None => port,
            Some(text) => match text.parse() {
                Ok(port) if port != 0 => port,
                _ => return refuse(format!("the port {text:?} is not a number from 1 to 65535")),
            },
        };
        let url = format!("{scheme}://{}:{port}", host.to_ascii_lowercase()).into();
        Ok(ServerUrl { url, secure: is_secure })
    }

    /// The same host and port with the other scheme.
    #[must_use]
    pub fn other_scheme(&self, url: &ServerUrl) -> ServerUrl {
        let authority = url.url.split_once("://").map_or(&*url.url, |(_, rest)| rest);
        let scheme = if url.secure { self.plain } else { self.secure };
        ServerUrl { url: format!("{scheme}://{authority}").into(), secure: !url.secure }
    }

    fn split<'a>(&self, authority: &'a str) -> Result<(&'a str, Option<&'a str>), UrlError> {
        let Self { what, plain, port, .. } = *self;
        let fix = format!(
            "write an IP address or a name, and IPv6 addresses in brackets, such as \
             {plain}://[::1]:{port}"
        );
        let refuse = |what: String| Err(UrlError { what, fix: fix.clone() });
        if authority.starts_with('[') {
            let Some((address, rest)) = authority.split_once(']') else {
                return refuse(format!("the bracket of {authority:?} is not closed"));
            };
            if address[1..].parse::<Ipv6Addr>().is_err() {
                return refuse(format!("{:?} is not an IPv6 address", &address[1..]));
            }
            let host = &authority[..=address.len()];
            return match rest.strip_prefix(':') {
                Some(port) => Ok((host, Some(port))),
                None if rest.is_empty() => Ok((host, None)),
                None => refuse(format!("{rest:?} stands behind the bracket")),
            };
        }
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        if host.is_empty() {
            return refuse(format!("{what} has no host"));
        }
        if port.is_some_and(|port| port.contains(':')) {
            return refuse(format!("the IPv6 address {authority:?} needs brackets"));
        }
        match host.chars().find(|c| !is_of_host(*c)) {
            Some(found) => refuse(format!("{found:?} is not part of a host's name")),
            None => Ok((host, port)),
        }
    }
}

/// Splits `10.0.0.7:80`, `db-1.example.com:80` or `[fd00::7]:80` into host and port; `None` for
/// every other form. An IPv6 address keeps its brackets, and the port is not 0.
#[must_use]
pub fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':').filter(|(host, _)| is_host(host))?;
    Some((host, port.parse().ok().filter(|port| *port > 0)?))
}

/// Whether a text is a name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match inner {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.len() <= 253 && host.chars().all(is_of_host),
    }
}

fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_repeats_passwords() {
        let form = UrlForm {
            what: "a server",
            service: "it",
            plain: "http",
            secure: "https",
            port: 1,
            rule: "write http://HOST",
        };
        for text in ["http://ann:secret@host", "ann:secret@host:1", "ann:secret@x://host"] {
            let error = form.read(text).unwrap_err();
            assert_eq!(
                error.to_string(),
                "a server must not hold a user or a password; write http://HOST"
            );
        }
        let url = form.read("http://Host/").unwrap();
        assert_eq!(
            (url.as_str(), form.other_scheme(&url).as_str()),
            ("http://host:1", "https://host:1")
        );
    }
}

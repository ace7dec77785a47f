//! The address of a member: an IP address or a DNS name, and a port.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An IP address or a DNS name, and a port: `10.0.0.1:7101`, `[fd00::1]:7101`,
/// `db-1.internal:7101`. The driver resolves names whenever it must.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostPort(Host);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Host {
    Ip(SocketAddr),
    Name(Arc<str>, u16),
}

/// Maximum number of bytes of a DNS name.
const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// The reason why a text is no host and port.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HostPortError {
    #[error("the address is empty")]
    Empty,
    #[error("the address {0:?} has no port")]
    NoPort(String),
    #[error("the port {0:?} is not a number from 1 to 65535")]
    Port(String),
    /// The last group of the IPv6 address would be taken for the port.
    #[error("the IPv6 address {0:?} needs brackets before its port")]
    Brackets(String),
    #[error("{host:?} is neither an IP address nor a DNS name: {rule}")]
    Host { host: String, rule: &'static str },
}

impl HostPortError {
    /// Remedy for an operator, without the address.
    pub const FIX: &str =
        "write a host and a port, such as 127.0.0.1:7101, [::1]:7101 or db-1.internal:7101";
}

impl HostPort {
    /// The address, unless the host is a name.
    #[must_use]
    pub const fn literal(&self) -> Option<SocketAddr> {
        match self.0 {
            Host::Ip(address) => Some(address),
            Host::Name(..) => None,
        }
    }

    /// The name to look up, if the host is a name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Host::Ip(_) => None,
            Host::Name(name, _) => Some(name),
        }
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        match &self.0 {
            Host::Ip(address) => address.port(),
            Host::Name(_, port) => *port,
        }
    }

    /// Whether datagrams to the address reach one process and no others.
    pub(in crate::nerio) fn is_one_process(&self) -> bool {
        let Some(ip) = self.literal().map(|address| address.ip().to_canonical()) else {
            return self.port() != 0;
        };
        let is_broadcast = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
        self.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && !is_broadcast
    }

    /// Whether two spellings mean one host and port, of an IP address or of a name.
    pub(in crate::nerio) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Host::Ip(one), Host::Ip(two)) => place(*one) == place(*two),
            (Host::Name(one, port), Host::Name(two, other)) => {
                port == other && one.trim_end_matches('.') == two.trim_end_matches('.')
            }
            (Host::Ip(_), Host::Name(..)) | (Host::Name(..), Host::Ip(_)) => false,
        }
    }
}

/// The parts of an address that two spellings share.
fn place(address: SocketAddr) -> (IpAddr, u16, u32) {
    let scope = match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(address) => address.scope_id(),
    };
    (address.ip().to_canonical(), address.port(), scope)
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self(Host::Ip(canonical(address)))
    }
}

/// Turns an IPv4 address in IPv6 form into that IPv4 address.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, HostPortError> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        if text.is_empty() {
            return Err(HostPortError::Empty);
        }
        if text.parse::<IpAddr>().is_ok() {
            return Err(HostPortError::NoPort(text.to_string()));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
        if port.is_empty() {
            return Err(HostPortError::NoPort(text.to_string()));
        }
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let Some(number) = port.parse().ok().filter(|_| digits) else {
            return Err(HostPortError::Port(port.to_string()));
        };
        if host.parse::<IpAddr>().is_ok() {
            return Err(HostPortError::Brackets(host.to_string()));
        }
        if let Some(rule) = broken(host) {
            return Err(HostPortError::Host { host: host.to_string(), rule });
        }
        Ok(Self(Host::Name(host.to_ascii_lowercase().into(), number)))
    }
}

/// The rule for DNS names that `host` breaks.
fn broken(host: &str) -> Option<&'static str> {
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.is_empty() || name.len() > NAME_MAX {
        return Some("a name has 1 to 253 bytes");
    }
    let fits = |part: &str| {
        let letters = part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        letters && (1..=LABEL_MAX).contains(&part.len())
    };
    if !name.split('.').all(fits) {
        return Some("the parts of a name are 1 to 63 letters, digits, - and _, with dots between");
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    let number = last.bytes().all(|byte| byte.is_ascii_digit());
    number.then_some("the last part of a DNS name must not be a number")
}

impl Serialize for HostPort {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostPort {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Host::Ip(address) => address.fmt(f),
            Host::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_unchanged() {
        for text in ["10.0.0.1:7101", "[fd00::1]:7101", "db-1.internal:7101", "x:1", "a_b.c.:9"] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), text);
        }
        let upper: HostPort = "DB-1.Internal:7101".parse().unwrap();
        assert_eq!((upper.name(), upper.port()), (Some("db-1.internal"), 7_101));
        assert_eq!(upper.literal(), None);
        let literal: HostPort = "[::1]:1".parse().unwrap();
        assert_eq!((literal.name(), literal.literal()), (None, "[::1]:1".parse().ok()));
    }

    #[test]
    fn errors_name_the_fault() {
        for (text, what) in [
            ("", "the address is empty"),
            ("127.0.0.1", "the address \"127.0.0.1\" has no port"),
            ("::1", "the address \"::1\" has no port"),
            ("db-1", "the address \"db-1\" has no port"),
            ("db-1:", "the address \"db-1:\" has no port"),
            ("db-1:70000", "the port \"70000\" is not a number from 1 to 65535"),
            ("db-1:+7", "the port \"+7\" is not a number from 1 to 65535"),
            ("fe80::1:2:x", "the port \"x\" is not a number from 1 to 65535"),
            (
                "1:2:3:4:5:6:7:8:1",
                "the IPv6 address \"1:2:3:4:5:6:7:8\" needs brackets \
                                        before its port",
            ),
            (
                "10.0.0.300:1",
                "\"10.0.0.300\" is neither an IP address nor a DNS name: the last \
                              part of a DNS name must not be a number",
            ),
            (
                "a b:1",
                "\"a b\" is neither an IP address nor a DNS name: the parts of a name are 1 \
                       to 63 letters, digits, - and _, with dots between",
            ),
            (".:1", "\".\" is neither an IP address nor a DNS name: a name has 1 to 253 bytes"),
        ] {
            assert_eq!(text.parse::<HostPort>().unwrap_err().to_string(), what, "{text}");
        }
        assert!(alloc::format!("{}:1", "x".repeat(64)).parse::<HostPort>().is_err());
        assert!(alloc::format!("{}x:1", "a.".repeat(127)).parse::<HostPort>().is_err());
    }

    #[test]
    fn two_spellings_are_one_place() {
        let is = |one: &str, two: &str| {
            one.parse::<HostPort>().unwrap().is(&two.parse::<HostPort>().unwrap())
        };
        assert!(is("DB-1.internal.:1", "db-1.internal:1"));
        assert!(is("[::ffff:10.0.0.1]:1", "10.0.0.1:1"));
        assert!(!is("db-1:1", "db-1:2") && !is("db-1:1", "db-2:1") && !is("db-1:1", "10.0.0.1:1"));
    }
}

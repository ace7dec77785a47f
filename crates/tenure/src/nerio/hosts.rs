//! Members that are given by the names of their hosts, and what resolves these.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use sha2::{Digest, Sha256};
use tenure_core::NodeName;
use tenure_core::nerio::Member;

/// The longest name of a host that DNS has.
const NAME_MAX: usize = 253;
/// How many addresses of one name are tried; further ones are left out.
pub(super) const ADDRESSES_MAX: usize = 8;

/// A port on a host that is found by its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Host {
    name: String,
    port: u16,
}

/// Why a text is no host and port.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HostError {
    /// Nothing behind the last colon.
    #[error("the address {text:?} has no port")]
    NoPort {
        /// The whole.
        text: String,
    },
    /// Something else than a port.
    #[error("the port {port:?} is not a number from 1 to 65535")]
    Port {
        /// What is there.
        port: String,
    },
    /// Not what a host can be called.
    #[error(
        "{name:?} is neither an IP address nor the name of a host, which has letters, digits, - \
         and _ with single dots in between, at most {NAME_MAX} in all, and does not end in a number"
    )]
    Name {
        /// What is there.
        name: String,
    },
}

impl Host {
    /// Its name, in lower case and without a dot at its end.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port there.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The address that stands for it, wherever it is: in `100::/64`, to which nothing is ever
    /// delivered (RFC 6666). The same on every node, and after every restart.
    #[must_use]
    pub fn stand_in(&self) -> SocketAddr {
        let mut octets = [0; 16];
        octets[0] = 1;
        octets[8..].copy_from_slice(&Sha256::digest(self.name.as_bytes())[..8]);
        SocketAddr::new(Ipv6Addr::from(octets).into(), self.port)
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let no_port = || HostError::NoPort { text: text.to_owned() };
        let (name, port) = text.rsplit_once(':').ok_or_else(no_port)?;
        if port.is_empty() {
            return Err(no_port());
        }
        let number = port.parse().ok().filter(|port| *port != 0);
        let port = number.ok_or_else(|| HostError::Port { port: port.to_owned() })?;
        if !is_name(name) {
            return Err(HostError::Name { name: name.to_owned() });
        }
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        Ok(Self { name, port })
    }
}

fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        !label.is_empty() && label.len() <= 63 && label.chars().all(fits)
    };
    // Resolvers take what ends in a number for an address: 10.1 is 10.0.0.1.
    let ends_in_number =
        name.rsplit('.').next().is_some_and(|last| last.chars().all(|c| c.is_ascii_digit()));
    name.len() <= NAME_MAX && name.split('.').all(is_label) && !ends_in_number
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

/// Where a member is, as the list of members has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// At an address.
    Address(SocketAddr),
    /// On a host that has a name.
    Host(Host),
}

impl Place {
    /// The member `name` at this place, as a configuration has it.
    #[must_use]
    pub fn member(&self, name: NodeName) -> Member {
        let address = match self {
            Self::Address(address) => *address,
            Self::Host(host) => host.stand_in(),
        };
        Member { name, address }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Host(host) => host.fmt(f),
        }
    }
}

/// The hosts of those members that are given by name.
pub type Hosts = BTreeMap<NodeName, Host>;

/// Finds the addresses of a host.
pub trait Resolver: Send + Sync + 'static {
    /// Those of `host`, each with its port, those to try first in front. It is called on a thread
    /// of its own and may take its time.
    fn resolve(&self, host: &Host) -> io::Result<Vec<SocketAddr>>;
}

/// The resolver of the system, as `/etc/nsswitch.conf` and `/etc/resolv.conf` set it.
#[derive(Clone, Copy, Default, Debug)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &Host) -> io::Result<Vec<SocketAddr>> {
        Ok((host.name.as_str(), host.port).to_socket_addrs()?.collect())
    }
}

/// What can be sent to, each once.
pub(super) fn usable(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut usable = Vec::new();
    for address in found {
        let ip: IpAddr = address.ip().to_canonical();
        let address = match (ip, address) {
            // The scope of a link-local address stays.
            (IpAddr::V6(_), address) => address,
            (ip, address) => SocketAddr::new(ip, address.port()),
        };
        let one = !ip.is_unspecified() && !ip.is_multicast();
        if one && usable.len() < ADDRESSES_MAX && !usable.contains(&address) {
            usable.push(address);
        }
    }
    usable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_and_a_port() {
        let host: Host = "DB-1.Internal.:7101".parse().unwrap();
        assert_eq!((host.to_string().as_str(), host.port()), ("db-1.internal:7101", 7_101));
        for (text, why) in [
            ("db-1", "the address \"db-1\" has no port"),
            ("db-1:", "the address \"db-1:\" has no port"),
            ("db-1:0", "the port \"0\" is not a number from 1 to 65535"),
            ("db-1:70000", "the port \"70000\" is not a number from 1 to 65535"),
        ] {
            assert_eq!(text.parse::<Host>().unwrap_err().to_string(), why);
        }
        for text in ["10.1:1", "db..x:1", ":1", "d b:1", "fe80::1:1", "dä:1", "1:1"] {
            assert!(matches!(text.parse::<Host>(), Err(HostError::Name { .. })), "{text}");
        }
        assert!(format!("{}:1", "a.".repeat(128)).parse::<Host>().is_err(), "255 characters");
    }

    #[test]
    fn what_stands_for_a_host_is_the_same_everywhere_and_of_no_other() {
        let stand_in = |text: &str| text.parse::<Host>().unwrap().stand_in();
        let address = stand_in("db-1.internal:7101");
        assert_eq!(address.to_string(), "[100::774d:d5cc:d717:d633]:7101");
        assert_eq!(stand_in("DB-1.internal.:7101"), address);
        assert_ne!(stand_in("db-2.internal:7101").ip(), address.ip());
        assert_ne!(stand_in("db-1.internal:7102"), address);
    }

    #[test]
    fn addresses_that_reach_nobody_or_everybody_are_left_out_and_the_rest_is_bounded() {
        let parse = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        let found: Vec<SocketAddr> = parse(&[
            "0.0.0.0:1",
            "224.0.0.1:1",
            "[::ffff:10.0.0.1]:1",
            "10.0.0.1:1",
            "[fd00::1]:1",
        ]);
        assert_eq!(usable(found), parse(&["10.0.0.1:1", "[fd00::1]:1"]) as Vec<SocketAddr>);
        let many = (1..=20).map(|n| SocketAddr::from(([10, 0, 0, n], 1))).collect();
        assert_eq!(usable(many).len(), ADDRESSES_MAX);
    }
}

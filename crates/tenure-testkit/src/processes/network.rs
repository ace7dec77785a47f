//! The network between the processes, which can get worse.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tenure_services::reserve;

use super::host::{Host, NODES};

/// Where whoever has an address of its own listens.
pub(super) const PORT: u16 = 7_100;

/// Weather that befalls every packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weather {
    /// Percentage of packets that are lost.
    pub loss: u8,
    /// Percentage of packets that arrive twice.
    pub twice: u8,
    /// How long each takes; a wide range puts them out of order.
    pub delay: Range<Duration>,
}

impl Weather {
    /// As on one machine with nothing else to do.
    pub const CALM: Self =
        Self { loss: 0, twice: 0, delay: Duration::ZERO..Duration::from_millis(2) };
}

/// A network between all hosts.
pub trait Network {
    /// From now on nothing passes from one to the other.
    fn cut(&self, from: Host, to: Host);

    /// No cuts, and calm.
    fn heal(&self);

    /// From now on this befalls every packet.
    fn set_weather(&self, _weather: Weather) {
        unreachable!("`knows` says so");
    }

    /// A command that runs where `host` is; the caller adds its arguments.
    fn command(&self, _host: Host, program: &str) -> Command {
        Command::new(program)
    }

    /// The address that `host` binds.
    fn listen(&self, _host: Host) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 0).into()
    }

    /// The address of `node` in the members list.
    fn member(&self, node: Host) -> SocketAddr {
        self.listen(node)
    }

    /// The key file of a participant, where they have keys.
    fn key_file(&self, _host: Host) -> Option<PathBuf> {
        None
    }

    /// Whether [`move_host`](Self::move_host) does anything.
    fn moves(&self) -> bool {
        false
    }

    /// From now on `host` is at other addresses, and its name leads there.
    fn move_host(&self, _host: Host) {}

    /// Nothing passes between the two, in either direction.
    fn part(&self, one: Host, other: Host) {
        self.cut(one, other);
        self.cut(other, one);
    }

    /// The members list of all processes.
    fn members(&self) -> String {
        let members = Host::nodes().map(|node| format!("{node}={}", self.member(node)));
        members.collect::<Vec<_>>().join(",")
    }
}

/// A part of loopback that this process has alone for as long as it lives. An address of its own
/// beside the usual one, so that no connection out of any port has taken it.
pub fn own_net() -> [u8; 2] {
    // Only to be elsewhere than others from the start.
    let first = std::process::id();
    let take = |number: u32| {
        let [.., high, low] = number.to_be_bytes();
        let net = [64 + high % 128, low];
        reserve(&format!("tenure-net-{}-{}", net[0], net[1])).ok()?;
        // A process that outlives its test may listen there still.
        TcpListener::bind(loopback(net, 0)).ok()?;
        (0..NODES).try_for_each(|nth| UdpSocket::bind(loopback(net, nth)).map(drop)).ok()?;
        Some(net)
    };
    (first..first + 10_000).find_map(take).expect("a free part of loopback")
}

/// The address of the `nth` of this part.
pub fn loopback([high, low]: [u8; 2], nth: usize) -> SocketAddr {
    ([127, high, low, 10 + u8::try_from(nth).unwrap()], PORT).into()
}

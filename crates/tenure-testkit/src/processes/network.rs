//! The network between the processes, and its disturbances.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tenure_services::reserve;

use super::host::{Host, NODES};

/// Port of every participant that has an address of its own.
pub(crate) const PORT: u16 = 7_100;

/// Disturbances of every packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weather {
    /// Percentage of packets that are lost.
    pub loss: u8,
    /// Percentage of packets that arrive twice.
    pub twice: u8,
    /// Delay of a packet; a wide range puts packets out of order.
    pub delay: Range<Duration>,
}

impl Weather {
    /// The network of one idle machine.
    pub const CALM: Self =
        Self { loss: 0, twice: 0, delay: Duration::ZERO..Duration::from_millis(2) };
}

/// A network between all hosts.
pub trait Network {
    /// Blocks all packets from one host to the other.
    fn cut(&self, from: Host, to: Host);

    /// Ends all cuts and disturbances.
    fn heal(&self);

    /// Disturbs every packet that follows.
    fn set_weather(&self, _weather: Weather) {
        unreachable!("`knows` says so");
    }

    /// A command that runs on `host`; the caller adds its arguments.
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

    /// The key file of a participant; `None` in a network without keys.
    fn key_file(&self, _host: Host) -> Option<PathBuf> {
        None
    }

    /// Whether [`move_host`](Self::move_host) has an effect.
    fn moves(&self) -> bool {
        false
    }

    /// Gives `host` other addresses, to which its name then leads.
    fn move_host(&self, _host: Host) {}

    /// Blocks all packets between two hosts, in both directions.
    fn part(&self, one: Host, other: Host) {
        self.cut(one, other);
        self.cut(other, one);
    }

    /// The list of members, for all processes.
    fn members(&self) -> String {
        let members = Host::nodes().map(|node| format!("{node}={}", self.member(node)));
        members.collect::<Vec<_>>().join(",")
    }
}

/// Reserves a part of loopback for this process while the process lives. Outgoing connections may
/// have taken any port of 127.0.0.1, so each process needs a separate part.
pub fn own_net() -> [u8; 2] {
    // Processes begin their search at different parts.
    let first = std::process::id();
    let take = |number: u32| {
        let [.., high, low] = number.to_be_bytes();
        let net = [64 + high % 128, low];
        reserve(&format!("tenure-net-{}-{}", net[0], net[1])).ok()?;
        // A process of an earlier test may still listen there.
        TcpListener::bind(loopback(net, 0)).ok()?;
        (0..NODES).try_for_each(|nth| UdpSocket::bind(loopback(net, nth)).map(drop)).ok()?;
        Some(net)
    };
    (first..first + 10_000).find_map(take).expect("a free part of loopback")
}

/// The `nth` address of this part.
pub fn loopback([high, low]: [u8; 2], nth: usize) -> SocketAddr {
    ([127, high, low, 10 + u8::try_from(nth).unwrap()], PORT).into()
}

//! What lies between the processes, and can be made worse.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::host::Host;

/// What befalls every packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weather {
    /// Of 100 packets, how many are lost.
    pub loss: u8,
    /// Of 100 packets, how many arrive twice.
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
    /// The address of `node` in the members list.
    fn member(&self, node: Host) -> SocketAddr;
    /// The address that `host` binds.
    fn listen(&self, host: Host) -> SocketAddr;
    /// A command that runs where `host` is; the caller adds its arguments.
    fn command(&self, host: Host, program: &str) -> Command;
    /// From now on nothing passes from one to the other.
    fn cut(&self, from: Host, to: Host);
    /// From now on this befalls every packet.
    fn set_weather(&self, weather: Weather);
    /// No cuts, and calm.
    fn heal(&self);

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

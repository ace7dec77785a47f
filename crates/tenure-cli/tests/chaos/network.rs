//! What lies between the processes, and can be made worse.

use std::net::SocketAddr;
use std::process::Command;

use crate::host::Host;
use crate::proxy::{Proxy, Weather};

pub(crate) trait Network {
    /// The address of `node` in the members list.
    fn member(&self, node: Host) -> SocketAddr;
    /// The address that `host` binds.
    fn listen(&self, host: Host) -> SocketAddr;
    /// A command that runs where `host` is; the caller adds its arguments.
    fn command(&self, host: Host, program: &str) -> Command;
    /// From now on nothing passes from one to the other.
    fn cut(&self, from: Host, to: Host);
    fn set_weather(&self, weather: Weather);
    /// No cuts, and calm.
    fn heal(&self);

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

impl Network for Proxy {
    fn member(&self, node: Host) -> SocketAddr {
        self.front(node)
    }

    fn listen(&self, host: Host) -> SocketAddr {
        self.behind(host)
    }

    fn command(&self, _: Host, program: &str) -> Command {
        Command::new(program)
    }

    fn cut(&self, from: Host, to: Host) {
        Self::cut(self, from, to);
    }

    fn set_weather(&self, weather: Weather) {
        Self::set_weather(self, weather);
    }

    fn heal(&self) {
        Self::heal(self);
    }
}

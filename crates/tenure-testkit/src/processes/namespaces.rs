//! A network namespace for each participant, and one namespace with a bridge between them.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::host::Host;
use super::network::{Network, PORT, Weather};

const NEEDS: &str = "this test needs root, `ip` (Debian: iproute2) and `iptables`";
const HUB: &str = "hub";
/// Number of networks that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A network of namespaces. Dropping it deletes the namespaces.
pub struct Namespaces {
    prefix: String,
}

impl Namespaces {
    /// Creates a namespace for each host.
    pub fn create() -> Self {
        assert!(rustix::process::geteuid().is_root(), "{NEEDS}; run it as root");
        for tool in ["ip", "iptables"] {
            let found = Command::new(tool).arg("--version").output();
            let missing = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
            assert!(!missing, "{NEEDS}; there is no {tool} in PATH, install it");
        }
        // Several tests of one process may run at once.
        let nth = MADE.fetch_add(1, Ordering::Relaxed);
        let created = Self { prefix: format!("tnr{}-{nth}", std::process::id()) };
        // Delete the namespaces that an earlier process with this process id left when it was
        // killed before its cleanup.
        created.delete();
        let hub = created.name(HUB);
        run(&format!("ip netns add {hub}"));
        run(&format!("ip -n {hub} link add bridge type bridge"));
        run(&format!("ip -n {hub} link set bridge up"));
        for host in Host::all() {
            created.add(host, &hub);
        }
        created
    }

    fn add(&self, host: Host, hub: &str) {
        let own = self.name(host.name());
        let ip = self.listen(host).ip();
        run(&format!("ip netns add {own}"));
        run(&format!("ip -n {own} link add eth0 type veth peer name {host} netns {hub}"));
        run(&format!("ip -n {hub} link set dev {host} master bridge up"));
        run(&format!("ip -n {own} address add {ip}/24 dev eth0"));
        run(&format!("ip -n {own} link set lo up"));
        run(&format!("ip -n {own} link set eth0 up"));
    }

    /// Deletes all namespaces of this network that exist.
    fn delete(&self) {
        for place in Host::all().map(Host::name).chain([HUB]) {
            // The deletion fails for a namespace that was never created; delete the others all the
            // same.
            Command::new("ip").args(["netns", "del", &self.name(place)]).output().ok();
        }
    }

    /// Takes the interface of `host` down, so that no packet passes to or from it.
    pub fn unplug(&self, host: Host) {
        run(&format!("ip -n {} link set dev {host} down", self.name(HUB)));
    }

    /// Takes the interface of `host` up again.
    pub fn plug(&self, host: Host) {
        run(&format!("ip -n {} link set dev {host} up", self.name(HUB)));
    }

    /// Address of a server, and the prefix that runs a command there.
    pub fn place(&self, node: Host) -> (Ipv4Addr, Vec<String>) {
        let IpAddr::V4(address) = self.listen(node).ip() else { panic!("IPv6") };
        let wrapper = ["ip", "netns", "exec", &self.name(node.name())].map(str::to_owned);
        (address, wrapper.into())
    }

    /// The namespace that joins all others.
    pub(super) fn hub(&self) -> String {
        self.name(HUB)
    }

    pub(super) fn name(&self, place: &str) -> String {
        format!("{}-{place}", self.prefix)
    }

    /// Filters the packets to `host` by `tool`, which is `iptables` or `ip6tables`.
    pub(super) fn filter(&self, tool: &str, host: Host, rule: &str) {
        run(&format!("ip netns exec {} {tool} -w {rule}", self.name(host.name())));
    }

    /// Applies only the loss of packets: not every kernel can delay and reorder packets.
    pub(super) fn lose(&self, tool: &str, weather: &Weather) {
        let probability = f32::from(weather.loss) / 100.0;
        let random = format!("-m statistic --mode random --probability {probability}");
        let rule = format!("-A INPUT -p udp {random} -j DROP");
        Host::all().for_each(|host| self.filter(tool, host, &rule));
    }
}

impl Network for Namespaces {
    fn listen(&self, host: Host) -> SocketAddr {
        let last = 10 + u8::try_from(host.index()).unwrap();
        ([10, 77, 0, last], if host.is_node() { PORT } else { 0 }).into()
    }

    fn command(&self, host: Host, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(host.name()), program]);
        command
    }

    fn cut(&self, from: Host, to: Host) {
        let rule = format!("-A INPUT -s {} -j DROP", self.listen(from).ip());
        self.filter("iptables", to, &rule);
    }

    fn set_weather(&self, weather: Weather) {
        self.lose("iptables", &weather);
    }

    fn heal(&self) {
        Host::all().for_each(|host| self.filter("iptables", host, "-F INPUT"));
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.delete();
    }
}

pub(super) fn run(line: &str) {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{NEEDS}; {line}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{NEEDS}; {line}: {complaint}");
}

//! Namespaces as hosts that find each other only by DNS names, over IPv4, IPv6 or both, and whose
//! addresses change.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;

use super::dns::Zone;
use super::host::Host;
use super::namespaces::{Namespaces, run};
use super::network::{Network, PORT, Weather};
use super::wait::output;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Increase of a host's number in the network when the host moves.
const STEP: u8 = 10;

/// Hosts with names. Dropping the network removes the namespaces.
pub struct NamedHosts {
    namespaces: Namespaces,
    zone: Zone,
    /// Each host's number in the network, the last byte of its addresses.
    numbers: Mutex<Vec<u8>>,
    folder: TempDir,
}

impl NamedHosts {
    /// Creates the hosts. `tenure` makes the keys of the cluster and of an application.
    pub fn create(tenure: &str) -> Self {
        let namespaces = Namespaces::create();
        let folder = tempfile::tempdir().unwrap();
        let numbers = Host::all().map(|host| 10 + u8::try_from(host.index()).unwrap());
        let zone = Zone::default();
        let numbers = Mutex::new(numbers.collect());
        let this = Self { namespaces, zone, numbers, folder };
        this.start_server();
        for host in Host::all() {
            this.dress(host);
            this.register(host);
        }
        fs::write(this.path("resolv.conf"), format!("nameserver {SERVER}\noptions timeout:1\n"))
            .unwrap();
        fs::write(this.path("nsswitch.conf"), "hosts: dns\n").unwrap();
        this.make_keys(tenure);
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make_keys(&self, tenure: &str) {
        let make = |words: &[&str], out: &str| {
            let out = self.path(out).display().to_string();
            // Clear the environment: variables of this process may be meant for tests.
            let made = output(Command::new(tenure).env_clear().args(words).args(["--out", &out]));
            assert!(made.status.success(), "{made:?}");
            out
        };
        let cluster = make(&["keys", "new", "--cluster", "chaos"], "cluster.key");
        let words = ["keys", "issue", "--key-file", &cluster, "--app", "app", "--elections", "*"];
        make(&words, "app.key");
    }

    /// Starts the name server in the namespace that joins all others. Only a thread enters the
    /// namespace, because a process with several threads cannot.
    fn start_server(&self) {
        let hub = self.namespaces.hub();
        run(&format!("ip -n {hub} address add {SERVER}/24 dev bridge"));
        let path = format!("/run/netns/{hub}");
        let bind = move || {
            let place = File::open(path).unwrap();
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(place.as_fd(), network).unwrap();
            UdpSocket::bind((SERVER, 53)).unwrap()
        };
        self.zone.serve(thread::spawn(bind).join().unwrap());
    }

    /// Present addresses of `host`. The second node has IPv4 only, the third IPv6 only.
    pub fn addresses(&self, host: Host) -> Vec<IpAddr> {
        let number = self.numbers.lock().unwrap()[host.index()];
        let four = Ipv4Addr::new(10, 77, 0, number).into();
        let six = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, number.into()).into();
        match host.index() {
            1 => vec![four],
            2 => vec![six],
            _ => vec![six, four],
        }
    }

    /// Name of `host` in the DNS.
    pub fn name(host: Host) -> String {
        format!("{host}.tenure.test")
    }

    /// `host` as a member, in the notation of settings.
    pub fn entry(host: Host) -> String {
        format!("{host}={}:{PORT}", Self::name(host))
    }

    /// Gives the interface of `host` its addresses, and removes all others.
    fn dress(&self, host: Host) {
        let place = self.namespaces.name(host.name());
        run(&format!("ip -n {place} address flush dev eth0 scope global"));
        let number = self.numbers.lock().unwrap()[host.index()];
        // All hosts need IPv4 to reach the name server.
        run(&format!("ip -n {place} address add 10.77.0.{number}/24 dev eth0"));
        run(&format!("ip -n {place} address add fd77::{number:x}/64 dev eth0 nodad"));
    }

    /// Registers the present addresses of `host` at the name server.
    pub fn register(&self, host: Host) {
        self.pretend(host, &self.addresses(host));
    }

    /// Makes the name server ignore questions about `host`.
    pub fn silence(&self, host: Host) {
        self.zone.set(Self::name(host), None);
    }

    /// Makes the name server return these addresses for `host`. With an empty list, the server
    /// answers that the name does not exist.
    pub fn pretend(&self, host: Host, addresses: &[IpAddr]) {
        self.zone.set(Self::name(host), Some(addresses.to_vec()));
    }

    /// Gives `host` other addresses. The name server still returns the earlier ones.
    pub fn readdress(&self, host: Host) {
        {
            let number = &mut self.numbers.lock().unwrap()[host.index()];
            *number = if *number > 230 { *number % STEP + STEP } else { *number + STEP };
        }
        self.dress(host);
    }

    /// Prefix that runs a command on `host`, with its own resolver configuration.
    pub fn around(&self, host: Host) -> Vec<String> {
        let mount =
            |name: &str| format!("mount --bind {} /etc/{name} && ", self.path(name).display());
        let script = mount("resolv.conf") + &mount("nsswitch.conf") + "exec \"$@\"";
        let (_, mut around) = self.namespaces.place(host);
        around.extend(["sh", "-c", &script, "sh"].map(str::to_owned));
        around
    }

    /// The key of a node, or the key of an application.
    pub fn key(&self, host: Host) -> PathBuf {
        self.path(if host.is_node() { "cluster.key" } else { "app.key" })
    }
}

impl Network for NamedHosts {
    fn member(&self, node: Host) -> SocketAddr {
        SocketAddr::new(self.addresses(node)[0], PORT)
    }

    fn listen(&self, host: Host) -> SocketAddr {
        (Ipv6Addr::UNSPECIFIED, if host.is_node() { PORT } else { 0 }).into()
    }

    fn members(&self) -> String {
        Host::nodes().map(Self::entry).collect::<Vec<_>>().join(",")
    }

    fn key_file(&self, host: Host) -> Option<PathBuf> {
        Some(self.key(host))
    }

    fn command(&self, host: Host, program: &str) -> Command {
        let around = self.around(host);
        let mut command = Command::new(&around[0]);
        command.args(&around[1..]).arg(program);
        command
    }

    fn cut(&self, from: Host, to: Host) {
        // The rule drops packets from both addresses of the sender.
        let number = self.numbers.lock().unwrap()[from.index()];
        let rule = |source: String| format!("-A INPUT -s {source} -j DROP");
        self.namespaces.filter("iptables", to, &rule(format!("10.77.0.{number}")));
        self.namespaces.filter("ip6tables", to, &rule(format!("fd77::{number:x}")));
    }

    fn set_weather(&self, weather: Weather) {
        for tool in ["iptables", "ip6tables"] {
            self.namespaces.lose(tool, &weather);
        }
    }

    fn heal(&self) {
        self.namespaces.heal();
        Host::all().for_each(|host| self.namespaces.filter("ip6tables", host, "-F INPUT"));
    }

    fn moves(&self) -> bool {
        true
    }

    fn move_host(&self, host: Host) {
        self.readdress(host);
        self.register(host);
    }
}

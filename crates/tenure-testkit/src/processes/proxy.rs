//! A network on loopback that loses, repeats, delays and partitions.
//!
//! ```text
//! client 127.N.N.10+i:any → front 127.N.N.1+m:7100 ═ per-client socket → node 127.N.N.10+m:7100
//!        ←── from the front ──                       ═  127.0.0.1:any    ←── its answer
//! node 127.N.N.10+i:7100 → front 127.N.N.1+m:7100 ═ front 127.N.N.1+i    → node 127.N.N.10+m:7100
//! ```
//!
//! The members list names the fronts, so that every packet between participants passes through the
//! proxy. The proxy knows a client by its address on loopback, and has a socket for each client and
//! node: so the node can tell clients apart, and its answers find their clients. Nodes receive each
//! other's packets from the fronts, because a node knows a member by its address.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tenure::clock;
use tenure_core::Time;

use super::host::{Host, NODES};
use super::network::{Network, PORT, Weather, own_net};
use crate::Rng;

/// Bound on per-client sockets. A new socket replaces the one that was silent for longest.
const PATHS: usize = 128;
/// Bound on packets under way; further packets are lost.
const UNDER_WAY: usize = 100_000;
/// Longest wait of the thread before it checks again whether it must end.
const GLANCE: Duration = Duration::from_millis(20);

/// Counts of packets by their fate.
#[derive(Clone, Default, Debug)]
pub struct Traffic {
    /// Packets that arrived, once or twice.
    pub passed: u64,
    /// Packets that a cut stopped.
    pub cut: u64,
    /// Packets that the weather lost.
    pub lost: u64,
    /// Packets that arrived twice.
    pub twice: u64,
}

struct Rules {
    cuts: BTreeSet<(Host, Host)>,
    weather: Weather,
    rng: Rng,
    traffic: Traffic,
    closed: bool,
}

/// A proxy that passes packets on until it is dropped.
pub struct Proxy {
    net: [u8; 2],
    rules: Arc<Mutex<Rules>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy in its own part of loopback. The seed determines the weather.
    pub fn start(seed: u64) -> Self {
        let net = own_net();
        let rules = Arc::new(Mutex::new(Rules {
            cuts: BTreeSet::new(),
            weather: Weather::CALM,
            rng: Rng::new(seed),
            traffic: Traffic::default(),
            closed: false,
        }));
        let mut post = Post::new(net, Arc::clone(&rules)).unwrap();
        let thread = thread::Builder::new().name("proxy".into()).spawn(move || post.run()).unwrap();
        Self { net, rules, thread: Some(thread) }
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap()
    }

    /// Traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.rules().traffic.clone()
    }
}

impl Network for Proxy {
    fn member(&self, node: Host) -> SocketAddr {
        assert!(node.is_node());
        (address(self.net, 1, node), PORT).into()
    }

    fn listen(&self, host: Host) -> SocketAddr {
        (address(self.net, 10, host), if host.is_node() { PORT } else { 0 }).into()
    }

    fn cut(&self, from: Host, to: Host) {
        self.rules().cuts.insert((from, to));
    }

    fn set_weather(&self, weather: Weather) {
        self.rules().weather = weather;
    }

    fn heal(&self) {
        let mut rules = self.rules();
        rules.cuts.clear();
        rules.weather = Weather::CALM;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Skip the rules after a panic of the thread: the first panic was printed, and a second
        // panic would abort.
        if let Ok(mut rules) = self.rules.lock() {
            rules.closed = true;
        }
        self.thread.take().map(JoinHandle::join);
    }
}

fn address(net: [u8; 2], first: u8, host: Host) -> Ipv4Addr {
    Ipv4Addr::new(127, net[0], net[1], first + u8::try_from(host.index()).unwrap())
}

impl Rules {
    /// Arrival times of a packet that the proxy receives `now`: none, one or two.
    fn fate(&mut self, now: Time, from: Option<Host>, to: Option<Host>) -> Vec<Time> {
        if let (Some(from), Some(to)) = (from, to)
            && self.cuts.contains(&(from, to))
        {
            self.traffic.cut += 1;
            return Vec::new();
        }
        if self.rng.chance(self.weather.loss) {
            self.traffic.lost += 1;
            return Vec::new();
        }
        self.traffic.passed += 1;
        let copies = 1 + usize::from(self.rng.chance(self.weather.twice));
        self.traffic.twice += copies as u64 - 1;
        (0..copies).map(|_| now.after(self.rng.span(&self.weather.delay))).collect()
    }
}

/// Socket that speaks to a node for a client that is no node.
struct Path {
    socket: Arc<UdpSocket>,
    used: u64,
}

/// A packet under way.
struct Packet {
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// The thread of the proxy.
struct Post {
    net: [u8; 2],
    fronts: Vec<Arc<UdpSocket>>,
    /// Sockets by client and node.
    paths: BTreeMap<(SocketAddr, usize), Path>,
    /// Packets by time of arrival, then by number.
    under_way: BTreeMap<(Time, u64), Packet>,
    nth: u64,
    rules: Arc<Mutex<Rules>>,
}

impl Post {
    fn new(net: [u8; 2], rules: Arc<Mutex<Rules>>) -> io::Result<Self> {
        let bind = |host| bind((address(net, 1, host), PORT).into());
        let fronts = Host::nodes().map(bind).collect::<io::Result<_>>()?;
        let paths = BTreeMap::new();
        let under_way = BTreeMap::new();
        Ok(Self { net, fronts, paths, under_way, nth: 0, rules })
    }

    fn run(&mut self) {
        while !self.rules.lock().unwrap().closed {
            self.wait();
            for node in 0..NODES {
                self.take_requests(node);
            }
            let paths = self.paths.iter().map(|(ends, path)| (*ends, Arc::clone(&path.socket)));
            for ((client, node), socket) in paths.collect::<Vec<_>>() {
                self.take_answers(client, node, &socket);
            }
            self.deliver();
        }
    }

    fn wait(&self) {
        let next = self.under_way.keys().next().map(|(at, _)| at.since(clock::now()));
        let pause = next.map_or(GLANCE, |next| next.min(GLANCE));
        let sockets = self.fronts.iter().chain(self.paths.values().map(|path| &path.socket));
        let mut fds: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        // An interrupted wait only starts the next turn of the loop.
        poll(&mut fds, Some(&Timespec::try_from(pause).unwrap())).ok();
    }

    fn take_requests(&mut self, node: usize) {
        let mut buffer = [0; 2048];
        while let Some((length, client)) = receive(&self.fronts[node], &mut buffer) {
            let packet = &buffer[..length];
            let from = self.host(client.ip());
            if let Some(socket) = self.speaks_for(client, node) {
                self.send_off(from, Some(Host::node(node)), &socket, self.behind(node), packet);
            }
        }
    }

    fn take_answers(&mut self, client: SocketAddr, node: usize, socket: &UdpSocket) {
        let mut buffer = [0; 2048];
        let to = self.host(client.ip());
        let front = Arc::clone(&self.fronts[node]);
        while let Some((length, from)) = receive(socket, &mut buffer) {
            if from == self.behind(node) {
                self.send_off(Some(Host::node(node)), to, &front, client, &buffer[..length]);
            }
        }
    }

    /// Address at which a node listens.
    fn behind(&self, node: usize) -> SocketAddr {
        (address(self.net, 10, Host::node(node)), PORT).into()
    }

    fn send_off(
        &mut self,
        from: Option<Host>,
        to: Option<Host>,
        socket: &Arc<UdpSocket>,
        address: SocketAddr,
        bytes: &[u8],
    ) {
        let fate = self.rules.lock().unwrap().fate(clock::now(), from, to);
        for at in fate.into_iter().take(UNDER_WAY - self.under_way.len()) {
            self.nth += 1;
            let socket = Arc::clone(socket);
            let bytes = bytes.to_vec();
            self.under_way.insert((at, self.nth), Packet { socket, to: address, bytes });
        }
    }

    fn deliver(&mut self) {
        let now = clock::now();
        while let Some(entry) = self.under_way.first_entry()
            && entry.key().0 <= now
        {
            let Packet { socket, to, bytes } = entry.remove();
            // A packet without recipient or room is lost, as on any network.
            socket.send_to(&bytes, to).ok();
        }
    }

    fn host(&self, ip: IpAddr) -> Option<Host> {
        Host::all().find(|host| ip == address(self.net, 10, *host))
    }

    /// Socket from which `node` gets the packets of `client`. A client that is a node has a fixed
    /// socket, its front; any other client gets a socket for this node at its first packet.
    fn speaks_for(&mut self, client: SocketAddr, node: usize) -> Option<Arc<UdpSocket>> {
        if let Some(host) = self.host(client.ip()).filter(|host| host.is_node()) {
            return self.fronts.get(host.index()).cloned();
        }
        self.nth += 1;
        if !self.paths.contains_key(&(client, node)) {
            if self.paths.len() >= PATHS {
                let oldest = *self.paths.iter().min_by_key(|(_, path)| path.used)?.0;
                self.paths.remove(&oldest);
            }
            let socket = bind((Ipv4Addr::LOCALHOST, 0).into()).ok()?;
            self.paths.insert((client, node), Path { socket, used: 0 });
        }
        let path = self.paths.get_mut(&(client, node))?;
        path.used = self.nth;
        Some(Arc::clone(&path.socket))
    }
}

fn bind(address: SocketAddr) -> io::Result<Arc<UdpSocket>> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    Ok(Arc::new(socket))
}

/// The next packet. Passes over the error by which a socket reports that an earlier packet was not
/// delivered.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Ok(received) => return Some(received),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return None,
        }
    }
}

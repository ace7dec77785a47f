//! Plain UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, Socket, Type};
use tenure::driver::Watched;

use super::Transport;
use super::sources::Sources;

/// Room for a burst of renewals of thousands of elections; the kernel caps it.
const BUFFER: usize = 4 << 20;

/// A UDP socket.
///
/// Only incoming datagrams wake a node. A socket of tokio would also wake its task after each send,
/// when there is room again for outgoing datagrams.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    watched: Option<Watched<UdpSocket>>,
    address: SocketAddr,
    families: Families,
    sources: Option<Sources>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Families {
    /// Its own family.
    One,
    /// Both families: an IPv4 address has the form of the IPv6 address that represents it.
    Both,
}

impl Families {
    /// The form of `address` for the socket.
    pub(crate) fn outward(self, address: SocketAddr) -> SocketAddr {
        match (self, address) {
            (Self::Both, SocketAddr::V4(at)) => (at.ip().to_ipv6_mapped(), at.port()).into(),
            _ => address,
        }
    }

    /// The form of `address` for everything else.
    pub(crate) fn inward(self, address: SocketAddr) -> SocketAddr {
        match (self, address.ip().to_canonical()) {
            (Self::Both, IpAddr::V4(ip)) => (ip, address.port()).into(),
            _ => address,
        }
    }
}

/// Opens a socket. The unspecified IPv6 address takes both families; without IPv6 the socket is on
/// the unspecified IPv4 address.
pub(crate) fn open(address: SocketAddr) -> io::Result<(UdpSocket, Families)> {
    let any = address.is_ipv6() && address.ip().is_unspecified();
    let open = |address: SocketAddr| -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        if address.is_ipv6() && any {
            socket.set_only_v6(false)?;
        }
        // Best effort: a smaller buffer loses bursts, and their datagrams are sent again.
        let _ = socket.set_recv_buffer_size(BUFFER);
        let _ = socket.set_send_buffer_size(BUFFER);
        socket.bind(&address.into())?;
        Ok(UdpSocket::from(socket))
    };
    match open(address) {
        Ok(socket) => Ok((socket, if any { Families::Both } else { Families::One })),
        Err(error) if any && error.kind() != io::ErrorKind::AddrInUse => {
            let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
            // The error about the given address says more than an error of the second attempt.
            open(four).map(|socket| (socket, Families::One)).map_err(|_| error)
        }
        Err(error) => Err(error),
    }
}

/// The reason why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum UdpError {
    #[error(
        "{address} is not a loopback address, and this node accepts datagrams without a key: every \
         host that reaches the address could end leaderships and win elections; give keys without \
         accept-unsealed, or use insecure_any_address on a network of trusted hosts"
    )]
    NotLoopback { address: SocketAddr },
    #[error("{address} is in use by another socket")]
    InUse { address: SocketAddr },
    #[error("cannot open a UDP socket on {address}")]
    Bind { address: SocketAddr, source: io::Error },
}

impl Udp {
    /// A socket on `address`, which must be a loopback address. Port 0 takes any free port.
    pub fn loopback(address: SocketAddr) -> Result<Self, UdpError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(UdpError::NotLoopback { address });
        }
        Self::any(address)
    }

    /// A socket on any address, for sealed datagrams, or for a network where every host that
    /// reaches the address is trusted. On `[::]` the socket also carries IPv4.
    pub fn any(address: SocketAddr) -> Result<Self, UdpError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => UdpError::InUse { address },
            _ => UdpError::Bind { address, source },
        };
        let open = || {
            let (socket, families) = open(address)?;
            let address = socket.local_addr()?;
            let all = address.ip().is_unspecified();
            let sources = all.then(|| Sources::of(&socket)).transpose()?;
            Ok(Self { socket, watched: None, address, families, sources })
        };
        open().map_err(refused)
    }

    /// Lets a socket on all addresses of the machine answer each peer from the address that the
    /// peer has asked. To other nodes the socket sends from `ip`, if this machine has that address.
    #[must_use]
    pub(crate) fn speaking_from(mut self, ip: Option<IpAddr>) -> Self {
        let here = |ip: &IpAddr| UdpSocket::bind((*ip, 0)).is_ok();
        if let (Some(sources), Some(ip)) = (&mut self.sources, ip.filter(here)) {
            sources.speak_from(self.families.outward((ip, 0).into()).ip());
        }
        self
    }

    /// Registers the socket with the runtime in which it is used, not with the runtime in which it
    /// was made.
    fn watch(&mut self) -> io::Result<()> {
        if self.watched.is_none() {
            self.watched = Some(Watched::new(self.socket.try_clone()?)?);
        }
        Ok(())
    }
}

impl Transport for Udp {
    fn local_address(&self) -> SocketAddr {
        self.address
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let to = self.families.outward(to);
        match &mut self.sources {
            Some(sources) => sources.send(&self.socket, to, datagram).map(drop),
            None => self.socket.send_to(datagram, to).map(drop),
        }
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.watch()?;
        let Self { watched: Some(watched), families, sources, .. } = self else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        let received = watched.poll_read(context, |socket| match sources {
            Some(sources) => sources.receive(socket, buffer),
            None => socket.recv_from(buffer),
        });
        received.map_ok(|(length, from)| (length, families.inward(from)))
    }

    fn disbelieve(&mut self) {
        if let Some(sources) = &mut self.sources {
            sources.disbelieve();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn unspecified_ipv6_speaks_both_families() {
        let mut udp = Udp::any("[::]:0".parse().unwrap()).unwrap();
        let port = udp.local_address().port();
        for near in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(other) = UdpSocket::bind(near) else {
                assert!(near.starts_with('['), "there is no IPv6 on this machine");
                continue;
            };
            let at = other.local_addr().unwrap();
            udp.send(at, b"there").unwrap();
            let (_, from) = other.recv_from(&mut [0; 8]).unwrap();
            assert_eq!((from.ip(), from.port()), (at.ip(), port));
            other.send_to(b"back", from).unwrap();
            let mut buffer = [0; 8];
            let came = loop {
                match udp.socket.recv_from(&mut buffer) {
                    Ok((_, from)) => break udp.families.inward(from),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
                thread::yield_now();
            };
            assert_eq!(came, at, "as others call it");
        }
    }

    /// All of 127.0.0.0/8 is on loopback, and the kernel by itself sends from 127.0.0.1 there.
    #[test]
    fn answers_leave_from_the_asked_address() {
        const PATIENCE: Duration = Duration::from_secs(60);
        for all in ["0.0.0.0:0", "[::]:0"] {
            let mut udp = Udp::any(all.parse().unwrap()).unwrap();
            udp = udp.speaking_from(Some([127, 0, 0, 3].into()));
            let port = udp.local_address().port();
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let other = UdpSocket::bind("127.0.0.9:0").unwrap();
            other.set_read_timeout(Some(PATIENCE)).unwrap();
            let hears = |udp: &mut Udp| {
                udp.send(other.local_addr().unwrap(), b"there").unwrap();
                other.recv_from(&mut [0; 8]).unwrap().1
            };
            assert_eq!(hears(&mut udp), ([127, 0, 0, 3], port).into(), "its own, unasked");
            for ip in [[127, 0, 0, 2], [127, 0, 0, 4]] {
                other.send_to(b"asks", SocketAddr::from((ip, port))).unwrap();
                let mut buffer = [0; 8];
                let receive = poll_fn(|context| udp.poll_receive(context, &mut buffer));
                let came =
                    runtime.block_on(async { tokio::time::timeout(PATIENCE, receive).await });
                assert_eq!(came.expect("a datagram").unwrap(), (4, other.local_addr().unwrap()));
                assert_eq!(hears(&mut udp), (ip, port).into());
                // The first datagram from a sender has no predecessor. The second datagram is
                // forged.
                if ip[3] == 4 {
                    udp.disbelieve();
                    assert_eq!(hears(&mut udp), ([127, 0, 0, 2], port).into(), "asked before");
                }
            }
        }
    }

    #[test]
    fn outgoing_datagrams_wake_no_thread() {
        const SENT: u32 = 50;
        const PATIENCE: Duration = Duration::from_secs(60);
        let any = "127.0.0.1:0".parse().unwrap();
        let mut udp = Udp::loopback(any).unwrap();
        let address = udp.local_address();
        let other = UdpSocket::bind(any).unwrap();
        other.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut sender = Udp {
            socket: udp.socket.try_clone().unwrap(),
            watched: None,
            address,
            families: Families::One,
            sources: None,
        };
        let woken = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&woken);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_unpark(move || {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .build()
            .unwrap();
        let node = thread::spawn(move || {
            let mut buffer = [0; 8];
            let receive = poll_fn(|context| udp.poll_receive(context, &mut buffer));
            let received =
                runtime.block_on(async { tokio::time::timeout(PATIENCE, receive).await });
            let (length, from) = received.expect("a datagram").unwrap();
            (buffer[..length].to_vec(), from)
        });
        for _ in 0..SENT {
            sender.send(other.local_addr().unwrap(), b"out").unwrap();
            other.recv(&mut [0; 8]).unwrap();
            // Leave time for a wake-up, which must not come.
            thread::sleep(Duration::from_millis(1));
        }
        let woken = woken.load(Ordering::Relaxed);
        other.send_to(b"in", address).unwrap();
        let received = node.join().unwrap();
        assert_eq!(received, (b"in".to_vec(), other.local_addr().unwrap()));
        assert!(woken < SENT / 2, "{woken} times for {SENT} datagrams");
    }
}

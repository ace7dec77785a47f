//! Plain UDP.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::Transport;

/// Room for a burst of renewals of thousands of elections; the kernel caps it.
const BUFFER: usize = 4 << 20;

/// A UDP socket.
#[derive(Debug)]
pub struct Udp {
    bound: std::net::UdpSocket,
    socket: Option<UdpSocket>,
    address: SocketAddr,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum UdpError {
    /// Datagrams are not authenticated: whoever can reach the address could end and win
    /// leaderships.
    #[error(
        "{address} is not a loopback address, and datagrams are not authenticated: whoever can \
         send to it could end leaderships and win elections"
    )]
    NotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The address is taken.
    #[error("{address} is in use by another socket")]
    InUse {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("cannot open a UDP socket on {address}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl Udp {
    /// A socket on `address`, which must be a loopback address. Port 0 takes any.
    pub fn loopback(address: SocketAddr) -> Result<Self, UdpError> {
        if !address.ip().is_loopback() {
            return Err(UdpError::NotLoopback { address });
        }
        Self::any(address)
    }

    /// A socket on any address, without authentication: only where everybody who can send to it
    /// is trusted.
    pub fn any(address: SocketAddr) -> Result<Self, UdpError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => UdpError::InUse { address },
            _ => UdpError::Bind { address, source },
        };
        let open = || {
            let domain = Domain::for_address(address);
            let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
            socket.set_nonblocking(true)?;
            // Best effort: a smaller buffer loses bursts, and what is lost is sent again.
            let _ = socket.set_recv_buffer_size(BUFFER);
            let _ = socket.set_send_buffer_size(BUFFER);
            socket.bind(&address.into())?;
            let bound = std::net::UdpSocket::from(socket);
            let address = bound.local_addr()?;
            Ok(Self { bound, socket: None, address })
        };
        open().map_err(refused)
    }

    /// Registers with the runtime it is used in, which is not the one it was made in.
    fn socket(&mut self) -> io::Result<&UdpSocket> {
        if self.socket.is_none() {
            self.socket = Some(UdpSocket::from_std(self.bound.try_clone()?)?);
        }
        self.socket.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Transport for Udp {
    fn local_address(&self) -> SocketAddr {
        self.address
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        self.bound.send_to(datagram, to).map(drop)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut read = ReadBuf::new(buffer);
        let socket = self.socket()?;
        match socket.poll_recv_from(context, &mut read) {
            Poll::Ready(Ok(from)) => Poll::Ready(Ok((read.filled().len(), from))),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }
}

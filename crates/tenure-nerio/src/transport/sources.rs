//! The address from which a socket on all addresses sends to each peer.
//!
//! The kernel picks the source of a datagram by the route to its recipient. On a machine with
//! several addresses, a peer may have asked another address than that source. The peer then drops
//! the answer, as if it came from a stranger.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
};

/// Maximum number of peers remembered. Beyond that the socket forgets all peers, and learns each
/// again from its next datagram, before the answer.
const PEERS_MAX: usize = 16_384;

/// The addresses that peers have asked, all in the form that the socket uses.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Address of this machine that each peer has asked.
    asked: BTreeMap<SocketAddr, IpAddr>,
    /// Sender of the last datagram, and the address that it had asked before.
    last: Option<(SocketAddr, Option<IpAddr>)>,
    /// Address from which the socket sends to peers that have asked nothing.
    own: Option<IpAddr>,
}

impl Sources {
    /// Makes the kernel report the destination address of each datagram of `socket`.
    pub(super) fn of(socket: &UdpSocket) -> io::Result<Self> {
        match socket.local_addr()? {
            SocketAddr::V4(_) => setsockopt(socket, Ipv4PacketInfo, &true)?,
            SocketAddr::V6(_) => setsockopt(socket, Ipv6RecvPacketInfo, &true)?,
        }
        Ok(Self::default())
    }

    /// Sends from this address to peers that have asked nothing.
    pub(super) fn speak_from(&mut self, own: IpAddr) {
        self.own = Some(own);
    }

    pub(super) fn receive(
        &mut self,
        socket: &UdpSocket,
        buffer: &mut [u8],
    ) -> io::Result<(usize, SocketAddr)> {
        let mut control = nix::cmsg_space!(in6_pktinfo);
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::empty();
        let received =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
        let from = received.address.as_ref().and_then(address);
        let from = from.ok_or(io::ErrorKind::InvalidData)?;
        let asked = received.cmsgs().into_iter().flatten().find_map(asked);
        self.last = None;
        if let Some(asked) = asked.filter(|asked| !asked.is_multicast()) {
            if self.asked.len() > PEERS_MAX {
                self.asked.clear();
            }
            self.last = Some((from, self.asked.insert(from, asked)));
        }
        Ok((received.bytes, from))
    }

    /// Forgets the last datagram, whose sender may be forged.
    pub(super) fn disbelieve(&mut self) {
        match self.last.take() {
            Some((from, Some(before))) => drop(self.asked.insert(from, before)),
            Some((from, None)) => drop(self.asked.remove(&from)),
            None => {}
        }
    }

    pub(super) fn send(
        &mut self,
        socket: &UdpSocket,
        to: SocketAddr,
        datagram: &[u8],
    ) -> io::Result<usize> {
        let is_four = |ip: IpAddr| ip.to_canonical().is_ipv4();
        let own = self.own.filter(|own| is_four(*own) == is_four(to.ip()));
        let Some(from) = self.asked.get(&to).copied().or(own) else {
            return socket.send_to(datagram, to);
        };
        match send_from(socket, from, to, datagram) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                // The machine may have lost the address.
                self.asked.remove(&to);
                socket.send_to(datagram, to)
            }
            sent => sent,
        }
    }
}

fn send_from(
    socket: &UdpSocket,
    from: IpAddr,
    to: SocketAddr,
    datagram: &[u8],
) -> io::Result<usize> {
    let parts = [IoSlice::new(datagram)];
    let flags = MsgFlags::empty();
    let fd = socket.as_raw_fd();
    let address = Some(SockaddrStorage::from(to));
    let four = |ip: Ipv4Addr| in_addr { s_addr: u32::from(ip).to_be() };
    let sent = match from {
        IpAddr::V4(ip) => {
            let ipi_spec_dst = four(ip);
            let ipi_addr = four(Ipv4Addr::UNSPECIFIED);
            let source = in_pktinfo { ipi_ifindex: 0, ipi_spec_dst, ipi_addr };
            let control = [ControlMessage::Ipv4PacketInfo(&source)];
            sendmsg(fd, &parts, &control, flags, address.as_ref())
        }
        IpAddr::V6(ip) => {
            let ipi6_addr = in6_addr { s6_addr: ip.octets() };
            let source = in6_pktinfo { ipi6_addr, ipi6_ifindex: 0 };
            let control = [ControlMessage::Ipv6PacketInfo(&source)];
            sendmsg(fd, &parts, &control, flags, address.as_ref())
        }
    };
    Ok(sent?)
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let four = storage.as_sockaddr_in().map(|four| SocketAddr::V4((*four).into()));
    four.or_else(|| storage.as_sockaddr_in6().map(|six| SocketAddr::V6((*six).into())))
}

/// The address of this machine that the sender has asked.
fn asked(control: ControlMessageOwned) -> Option<IpAddr> {
    match control {
        ControlMessageOwned::Ipv4PacketInfo(info) => {
            Some(Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr)).into())
        }
        ControlMessageOwned::Ipv6PacketInfo(info) => {
            Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into())
        }
        _ => None,
    }
}

//! Carrying datagrams between nodes.

mod sources;
mod udp;

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

pub(crate) use udp::{Families, open};
pub use udp::{Udp, UdpError};

/// An unreliable way to send datagrams: they may be lost, delayed, repeated and reordered.
///
/// The implementation decides which senders to believe. The source of a datagram counts as the
/// address of its sender; a transport without authentication belongs on loopback or on a network
/// that is secured otherwise.
pub trait Transport: Send + 'static {
    /// Where others reach this node.
    fn local_address(&self) -> SocketAddr;

    /// Sends one datagram without waiting. `WouldBlock` means that there is no room; it is
    /// dropped and counted, and its sender repeats it if need be.
    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()>;

    /// Receives one datagram into `buffer`, giving its length and its source. Longer ones may
    /// be cut off. An error that concerns one datagram must not end the stream.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>>;

    /// The last datagram is forged, or may be: nothing learnt from it counts.
    fn disbelieve(&mut self) {}
}

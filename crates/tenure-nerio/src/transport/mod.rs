//! Transports of datagrams between nodes.

mod sources;
mod udp;

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

pub(crate) use udp::{Families, open};
pub use udp::{Udp, UdpError};

/// An unreliable way to send datagrams: they may be lost, delayed, repeated and reordered.
///
/// An implementation decides which senders to believe: the source of a datagram counts as its
/// sender's address. A transport without authentication belongs on loopback, or on a network that
/// is secured by other means.
pub trait Transport: Send + 'static {
    /// The address at which others reach this node.
    fn local_address(&self) -> SocketAddr;

    /// Sends one datagram without waiting. `WouldBlock` reports that there is no room. The node
    /// then drops and counts the datagram, and repeats it later if need be.
    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()>;

    /// Receives one datagram into `buffer`; returns its length and its source. Longer datagrams may
    /// be cut off. An error that concerns one datagram must not end the stream.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>>;

    /// Forgets what the last datagram showed, because that datagram may be forged.
    fn disbelieve(&mut self) {}
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A transport that receives nothing.
    #[derive(Default)]
    pub(crate) struct Silent {
        pub(crate) sent: Vec<Vec<u8>>,
        /// Number of datagrams that the node has disbelieved.
        pub(crate) disbelieved: u32,
    }

    impl Transport for Silent {
        fn local_address(&self) -> SocketAddr {
            ([127, 0, 0, 1], 7101).into()
        }

        fn send(&mut self, _: SocketAddr, datagram: &[u8]) -> io::Result<()> {
            self.sent.push(datagram.to_vec());
            Ok(())
        }

        fn poll_receive(
            &mut self,
            _: &mut Context<'_>,
            _: &mut [u8],
        ) -> Poll<io::Result<(usize, SocketAddr)>> {
            Poll::Pending
        }

        fn disbelieve(&mut self) {
            self.disbelieved += 1;
        }
    }
}

//! The path of datagrams, sealed if there are keys.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use tenure::clock;
use tenure_core::Time;

use crate::seal::{DropReason, OpenDatagram, Seal};
use crate::transport::Transport;

pub(crate) struct Line<T> {
    transport: T,
    pub(crate) seal: Option<Box<Seal>>,
}

impl<T: Transport> Line<T> {
    pub(crate) fn new(transport: T, seal: Option<Seal>) -> Self {
        Self { transport, seal: seal.map(Box::new) }
    }

    /// Opens a received datagram; `None` for a part of a greeting.
    pub(crate) fn open<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<OpenDatagram<'a>>, DropReason> {
        let Self { transport, seal } = self;
        let Some(seal) = seal else {
            return Ok(Some(OpenDatagram { plain: datagram, shown: None }));
        };
        seal.incoming(now, from, datagram, |to, bytes| transport.send(to, bytes))
            .inspect_err(|_| transport.disbelieve())
    }
}

impl<T: Transport> Transport for Line<T> {
    fn local_address(&self) -> SocketAddr {
        self.transport.local_address()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let Self { transport, seal } = self;
        match seal {
            Some(seal) => {
                let send = |to, bytes: &[u8]| transport.send(to, bytes);
                seal.outgoing(clock::now(), to, datagram, send)
            }
            None => transport.send(to, datagram),
        }
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.transport.poll_receive(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;
    use crate::transport::tests::Silent;

    #[test]
    fn unopened_datagram_is_disbelieved() {
        let keys = format!("tenure-cluster-key-1 prod {}", "07".repeat(32));
        let seal = Seal::new(Keys::parse(&keys).unwrap()).unwrap();
        let mut line = Line::new(Silent::default(), Some(seal));
        let from = SocketAddr::from(([127, 0, 0, 2], 7101));
        assert!(line.open(Time::ZERO, from, &mut [b'x'; 64]).is_err());
        assert_eq!(line.transport.disbelieved, 1);
    }
}

//! A transport that keeps all datagrams.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tenure_nerio::transport::{Transport, Udp};

/// Datagrams with their destinations.
pub(crate) type Records = Arc<Mutex<Vec<(SocketAddr, Vec<u8>)>>>;

/// Enough datagrams for the tests.
const KEPT: usize = 5_000;

pub(crate) struct Recorder {
    udp: Udp,
    records: Records,
}

impl Recorder {
    pub(crate) fn new(udp: Udp) -> (Self, Records) {
        let records = Records::default();
        (Self { udp, records: Arc::clone(&records) }, records)
    }

    fn keep(&self, to: SocketAddr, datagram: &[u8]) {
        let mut records = self.records.lock().unwrap();
        if records.len() < KEPT {
            records.push((to, datagram.to_vec()));
        }
    }
}

impl Transport for Recorder {
    fn local_address(&self) -> SocketAddr {
        self.udp.local_address()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        self.keep(to, datagram);
        self.udp.send(to, datagram)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let received = self.udp.poll_receive(context, buffer);
        if let Poll::Ready(Ok((length, _))) = &received {
            self.keep(self.udp.local_address(), &buffer[..*length]);
        }
        received
    }
}

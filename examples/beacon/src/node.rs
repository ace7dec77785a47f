//! The driver: what the loop of [`tenure::driver`] does not know of one protocol.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{Backend, Hold, Machine, Timing, spawn};
use tenure::{ElectionName, MayOverlap, NodeName, Time};
use tenure_core::{Input, Ticket};
use tenure_nerio::StartError;
use tenure_nerio::transport::{Transport, Udp, UdpError};

use crate::core::{Beacon, Beat, LEASE};

/// A participant, which makes the handles of elections. The participant goes on until it is closed,
/// or until the last of its handles is gone.
pub type Node = Arc<Hold<MayOverlap, Infallible>>;

/// When work is asked to end before its lease does, and when it is dropped.
pub const TIMING: Timing = Timing {
    grace: Duration::from_secs(2),
    kill_margin: Duration::from_millis(500),
    resignation_max: LEASE,
};

/// Starts one at the first of these addresses that is free: `all` is the same for everybody.
pub fn start(id: NodeName, all: Vec<SocketAddr>) -> Result<Node, StartError> {
    let mut socket = Err(UdpError::InUse { address: ([127, 0, 0, 1], 0).into() });
    for address in &all {
        socket = socket.or_else(|_| Udp::loopback(*address));
    }
    let socket = socket?;
    let begin = move || (Bus { socket, id: id.clone(), all }, Beacon::new(id), ());
    Ok(spawn(begin, || TIMING)?)
}

struct Bus {
    socket: Udp,
    id: NodeName,
    all: Vec<SocketAddr>,
}

impl Backend for Bus {
    type Core = Beacon;
    type Class = MayOverlap;
    type Extra = Infallible;
    type Own = Infallible;
    type Incoming = (NodeName, Beat);
    type Ask = Infallible;

    const THREAD: &'static str = "beacon";
    const KINDS: usize = 0;
    const NO_TRANSFER: Option<&'static str> = Some("beacon");

    /// A datagram that is no beat is dropped.
    async fn next(&mut self) -> (NodeName, Beat) {
        let mut buffer = [0; 2048];
        loop {
            let received = poll_fn(|context| self.socket.poll_receive(context, &mut buffer)).await;
            let packet = received.ok().and_then(|(length, _)| buffer.get(..length));
            if let Some(Ok(beat)) = packet.map(postcard::from_bytes) {
                return beat;
            }
        }
    }

    /// Beats are few, so each is waited for.
    fn take(&mut self, _: usize) -> Option<(NodeName, Beat)> {
        None
    }

    fn on_incoming(&mut self, _: Time, beat: (NodeName, Beat), machine: &mut Machine<Self>) {
        let (from, message) = beat;
        machine.input(Input::Message { from, message });
    }

    /// A datagram that cannot be sent is as good as lost.
    fn send(&mut self, _: &'static str, beat: Beat) {
        let packet = postcard::to_allocvec(&(&self.id, beat)).unwrap_or_default();
        for address in &self.all {
            let _ = self.socket.send(*address, &packet);
        }
    }

    fn on_ask(&mut self, _: Time, ask: Infallible, _: &mut Machine<Self>) {
        match ask {}
    }

    fn persist(&mut self, record: &Infallible) -> bool {
        match *record {}
    }

    fn flush(&mut self, _: Ticket, record: Infallible) {
        match record {}
    }

    fn on_event(&mut self, _: Option<ElectionName>, own: Infallible, _: &mut Machine<Self>) {
        match own {}
    }

    /// The core sends the end of a leadership at once, so no farewell is waited for.
    fn farewell(&self) -> Duration {
        Duration::ZERO
    }
}

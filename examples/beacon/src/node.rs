//! The driver: the parts of this protocol that the loop of [`tenure::driver`] lacks.

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

/// The times before the end of the lease at which the work is asked to end, and is dropped.
pub const TIMING: Timing = Timing {
    grace: Duration::from_secs(2),
    kill_margin: Duration::from_millis(500),
    resignation_max: LEASE,
};

/// Starts a participant at the first free address of `all`. All participants have the same list.
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

    /// Waits for the next beat, and drops other datagrams.
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

    /// Beats are few, so the loop waits for each beat.
    fn take(&mut self, _: usize) -> Option<(NodeName, Beat)> {
        None
    }

    fn on_incoming(&mut self, _: Time, beat: (NodeName, Beat), machine: &mut Machine<Self>) {
        let (from, message) = beat;
        machine.input(Input::Message { from, message });
    }

    /// Ignores errors: a datagram that cannot be sent counts as lost.
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

    /// The core sends the end of a leadership at once, so a closing node waits for nothing.
    fn farewell(&self) -> Duration {
        Duration::ZERO
    }
}

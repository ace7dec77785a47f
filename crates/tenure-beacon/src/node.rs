//! The driver: UDP among a list of loopback addresses.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tenure::driver::{Backend, Hold, Machine, Timing, random, spawn};
use tenure::transport::{Transport, Udp, UdpError};
use tenure::{ElectionName, MayOverlap, NodeName, StartError, Time};
use tenure_core::{Input, Ticket};

use crate::core::{Beacon, Beat, Config};

/// A participant. It goes on until it is closed or all its handles are gone.
pub type Node = Arc<Hold<MayOverlap, Infallible>>;

/// Starts one at the first of these addresses that is free: all participants are at one of them.
pub fn start(own: NodeName, all: Vec<SocketAddr>, config: Config) -> Result<Node, StartError> {
    let mut found = Err(UdpError::InUse { address: ([127, 0, 0, 1], 0).into() });
    for address in &all {
        found = found.or_else(|_| Udp::loopback(*address));
    }
    let (socket, life, lease) = (found?, random()?, config.lease);
    let begin = move || {
        let core = Beacon::new(config, own.clone());
        (Bus { socket, own, all }, core, life)
    };
    let (grace, kill_margin) = (lease / 5, lease / 20);
    Ok(spawn(begin, move || Timing { grace, kill_margin, resignation_max: lease })?)
}

struct Bus {
    socket: Udp,
    own: NodeName,
    all: Vec<SocketAddr>,
}

impl Bus {
    /// What is no beat is dropped.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<(NodeName, Beat)> {
        let mut buffer = [0; 2048];
        loop {
            let received = ready!(self.socket.poll_receive(context, &mut buffer));
            let packet = received.ok().and_then(|(length, _)| buffer.get(..length));
            if let Some(Ok(beat)) = packet.map(postcard::from_bytes) {
                return Poll::Ready(beat);
            }
        }
    }
}

impl Backend for Bus {
    type Core = Beacon;
    type Class = MayOverlap;
    type Extra = Infallible;
    type Own = Infallible;
    type Incoming = (NodeName, Beat);
    type Ask = Infallible;

    const THREAD: &'static str = "beacon";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("beacon");

    async fn next(&mut self) -> (NodeName, Beat) {
        poll_fn(|context| self.poll(context)).await
    }

    fn take(&mut self, _: usize) -> Option<(NodeName, Beat)> {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(beat) => Some(beat),
            Poll::Pending => None,
        }
    }

    fn on_incoming(
        &mut self,
        _: Time,
        (from, message): (NodeName, Beat),
        machine: &mut Machine<Self>,
    ) {
        machine.input(Input::Message { from, message });
    }

    fn on_ask(&mut self, _: Time, ask: Infallible, _: &mut Machine<Self>) {
        match ask {}
    }

    fn send(&mut self, _: &'static str, beat: Beat) {
        let packet = postcard::to_allocvec(&(&self.own, beat)).unwrap_or_default();
        for one in &self.all {
            // As good as lost.
            let _ = self.socket.send(*one, &packet);
        }
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

    fn farewell(&self) -> Duration {
        Duration::from_millis(10)
    }
}

//! A node whose socket is never empty.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use tenure_nerio::transport::Transport;
use tenure_nerio::{Config, Member, Node, Opening, Storage};

const ADDRESS: &str = "127.0.0.1:7101";
const PATIENCE: Duration = Duration::from_secs(60);

/// A network of one node on which a datagram arrives at every instant: a datagram that the node
/// sent to itself, or else garbage.
struct NeverEmpty {
    own: VecDeque<Vec<u8>>,
    address: SocketAddr,
}

impl NeverEmpty {
    fn new() -> Self {
        Self { own: VecDeque::new(), address: ADDRESS.parse().unwrap() }
    }
}

impl Transport for NeverEmpty {
    fn local_address(&self) -> SocketAddr {
        self.address
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        assert_eq!(to, self.address);
        self.own.push_back(datagram.to_vec());
        Ok(())
    }

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let datagram = self.own.pop_front().unwrap_or_else(|| b"garbage".to_vec());
        buffer[..datagram.len()].copy_from_slice(&datagram);
        Poll::Ready(Ok((datagram.len(), self.address)))
    }
}

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("{what} waits behind a socket that is never empty"))
}

/// A flood of datagrams delays nothing that a leadership needs: requests of handles, the flush
/// before the first grant, and the timers that renew leases.
#[tokio::test]
async fn busy_socket_delays_no_flush() {
    let name = || "a".parse().unwrap();
    let member = Member::at(name(), ADDRESS.parse().unwrap());
    // The lease is so long that no standstill of the machine ends it. No other node is there to
    // wait for this node.
    let lease = Duration::from_secs(20);
    let mut config = Config::new("busy".parse().unwrap(), vec![member]).with_lease(lease);
    config.grace = lease / 5;
    let storage = Storage::Memory { opening: Opening::New };
    let node = Node::builder(config.check().unwrap(), name()).grantor(storage);
    let node = node.start_on(NeverEmpty::new()).unwrap();

    let election = node.election("billing").unwrap();
    let leadership = soon("a campaign", election.campaign("here")).await.unwrap();
    soon("the full lease", leadership.settled()).await.unwrap();
    // A renewal takes a timer: a lease is renewed when about a third of it is over.
    let mut until = leadership.until();
    let timed = until.map(|until| until.after(lease / 4));
    while until < timed {
        until = soon("a renewal", leadership.renewed(until)).await.unwrap();
    }
    assert!(leadership.is_current());
    let counters = soon("an order", node.counters()).await.unwrap();
    assert!(counters.dropped["size"] > 1_000, "there was no flood: {counters:?}");
    soon("a resignation", leadership.resign()).await;
    soon("the end", node.close()).await;
}

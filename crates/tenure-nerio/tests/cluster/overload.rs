//! More honest questions than a node can answer at once.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use tenure::clock;
use tenure_core::ElectionName;
use tenure_core::nerio::wire::{DATAGRAM_MAX, Envelope, Packer};
use tenure_core::nerio::{
    Candidates, Checked, Config, Elections, Inc, List, Message, Query, Verify, Which, Who,
};
use tenure_nerio::Node;
use tenure_nerio::transport::{Transport, Udp};

use crate::setup::{candidate, config, grantors, soon};

/// Maximum number of unanswered datagrams of one asker: enough to keep the sockets filled, and too
/// few to overflow them.
const WINDOW: u32 = 64;
const QUESTIONS: usize = 4;

/// A socket that can be cut off, like the machine of a leader that dies.
struct Cuttable {
    udp: Udp,
    is_cut: Arc<AtomicBool>,
}

impl Transport for Cuttable {
    fn local_address(&self) -> SocketAddr {
        self.udp.local_address()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        if self.is_cut.load(Ordering::Relaxed) { Ok(()) } else { self.udp.send(to, datagram) }
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.udp.poll_receive(context, buffer)
    }
}

/// Threads that ask one node each, as fast as it answers. Dropping the handle ends them.
struct Askers {
    threads: Vec<thread::JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
}

impl Askers {
    fn start(config: &Checked, asked: &[(SocketAddr, Message)]) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU64::new(0));
        let threads = asked.iter().map(|(to, message)| {
            let who = Who { name: "asker".parse().unwrap(), inc: Inc(u128::from(to.port())) };
            let packer = Packer::new(&Envelope { epoch: config.membership().id(), who });
            let mut datagram = packer.start();
            for _ in 0..QUESTIONS {
                assert!(packer.push(&mut datagram, message));
            }
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(to).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let is_over = is_over.clone();
            let answered = answered.clone();
            thread::spawn(move || {
                let mut unanswered = 0;
                while !is_over.load(Ordering::Relaxed) {
                    while unanswered < WINDOW {
                        let _ = socket.send(&datagram);
                        unanswered += 1;
                    }
                    match socket.recv(&mut [0; DATAGRAM_MAX]) {
                        Ok(_) => {
                            unanswered -= 1;
                            answered.fetch_add(QUESTIONS as u64, Ordering::Relaxed);
                        }
                        // Lost datagrams get no answer, so ask again.
                        Err(_) => unanswered = 0,
                    }
                }
            })
        });
        Self { threads: threads.collect(), is_over, answered }
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

impl Drop for Askers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// All nodes get questions without a pause, even the leader and the waiting candidate. The leader's
/// timers still renew leases. When the leader dies, the grantors' timers still grant the waiting
/// request.
#[tokio::test]
async fn an_honest_overload_stops_no_timer() {
    // All threads are busy until the lease ends, so the lease leaves room for delays.
    let config = Config::clone(&config()).with_lease(Duration::from_secs(12)).check().unwrap();
    let nodes = grantors(&config);
    let is_cut = Arc::new(AtomicBool::new(false));
    let udp = Udp::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    let leader = Cuttable { udp, is_cut: is_cut.clone() };
    let one = Node::builder(config.clone(), "one".parse().unwrap()).start_on(leader).unwrap();
    let two = candidate(&config, "two");
    let name: ElectionName = "db".parse().unwrap();
    let leadership = soon(one.election_named(name.clone()).campaign("1")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let election = two.election_named(name.clone());
    let waiting = tokio::spawn(async move { election.campaign("2").await });

    let start = clock::now();
    let query = Message::from(Query { election: name.clone(), start });
    let list = Message::from(List { start, after: None });
    let elections = Message::from(Elections { start, which: Which::All, after: None });
    let of = name.clone();
    let candidates = Message::from(Candidates { election: of, start, after: None });
    let verify = Message::from(Verify { election: name, start });
    let mut asked: Vec<_> = nodes.iter().map(|node| (node.address(), query.clone())).collect();
    asked.extend([list, elections, candidates].map(|asked| (nodes[0].address(), asked)));
    asked.extend([(one.address(), verify.clone()), (two.address(), verify)]);
    let askers = Askers::start(&config, &asked);

    let flooded = async {
        while askers.answered() < 1_000 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(flooded).await;
    soon(leadership.renewed(leadership.until())).await.unwrap();
    is_cut.store(true, Ordering::Relaxed);
    // Until shortly before the end of the lease, questions would only keep the machine busy.
    drop(askers);
    let left = leadership.remaining().unwrap();
    tokio::time::sleep(left.saturating_sub(Duration::from_secs(2))).await;
    let askers = Askers::start(&config, &asked);
    let next = soon(waiting).await.unwrap().unwrap();
    drop(askers);
    assert!(!leadership.is_current() && next.fence() > leadership.fence());
    let counters = soon(one.counters()).await.unwrap();
    assert_eq!(counters.expired, 1, "only the one that was cut off: {counters:?}");
}

//! A stranger that hears everything, has no key, and sends as much as it can.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use tenure::clock;
use tenure::{AtMostOne, Election};
use tenure_nerio::keys::Keys;
use tenure_nerio::transport::Udp;
use tenure_nerio::{Config, Member, Node};
use tenure_testkit::Rng;
use tenure_testkit::processes::rounds::is_soak;
use tenure_testkit::processes::{UdpSocketState, udp_sockets};
use tokio::runtime::Runtime;

use crate::fleet::{Fleet, LEASE, NODES};
use crate::recorder::{Recorder, Records};
use crate::until;

/// The number of datagrams of each kind that must reach each node before the flood ends.
const EACH: u64 = 1_000;
const KINDS: [&str; 4] = ["forged", "replayed", "cut", "unsealed"];
/// The kind of a datagram that shows a key for the first time.
const HELLO: u8 = 6;
/// Datagrams in a burst, which every socket has room for.
const PORTION: usize = 40;
const PAUSE: Duration = Duration::from_millis(2);
/// Rounds of the soak. Each round has some campaigns under the flood, and as many without the
/// flood.
const ROUNDS: usize = 20;
const CAMPAIGNS: usize = 10;

#[test]
fn stranger_changes_and_learns_nothing() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    fleet.start_runner("web", &billing);
    let before = fleet.leader(&billing);

    let (runtime, candidate) = (runtime(), candidate(&fleet, &billing));
    let election = candidate.0.election("billing/y").unwrap();
    let mut quiet: Vec<_> = (0..CAMPAIGNS).map(|_| campaign(&runtime, &election)).collect();
    let samples = samples(&candidate.1);
    let runner: SocketAddr = before["address"].as_str().unwrap().parse().unwrap();
    let hosts: Vec<_> = fleet
        .addresses()
        .iter()
        .map(|(_, at)| *at)
        .chain([runner, candidate.0.address()])
        .collect();

    let drops_enough = |node: &&str| dropped(&fleet, node).iter().all(|count| *count > EACH);
    let (paused, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut flooded = Vec::new();
    let heard = thread::scope(|scope| {
        let ends = EndsFlood(&over);
        let flood = scope.spawn(|| flood(&hosts, &samples, (&paused, &over)));
        for _ in 0..if is_soak() { ROUNDS } else { 1 } {
            paused.store(false, Ordering::Relaxed);
            sleep(PAUSE * 2);
            flooded.extend((0..CAMPAIGNS).map(|_| campaign(&runtime, &election)));
            paused.store(true, Ordering::Relaxed);
            sleep(PAUSE * 4);
            quiet.extend((0..CAMPAIGNS).map(|_| campaign(&runtime, &election)));
        }
        paused.store(false, Ordering::Relaxed);
        until("nodes drop enough of each kind", || NODES.iter().all(drops_enough));
        fleet.await_renewal("web");
        drop(ends);
        flood.join().unwrap()
    });
    let ratio = median(&mut flooded).as_secs_f64() / median(&mut quiet).as_secs_f64();
    println!(
        "campaigns: {:?} in the quiet, {:?} in the flood (medians of {} and {}): {ratio:.2}",
        median(&mut quiet),
        median(&mut flooded),
        quiet.len(),
        flooded.len()
    );
    assert!(ratio <= 2.0 || !is_soak(), "a campaign takes {ratio:.2} times as long in the flood");
    // The stranger also sends the hello for one node to other nodes. Each of them answers this
    // hello once, with fewer bytes.
    println!("{heard:?}");
    let hellos = samples.iter().filter(|(_, bytes)| bytes[4] == HELLO).count();
    assert!(heard.answers <= hellos * hosts.len(), "{hellos} hellos: {heard:?}");
    assert!(heard.bytes < heard.asked, "{heard:?}");
    let after = fleet.leader(&billing);
    assert_eq!((&after["id"], &after["fence"]), (&before["id"], &before["fence"]));
    for node in NODES {
        assert!(fleet.runs(node));
        let said = fleet.log(node);
        let warnings = said.lines().filter(|line| line.starts_with("warning: ")).count() as u64;
        // The flood has no fixed length, so the number of dropped datagrams bounds the number of
        // warnings.
        let dropped = dropped(&fleet, node).iter().sum::<u64>();
        let few = 1..=dropped / 50;
        assert!(few.contains(&warnings), "{node} has warned {warnings} times of {dropped}");
    }
    let peers = fleet.keys("a")["peers"].as_array().unwrap().len();
    assert!(peers < 20, "{peers} have shown a key to a");
}

/// The number of dropped datagrams of this node, by reason.
fn dropped(fleet: &Fleet, node: &str) -> [u64; 4] {
    let dropped = &fleet.status(node)["dropped"];
    ["forged", "replayed", "size", "unsealed"].map(|reason| dropped[reason].as_u64().unwrap_or(0))
}

/// Ends the flood, also when the test fails.
struct EndsFlood<'a>(&'a AtomicBool);

impl Drop for EndsFlood<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A candidate in this process, whose datagrams the stranger hears.
fn candidate(fleet: &Fleet, key: &str) -> (Node, Records) {
    let members = fleet.addresses().iter();
    let members = members.map(|(name, address)| Member::at(name.parse().unwrap(), *address));
    let config = Config::new("tenure".parse().unwrap(), members.collect()).with_lease(LEASE);
    let config = config.check().unwrap();
    let keys = Keys::parse(&std::fs::read_to_string(fleet.path(key)).unwrap()).unwrap();
    let udp = Udp::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    let (recorder, records) = Recorder::new(udp);
    let node = Node::builder(config, "candidate".parse().unwrap()).keys(keys);
    (node.start_on(recorder).unwrap(), records)
}

/// The time to win an uncontested election.
fn campaign(runtime: &Runtime, election: &Election<AtMostOne>) -> Duration {
    let began = clock::now();
    runtime.block_on(async {
        let leadership = election.campaign("me").await.unwrap();
        let took = clock::now().since(began);
        leadership.settled().await.unwrap();
        leadership.resign().await;
        took
    })
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// Some recorded datagrams of each kind, with their destinations.
fn samples(records: &Records) -> Vec<(SocketAddr, Vec<u8>)> {
    let samples = records.lock().unwrap().clone();
    assert!(samples.iter().all(|(_, bytes)| (5..=7).contains(&bytes[4])), "all are sealed");
    let hellos = samples.iter().filter(|(_, bytes)| bytes[4] == HELLO).count();
    assert!(hellos >= 3 && samples.len() > 50, "{hellos} hellos in {}", samples.len());
    samples
}

#[derive(Default, Debug)]
struct FloodAnswers {
    answers: usize,
    bytes: usize,
    /// Bytes of the flood.
    asked: usize,
}

/// Sends datagrams of each kind to each host, until it is `over`.
fn flood(
    hosts: &[SocketAddr],
    samples: &[(SocketAddr, Vec<u8>)],
    (paused, over): (&AtomicBool, &AtomicBool),
) -> FloodAnswers {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let (mut rng, mut heard, mut buffer) = (Rng::new(17), FloodAnswers::default(), [0; 2_000]);
    let mut hear = |heard: &mut FloodAnswers| {
        while let Ok((length, _)) = socket.recv_from(&mut buffer) {
            heard.answers += 1;
            heard.bytes += length;
        }
    };
    while !over.load(Ordering::Relaxed) {
        for nth in 0..PORTION {
            for host in hosts {
                let packet = spoiled(&mut rng, samples, *host, KINDS[nth % KINDS.len()]);
                heard.asked += socket.send_to(&packet, host).unwrap_or_default();
            }
        }
        hear(&mut heard);
        // Sends as fast as all hosts can read, so that no other datagram is lost.
        let unread = |socket: &UdpSocketState| socket.unread > 0 && hosts.contains(&socket.address);
        let waits = || udp_sockets().iter().any(unread) || paused.load(Ordering::Relaxed);
        while waits() && !over.load(Ordering::Relaxed) {
            sleep(PAUSE);
        }
    }
    sleep(Duration::from_millis(200));
    hear(&mut heard);
    heard
}

/// A datagram of this kind, made from a recorded datagram for `host` if there is one.
fn spoiled(
    rng: &mut Rng,
    samples: &[(SocketAddr, Vec<u8>)],
    host: SocketAddr,
    kind: &str,
) -> Vec<u8> {
    let (mut to, mut packet) = rng.pick(samples).clone();
    for _ in 0..20 {
        if to == host {
            break;
        }
        (to, packet) = rng.pick(samples).clone();
    }
    match kind {
        "forged" => {
            let bits = rng.within(1..4);
            for _ in 0..bits {
                // The change comes after the version and the kind.
                let at = 5 + rng.index(packet.len() - 5);
                packet[at] ^= 1 << rng.within(0..8);
            }
        }
        "cut" => packet.truncate(rng.index(packet.len())),
        "unsealed" => {
            packet.truncate(5 + rng.index(packet.len() - 5));
            packet[4] = 4;
        }
        _ => {}
    }
    packet
}

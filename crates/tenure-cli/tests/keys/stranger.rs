//! One who hears everything, has no key, and sends as much as it can.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use tenure::clock;
use tenure::nerio::keys::Keys;
use tenure::nerio::{Config, Member, Node};
use tenure::transport::Udp;
use tenure::{AtMostOne, Election};
use tenure_testkit::Rng;
use tokio::runtime::Runtime;

use crate::fleet::{Fleet, LEASE, NODES};
use crate::recorder::{Recorder, Records};

/// Of each kind, to each process.
const EACH: u64 = 100_000;
const KINDS: [&str; 4] = ["forged", "replayed", "cut", "unsealed"];
/// So many at a time, and then a pause in which one processor can catch up.
const PORTION: u64 = 100;
const PAUSE: Duration = Duration::from_millis(8);
/// Campaigns in the quiet and in the flood, in turn.
const ROUNDS: usize = 20;
const CAMPAIGNS: usize = 10;

#[test]
fn a_stranger_changes_nothing_and_learns_nothing() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    fleet.start_runner("web", &billing);
    let before = fleet.leader(&billing, "billing/x").expect("a leader");

    let (runtime, candidate) = (runtime(), candidate(&fleet, &billing));
    let election = candidate.0.election("billing/y").unwrap();
    let mut quiet: Vec<_> = (0..CAMPAIGNS).map(|_| campaign(&runtime, &election)).collect();
    let samples = samples(&candidate.1);
    let runner: SocketAddr = before["address"].as_str().unwrap().parse().unwrap();
    let hosts: Vec<_> =
        fleet.members.iter().map(|(_, at)| at).chain([runner, candidate.0.address()]).collect();
    let received = |fleet: &Fleet| -> u64 {
        NODES.iter().map(|node| fleet.status(node)["received"].as_u64().unwrap()).sum()
    };
    let received_before = received(&fleet);

    let (paused, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut flooded = Vec::new();
    let answered = thread::scope(|scope| {
        let flood = scope.spawn(|| flood(&hosts, &samples, (&paused, &sent)));
        while !flood.is_finished() {
            paused.store(false, Ordering::Relaxed);
            sleep(PAUSE * 2);
            flooded.extend((0..CAMPAIGNS).map(|_| campaign(&runtime, &election)));
            let due = sent.load(Ordering::Relaxed) + EACH * 4 / ROUNDS as u64;
            while sent.load(Ordering::Relaxed) < due && !flood.is_finished() {
                sleep(PAUSE);
            }
            paused.store(true, Ordering::Relaxed);
            sleep(PAUSE * 4);
            quiet.extend((0..CAMPAIGNS).map(|_| campaign(&runtime, &election)));
        }
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
    assert!(ratio <= 2.0, "a campaign takes {ratio:.2} times as long in the flood");
    // A hello on its way to one node is news to another, and answered once, with fewer bytes.
    let (answered, asked) = answered;
    println!("{answered} bytes of answers to {asked}");
    assert!(answered * 1_000 < asked, "{answered} bytes of answers to {asked}");
    let arrived = received(&fleet) - received_before;
    assert!(arrived > EACH * 4, "only {arrived} of {} arrived at nodes", EACH * 12);
    sleep(LEASE);
    let after = fleet.leader(&billing, "billing/x").expect("a leader");
    assert_eq!((&after["id"], &after["fence"]), (&before["id"], &before["fence"]));
    for node in NODES {
        let dropped = &fleet.status(node)["dropped"];
        for reason in ["forged", "replayed", "size", "unsealed"] {
            let count = dropped[reason].as_u64();
            assert!(count > Some(1_000), "{node}: {reason} in {dropped}");
        }
        assert!(fleet.runs(node));
        let said = fleet.said(node);
        let warnings = said.lines().filter(|line| line.starts_with("warning: ")).count();
        assert!((1..50).contains(&warnings), "{node} has warned {warnings} times");
    }
    let peers = fleet.keys("a")["peers"].as_array().unwrap().len();
    assert!(peers < 20, "{peers} have shown a key to a");
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A candidate of this process, of whose datagrams the stranger hears every one.
fn candidate(fleet: &Fleet, key: &str) -> (Node, Records) {
    let member = |(name, address): (&str, _)| Member::at(name.parse().unwrap(), address);
    let members = fleet.members.iter().map(member);
    let config = Config::new("tenure".parse().unwrap(), members.collect()).with_lease(LEASE);
    let config = config.check().unwrap();
    let keys = Keys::parse(&std::fs::read_to_string(fleet.path(key)).unwrap()).unwrap();
    let udp = Udp::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
    let (recorder, records) = Recorder::new(udp);
    let node = Node::builder(config, "candidate".parse().unwrap()).keys(keys);
    (node.start_on(recorder).unwrap(), records)
}

/// How long it takes to win an election that nobody else wants.
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

/// What was heard, with where it went: of each kind of datagram some.
fn samples(records: &Records) -> Vec<(SocketAddr, Vec<u8>)> {
    let samples = records.lock().unwrap().clone();
    assert!(samples.iter().all(|(_, bytes)| (5..=7).contains(&bytes[4])), "all are sealed");
    let hellos = samples.iter().filter(|(_, bytes)| bytes[4] == 6).count();
    assert!(hellos >= 3 && samples.len() > 50, "{hellos} hellos in {}", samples.len());
    samples
}

/// Sends [`EACH`] of each kind to each host; how many bytes came back, and how many were sent.
fn flood(
    hosts: &[SocketAddr],
    samples: &[(SocketAddr, Vec<u8>)],
    (paused, sent): (&AtomicBool, &AtomicU64),
) -> (usize, usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let (mut rng, mut answered, mut asked, mut buffer) = (Rng::new(17), 0, 0, [0; 2_000]);
    for nth in 0..EACH * KINDS.len() as u64 {
        for host in hosts {
            let packet = spoiled(&mut rng, samples, *host, KINDS[nth as usize % KINDS.len()]);
            // A full buffer is somebody else's lost packet.
            asked += socket.send_to(&packet, host).unwrap_or_default();
        }
        while let Ok((length, _)) = socket.recv_from(&mut buffer) {
            answered += length;
        }
        sent.fetch_add(1, Ordering::Relaxed);
        while nth % PORTION == 0 && {
            sleep(PAUSE);
            paused.load(Ordering::Relaxed)
        } {}
    }
    sleep(Duration::from_millis(200));
    while let Ok((length, _)) = socket.recv_from(&mut buffer) {
        answered += length;
    }
    (answered, asked)
}

/// Something of this kind, out of what was heard on its way to `host` if there is any.
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
                // Behind the version, so that it says what it said it is.
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

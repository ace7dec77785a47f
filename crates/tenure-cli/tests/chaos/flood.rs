//! A flood of garbage from one address, to nodes and runners, changes nothing for anybody.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use tenure::clock;
use tenure_testkit::Rng;
use tenure_testkit::processes::nerio::Nerio;
use tenure_testkit::processes::{Fleet, Host, Manner, Network, Proxy, Timing};

tenure_testkit::tests!(a_flood_of_garbage_changes_nothing);

const PACKETS: u32 = 100_000;
/// So many at a time, so that the flood lasts for several leases.
const PORTION: u32 = 100;
const PAUSE: Duration = Duration::from_millis(15);
/// Where a datagram has the digest of its configuration.
const DIGEST: std::ops::Range<u64> = 5..13;

/// The leader must lead on, also when the machine stands still for some seconds.
const TIMING: Timing = Timing {
    lease: Duration::from_millis(6_000),
    grace: Duration::from_millis(500),
    kill_margin: Duration::from_millis(250),
};

fn a_flood_of_garbage_changes_nothing() {
    let mut cluster = Fleet::start(crate::TENURE, Nerio::new(Proxy::start(9), TIMING));
    Host::runners().for_each(|runner| cluster.start_runner(runner, Manner::Polite));
    let leader = cluster.await_any();
    sleep(TIMING.lease);
    let samples: Vec<_> =
        cluster.deployment.network.traffic().kept.into_values().flatten().collect();
    assert!(samples.len() > 100, "{} real packets to spoil", samples.len());
    let before = Host::nodes().map(|node| cluster.status(node)).collect::<Vec<_>>();
    let mut leader = (leader.id.clone(), leader.fence);

    let began = clock::now();
    let hosts: Vec<_> = Host::all().map(|host| cluster.deployment.network.listen(host)).collect();
    let sent = AtomicU32::new(0);
    thread::scope(|scope| {
        let flood = scope.spawn(|| flood(&hosts, &samples, &sent));
        let mut handed_over = false;
        while !flood.is_finished() {
            sleep(PAUSE);
            let now = cluster.judged().current().unwrap();
            let packets = sent.load(Ordering::Relaxed);
            assert_eq!((&now.id, now.fence), (&leader.0, leader.1), "after {packets} packets");
            if packets > PACKETS / 2 && !handed_over {
                // Both are flooded: the runner that gives way, and the one that takes over.
                let asked = clock::now();
                assert_eq!(cluster.tell(Host::named(&leader.0).unwrap(), &["resign"]), Some(0));
                let next = cluster.await_leader(leader.1, asked);
                println!("handed over in the flood within {:?}", clock::now().since(asked));
                leader = (next.id.clone(), next.fence);
                handed_over = true;
            }
        }
        assert!(handed_over);
    });
    let took = clock::now().since(began);
    assert!(took > TIMING.lease * 2, "the flood was over before two leases were, in {took:?}");
    let after = cluster.await_any();
    assert_eq!((&after.id, after.fence), (&leader.0, leader.1), "the leader leads on");
    println!("{PACKETS} packets to each of six processes in {took:?}: the leader led on");

    for (node, before) in Host::nodes().zip(before) {
        let after = cluster.status(node);
        let received = |status: &serde_json::Value| status["received"].as_u64().unwrap();
        let received = received(&after) - received(&before);
        assert!(received > u64::from(PACKETS / 2), "{node} received only {received}");
        for reason in ["size", "magic", "digest", "malformed"] {
            assert!(after["dropped"][reason].as_u64() > Some(1_000), "{node}: {after}");
        }
    }

    let runner = Host::named(&leader.0).unwrap();
    assert_eq!(cluster.tell(runner, &["resign"]), Some(0));
    cluster.await_leader(leader.1, clock::now());
    cluster.expect_no_panics();
}

/// To everybody, with pauses in which one processor can catch up.
fn flood(hosts: &[SocketAddr], samples: &[Vec<u8>], sent: &AtomicU32) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut rng = Rng::new(9);
    for nth in 0..PACKETS {
        let packet = garbage(&mut rng, samples);
        for host in hosts {
            // A full buffer is somebody else's lost packet.
            let _ = socket.send_to(&packet, host);
        }
        if nth % PORTION == 0 {
            sleep(PAUSE);
        }
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Nothing, or something that nearly is a packet.
fn garbage(rng: &mut Rng, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut packet = rng.pick(samples).clone();
    match rng.within(0..4) {
        0 => (0..rng.within(0..1_400)).map(|_| rng.number() as u8).collect(),
        1 => {
            packet.truncate(rng.index(packet.len()));
            packet
        }
        2 => {
            let at = rng.within(DIGEST) as usize;
            packet[at] ^= 1 << rng.within(0..8);
            packet
        }
        _ => {
            for _ in 0..rng.within(1..9) {
                let at = rng.index(packet.len());
                packet[at] ^= 1 << rng.within(0..8);
            }
            packet
        }
    }
}

//! A flood of garbage from one address changes nothing for the others.

use std::net::UdpSocket;
use std::thread::sleep;
use std::time::Duration;

use tenure::clock;

use crate::cluster::{Cluster, Memory, Timing};
use crate::host::Host;
use crate::network::Network;
use crate::proxy::Proxy;
use crate::rng::Rng;
use crate::worker::Manner;

crate::tests!(a_flood_of_garbage_changes_nothing);

const PACKETS: u32 = 100_000;
/// So many at a time, so that the flood lasts for several leases.
const PORTION: u32 = 100;
const PAUSE: Duration = Duration::from_millis(15);
/// Where a datagram has the digest of its configuration.
const DIGEST: std::ops::Range<usize> = 5..13;

/// The leader must lead on, also when the machine stands still for some seconds.
const TIMING: Timing = Timing {
    lease: Duration::from_millis(6_000),
    grace: Duration::from_millis(500),
    kill_margin: Duration::from_millis(250),
};

fn a_flood_of_garbage_changes_nothing() {
    let mut cluster = Cluster::start(Proxy::start(9), TIMING, Memory::New);
    Host::runners().for_each(|runner| cluster.start_runner(runner, Manner::Polite));
    let leader = cluster.await_any();
    sleep(TIMING.lease);
    let samples: Vec<_> = cluster.network.traffic().kept.into_values().flatten().collect();
    assert!(samples.len() > 100, "{} real packets to spoil", samples.len());
    let before = Host::nodes().map(|node| cluster.status(node)).collect::<Vec<_>>();

    let began = clock::now();
    let flood = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut rng = Rng::new(9);
    for nth in 0..PACKETS {
        let packet = garbage(&mut rng, &samples);
        for node in Host::nodes() {
            // A full buffer is somebody else's lost packet.
            let _ = flood.send_to(&packet, cluster.network.listen(node));
        }
        if nth % PORTION == 0 {
            sleep(PAUSE);
            let now = cluster.judged().current().unwrap();
            assert_eq!((&now.id, now.fence), (&leader.id, leader.fence), "after {nth} packets");
        }
    }
    let took = clock::now().since(began);
    assert!(took > TIMING.lease * 2, "the flood was over before two leases were, in {took:?}");
    let after = cluster.await_any();
    assert_eq!((&after.id, after.fence), (&leader.id, leader.fence), "the leader leads on");

    for (node, before) in Host::nodes().zip(before) {
        let after = cluster.status(node);
        let received = |status: &serde_json::Value| status["received"].as_u64().unwrap();
        let received = received(&after) - received(&before);
        assert!(received > u64::from(PACKETS / 2), "{node} received only {received}");
        for reason in ["size", "magic", "digest", "malformed"] {
            assert!(after["dropped"][reason].as_u64() > Some(1_000), "{node}: {after}");
        }
    }

    let runner = Host::named(&leader.id).unwrap();
    assert_eq!(cluster.tell(runner, &["resign"]), Some(0));
    cluster.await_leader(leader.fence, clock::now());
    cluster.expect_no_panics();
}

/// Nothing, or something that nearly is a packet.
fn garbage(rng: &mut Rng, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut packet = samples[rng.within(0..samples.len())].clone();
    match rng.within(0..4) {
        0 => (0..rng.within(0..1_400)).map(|_| rng.next() as u8).collect(),
        1 => {
            packet.truncate(rng.within(0..packet.len()));
            packet
        }
        2 => {
            let at = rng.within(DIGEST);
            packet[at] ^= 1 << rng.within(0..8);
            packet
        }
        _ => {
            for _ in 0..rng.within(1..9) {
                let at = rng.within(0..packet.len());
                packet[at] ^= 1 << rng.within(0..8);
            }
            packet
        }
    }
}

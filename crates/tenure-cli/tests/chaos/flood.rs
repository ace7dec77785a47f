//! A flood of garbage from one address, to nodes and runners, changes nothing for anybody.

use std::iter;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use tenure::clock;
use tenure_core::nerio::wire::open;
use tenure_testkit::Rng;
use tenure_testkit::processes::nerio::Nerio;
use tenure_testkit::processes::{
    Fleet, Host, Leadership, Manner, Network, Proxy, Timing, UdpSocketState, eventually,
    udp_sockets,
};

tenure_testkit::tests!(a_flood_of_garbage_changes_nothing);

/// So many must have been read by each node in either half of the flood.
const HALF: u64 = 10_000;
/// So many at a time, which every socket has room for.
const PORTION: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);
const GLANCE: Duration = Duration::from_millis(100);
/// Where a datagram has the digest of its configuration.
const DIGEST: std::ops::Range<u64> = 5..13;

/// The leader must lead on, also when the machine stands still for some seconds.
const TIMING: Timing = Timing {
    lease: Duration::from_secs(20),
    grace: Duration::from_millis(500),
    kill_margin: Duration::from_millis(250),
};

fn a_flood_of_garbage_changes_nothing() {
    let mut cluster = Fleet::start(crate::TENURE, Nerio::new(Proxy::start(9), TIMING));
    Host::runners().for_each(|runner| cluster.start_runner(runner, Manner::Polite));
    let leader = cluster.await_any();
    let samples = eventually("packets to spoil", || {
        let kept = cluster.deployment.network.traffic().kept.into_values();
        let samples: Vec<_> = kept.flatten().collect();
        (samples.len() > 100).then_some(samples)
    });
    let began = clock::now();
    let hosts: Vec<_> =
        Host::all().map(|host| listens(&cluster.deployment.network, host)).collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = EndsFlood(&over);
        scope.spawn(|| flood(&hosts, &samples, over.0));
        leads_on(&mut cluster, &leader);
        // Both are flooded: the runner that gives way, and the one that takes over.
        let asked = clock::now();
        assert_eq!(cluster.tell(Host::named(&leader.id).unwrap(), &["resign"]), Some(0));
        let next = cluster.await_leader(leader.fence, asked);
        println!("handed over in the flood within {:?}", clock::now().since(asked));
        leads_on(&mut cluster, &next);
    });
    println!("two leaders led on for {:?}", clock::now().since(began));

    for node in Host::nodes() {
        let status = eventually(&format!("{node} says what it dropped"), || {
            let status = cluster.status(node);
            status.is_object().then_some(status)
        });
        for reason in ["size", "magic", "digest", "malformed"] {
            assert!(status["dropped"][reason].as_u64() > Some(1_000), "{node}: {status}");
        }
    }

    let leader = cluster.await_any();
    assert_eq!(cluster.tell(Host::named(&leader.id).unwrap(), &["resign"]), Some(0));
    cluster.await_leader(leader.fence, clock::now());
    cluster.expect_no_panics();
}

/// That `leader` renews its lease and leads on, while each node reads half of the flood.
fn leads_on(cluster: &mut Fleet<Nerio<Proxy>>, leader: &Leadership) {
    let received = |cluster: &Fleet<Nerio<Proxy>>| -> Option<Vec<u64>> {
        Host::nodes().map(|node| cluster.status(node)["received"].as_u64()).collect()
    };
    let before = eventually("what nodes have received", || received(cluster));
    let until = cluster.judged().current().unwrap().until;
    eventually("nodes read half of the flood, and the leader renews its lease", || {
        sleep(GLANCE);
        let now = cluster.judged().current().unwrap();
        assert_eq!((&now.id, now.fence), (&leader.id, leader.fence), "the leader leads on");
        let renewed = now.until > until;
        let read = received(cluster)?.into_iter().zip(&before).all(|(now, old)| now > old + HALF);
        (renewed && read).then_some(())
    });
}

/// Ends the flood, also where the test fails.
struct EndsFlood<'a>(&'a AtomicBool);

impl Drop for EndsFlood<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where a host listens, once it does; a runner at any port.
fn listens(network: &Proxy, host: Host) -> SocketAddr {
    let ip = network.listen(host).ip();
    let socket = || udp_sockets().into_iter().find(|socket| socket.address.ip() == ip);
    eventually(&format!("{host} listens"), socket).address
}

/// To everybody, as fast as all can read, so that nothing else is lost.
fn flood(hosts: &[SocketAddr], samples: &[Vec<u8>], over: &AtomicBool) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut rng = Rng::new(9);
    while !over.load(Ordering::Relaxed) {
        for _ in 0..PORTION {
            let packet = garbage(&mut rng, samples);
            for host in hosts {
                let _ = socket.send_to(&packet, host);
            }
        }
        let unread = |socket: &UdpSocketState| socket.unread > 0 && hosts.contains(&socket.address);
        while udp_sockets().iter().any(unread) && !over.load(Ordering::Relaxed) {
            sleep(PAUSE);
        }
    }
}

/// Nothing, or something that nearly is a packet. One that is a packet still could be a request of
/// somebody who is not there, and be granted.
fn garbage(rng: &mut Rng, samples: &[Vec<u8>]) -> Vec<u8> {
    let bytes = |sample: &[u8]| sample[DIGEST.start as usize..DIGEST.end as usize].try_into();
    let digest = u64::from_le_bytes(bytes(&samples[0]).unwrap());
    let says = |packet: &[u8]| {
        open(digest, 0, packet).is_ok_and(|(_, mut all)| all.any(|one| one.is_ok()))
    };
    iter::repeat_with(|| spoiled(rng, samples)).find(|packet| !says(packet)).unwrap()
}

fn spoiled(rng: &mut Rng, samples: &[Vec<u8>]) -> Vec<u8> {
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

//! Weak leaders on real sockets, in a network that is cut into sides (sections 9 and 10.3).

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tenure::{AtMostOne, CampaignError, Leadership};
use tenure_nerio::transport::{Transport, Udp};
use tenure_nerio::{
    Checked, Config, Detector, Member, Node, NodeClosed, Opening, RingConfig, Storage, WeakLeaders,
};
use tenure_testkit::processes::Members;
use tokio::task::JoinSet;

use crate::setup::soon;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The side of each address. Addresses without a side reach each other.
type Sides = Arc<Mutex<BTreeMap<SocketAddr, usize>>>;

/// A socket that hears nothing from other sides.
struct Sided {
    udp: Udp,
    sides: Sides,
}

impl Transport for Sided {
    fn local_address(&self) -> SocketAddr {
        self.udp.local_address()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        self.udp.send(to, datagram)
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        loop {
            let received = self.udp.poll_receive(context, buffer);
            let Poll::Ready(Ok((_, from))) = &received else { return received };
            let sides = self.sides.lock().unwrap();
            if sides.get(from) == sides.get(&self.udp.local_address()) {
                return received;
            }
        }
    }
}

/// Five members with a ring, which also campaign.
struct Stage {
    config: Checked,
    sides: Sides,
    nodes: Vec<Node>,
    weak: Vec<WeakLeaders>,
}

impl Stage {
    async fn start(only_weak_leader: bool) -> Self {
        let members = Members::new(NAMES);
        let members = members.iter().map(|(name, at)| Member::at(name.parse().unwrap(), at));
        let lease = Duration::from_secs(4);
        let mut config = Config::new("test".parse().unwrap(), members.collect()).with_lease(lease);
        config.round_trip = Duration::from_millis(50);
        config.grace = Duration::from_millis(200);
        let ring = RingConfig::new(Detector::Ping);
        config.ring = Some(RingConfig { only_weak_leader, ..ring });
        let config = config.check().unwrap();
        let sides = Sides::default();
        let mut stage = Self { config, sides, nodes: Vec::new(), weak: Vec::new() };
        for member in stage.config.members.clone() {
            let builder = Node::builder(stage.config.clone(), member.name.clone());
            let builder = builder.grantor(Storage::Memory { opening: Opening::New });
            let udp = Udp::loopback(member.address.literal().unwrap()).unwrap();
            let node = builder.start_on(Sided { udp, sides: Arc::clone(&stage.sides) }).unwrap();
            stage.weak.push(node.weak_leaders().await.unwrap());
            stage.nodes.push(node);
        }
        stage
    }

    /// Cuts the network into sides. Each side is a text with the names of its members.
    fn split(&self, sides: &[&str]) {
        let mut all = self.sides.lock().unwrap();
        all.clear();
        for (node, name) in self.nodes.iter().zip(NAMES) {
            let side = sides.iter().position(|side| side.contains(name));
            all.extend(side.map(|side| (node.address(), side)));
        }
    }

    /// Waits until each member names the weak leader at its place in `weak`.
    async fn name(&mut self, weak: [&str; 5]) {
        for ((leaders, expected), own) in self.weak.iter_mut().zip(weak).zip(NAMES) {
            let agrees = async {
                while leaders.now().is_none_or(|leader| leader.member.as_str() != expected) {
                    leaders.next().await.unwrap();
                }
            };
            soon(agrees).await;
            assert_eq!(leaders.now().is_some_and(|leader| leader.here), expected == own);
        }
    }

    fn campaigns(&self) -> JoinSet<Result<Leadership<AtMostOne>, CampaignError>> {
        let mut campaigns = JoinSet::new();
        for node in &self.nodes {
            let election = node.election("x").unwrap();
            campaigns.spawn(async move { election.campaign("").await });
        }
        campaigns
    }
}

/// During the partition no side has a quorum: each side has a weak leader, and no side has a
/// leader. After the partition there is one weak leader, and one leader.
#[tokio::test]
async fn partition_without_quorum_has_weak_leaders() {
    let mut stage = Stage::start(false).await;
    stage.name(["a"; 5]).await;
    let mut campaigns = stage.campaigns();
    let leadership = soon(campaigns.join_next()).await.unwrap().unwrap().unwrap();
    assert!(leadership.is_current());
    stage.split(&["ab", "c", "de"]);
    stage.name(["a", "a", "c", "d", "d"]).await;
    let ends = async {
        while leadership.is_current() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(ends).await;
    assert!(campaigns.try_join_next().is_none(), "a weak leader is no leader");
    stage.split(&[]);
    stage.name(["a"; 5]).await;
    let next = soon(campaigns.join_next()).await.unwrap().unwrap().unwrap();
    assert!(next.is_current() && next.fence() > leadership.fence());
}

/// The weak leader is elected. Its process ends, and the next weak leader is elected.
#[tokio::test]
async fn only_weak_leaders_are_elected() {
    let mut stage = Stage::start(true).await;
    stage.name(["a"; 5]).await;
    let mut campaigns = stage.campaigns();
    let first = soon(campaigns.join_next()).await.unwrap().unwrap().unwrap();
    assert!(first.is_current());
    let gone = stage.nodes.remove(0);
    gone.close().await;
    let mut gone = stage.weak.remove(0);
    while gone.next().await != Err(NodeClosed) {}
    assert_eq!(gone.now(), None);
    let next = soon(campaigns.join_next()).await.unwrap().unwrap();
    assert!(next.is_ok_and(|next| next.fence() > first.fence()));
}

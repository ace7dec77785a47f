//! The suite for the handles of every driver, and the parts that only etcd has.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{AtMostOne, Election, Loss, Obstacle, View, Waiting};
use tenure_etcd::{Config, Node, Notice, OwnEvent, ProclaimError};
use tenure_services::etcd::{Cluster, Version};
use tenure_testkit::handles::Group;

use crate::common::{
    PATIENCE, all, node, options, run, seen, seen_after, soon, stored, until_empty, until_stored,
    until_waits,
};

/// The test lets the machine stand still for this time at the moment when work must be dropped.
const MARGIN: Duration = Duration::from_millis(1_500);

/// A member of etcd, and candidates with a lease of 20 s.
struct Etcd {
    cluster: Cluster,
    candidates: BTreeMap<&'static str, Node>,
}

impl Etcd {
    fn start() -> Self {
        let cluster = Cluster::start(Version::Newest, 1).unwrap();
        Self { cluster, candidates: BTreeMap::new() }
    }
}

impl Group for Etcd {
    type Class = AtMostOne;

    const NO_TRANSFER: Option<&'static str> = Some("etcd");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<AtMostOne> {
        let start = || {
            let lease = Duration::from_secs(20);
            let config = Config { lease, grace: MARGIN, kill_margin: MARGIN, ..Config::default() };
            Node::builder(config.check().unwrap(), all(&self.cluster)).start().unwrap()
        };
        self.candidates.entry(participant).or_insert_with(start).election(election).unwrap()
    }

    async fn close(&mut self, participant: &'static str) {
        self.candidates[participant].close().await;
    }

    async fn fail(&mut self) -> Option<Duration> {
        self.cluster.member(0).stop().unwrap();
        Some(MARGIN)
    }

    async fn mend(&mut self) {
        self.cluster.member(0).cont().unwrap();
    }

    async fn finish(&mut self) {
        until_empty(&self.cluster).await;
    }
}

tenure_testkit::handles!(Etcd::start());

tenure_services::on_each_version!(hand_over);

/// Without a server, a campaign reports each attempt and its failure.
#[test]
fn campaign_without_etcd_names_endpoints() {
    run(async {
        let one = node(&options(&["http://127.0.0.1:1".to_owned()]), 60);
        let mut campaign = one.election("billing").unwrap().campaign("one");
        let mut waits = campaign.waiting();
        let is_early = |obstacle: &Obstacle| obstacle.label == Obstacle::NO_ANSWER;
        let tried = async {
            loop {
                match waits.next().await {
                    Some(Waiting::Connecting { obstacles }) if obstacles.iter().all(is_early) => {}
                    waiting => return waiting,
                }
            }
        };
        let waiting = tokio::select! {
            _ = &mut campaign => panic!("won without etcd"),
            waiting = soon(tried) => waiting,
        };
        let Some(Waiting::Connecting { obstacles }) = waiting else { panic!("{waiting:?}") };
        assert_eq!(obstacles.len(), 1, "{obstacles:?}");
        assert_eq!((&*obstacles[0].by, obstacles[0].label), ("http://127.0.0.1:1", "unreachable"));
    });
}

fn hand_over(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let one = node(&all(&cluster), 60);
        let two = node(&all(&cluster), 60);
        let mut observer = two.election("billing").unwrap().observe();
        assert_eq!(seen(&mut observer).await, View::Vacant);

        let leader = soon(one.election("billing").unwrap().campaign("one")).await.unwrap();
        assert!(leader.is_current() && leader.remaining() <= Some(Duration::from_secs(60)));
        let led = seen_after(&View::Vacant, &mut observer).await;
        let first = led.leader().cloned().unwrap();
        assert_eq!((&*first.id, first.value.as_bytes()), (leader.id(), &b"one"[..]));
        assert_eq!(first.fence, Some(leader.fence()));

        let election = two.election("billing").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        let mut waits = waiting.waiting();
        until_waits(&cluster, "billing", &["one", "two"], &mut waiting).await;
        let behind = Waiting::Behind { who: leader.id().into(), leading: false };
        assert_eq!(soon(waits.next()).await, Some(behind));
        assert_eq!(two.proclaim(&leader, "not two's"), Err(ProclaimError::NotLeading));
        one.proclaim(&leader, "one, changed").unwrap();
        let changed = seen_after(&led, &mut observer).await.leader().cloned().unwrap();
        assert_eq!(changed.value.text(), "one, changed");

        soon(leader.resign()).await;
        assert_eq!(one.proclaim(&leader, "too late"), Err(ProclaimError::NotLeading));
        let successor = soon(waiting).await.unwrap();
        let said = soon(two.election("billing").unwrap().leader(PATIENCE)).await;
        assert_eq!(said.leader().unwrap().value.text(), "two");
        assert!(successor.fence() > leader.fence());
        assert_eq!(stored(&cluster, "billing"), ["two"]);

        soon(two.close()).await;
        assert!(!successor.is_current());
        assert_eq!(successor.loss(), Some(Loss::Resigned));
        soon(one.close()).await;
        until_empty(&cluster).await;
        assert!(two.counters().await.is_none());
    });
}

/// An operator revokes the lease: the leader learns of the loss, and another candidate leads.
#[test]
fn a_lease_revoked_by_hand() {
    let cluster = Cluster::start(Version::Oldest, 1).unwrap();
    run(async {
        let one = node(&all(&cluster), 60);
        let two = node(&all(&cluster), 60);
        let mut notices = one.notices();
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let beside = soon(one.election("f").unwrap().campaign("one")).await.unwrap();
        let election = two.election("e").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        until_waits(&cluster, "e", &["one", "two"], &mut waiting).await;
        cluster.etcdctl(&["del", &format!("e/{}", leader.id())]).unwrap();
        assert_eq!(soon(leader.lost()).await, Loss::Revoked);
        let successor = soon(waiting).await.unwrap();
        assert!(successor.fence() > leader.fence());
        // A single lease carries both elections. The loss of one election's key does not end the
        // other leadership.
        assert!(beside.is_current());
        assert_eq!(beside.id(), leader.id());
        cluster.etcdctl(&["lease", "revoke", successor.id()]).unwrap();
        assert_eq!(soon(successor.lost()).await, Loss::Revoked);
        let told = soon(async {
            loop {
                let notice = notices.recv().await;
                if let Ok(Notice::Protocol { event: OwnEvent::Opened { granted, .. }, .. }) = notice
                {
                    break granted;
                }
            }
        });
        assert_eq!(told.await, 60);
        let counters = soon(one.counters()).await.unwrap();
        assert_eq!((counters.elected, counters.expired), (2, 0));
    });
}

/// etcdctl's candidates and ours wait in one queue.
#[test]
fn etcdctl_stands_in_the_same_line() {
    let cluster = Cluster::start(Version::Oldest, 1).unwrap();
    run(async {
        let ours = node(&all(&cluster), 60);
        let election = ours.election("mixed").unwrap();
        let leader = soon(election.campaign("ours")).await.unwrap();
        let log = cluster.folder().join("elect.log");
        let theirs = cluster.etcdctl_beside(&["elect", "mixed", "theirs"], &log).unwrap();
        until_stored(&cluster, "mixed", &["ours", "theirs"]).await;
        let mut again = Box::pin(async {
            soon(leader.resign()).await;
            drop(leader);
            election.campaign("ours again").await
        });
        until_waits(&cluster, "mixed", &["theirs", "ours again"], &mut again).await;
        let now = election.leader(PATIENCE).await;
        assert_eq!(now.leader().unwrap().value.text(), "theirs");
        theirs.terminate(PATIENCE).unwrap();
        let leader = soon(again).await.unwrap();
        assert!(leader.is_current());
    });
}

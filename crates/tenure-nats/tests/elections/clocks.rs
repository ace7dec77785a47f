//! Wall clocks that step in the middle of a term.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tenure::{CampaignError, Leadership, MayOverlap, clock};
use tenure_core::WallTime;
use tenure_nats::{Config, Node};
use tenure_services::nats::{Cluster, Version};

use crate::common::{
    ELECTION, config, elected, hears, leads, options, ranked, renewed, run, until_alone,
};

/// A participant, and the number of milliseconds by which its wall clock is off.
fn shifted(id: &str, rank: u64, cluster: &Cluster) -> (Node, Arc<AtomicI64>) {
    shifted_with(Config { rank: Some(rank), ..config(id) }, cluster)
}

fn shifted_with(config: Config, cluster: &Cluster) -> (Node, Arc<AtomicI64>) {
    let offset: Arc<AtomicI64> = Arc::default();
    let read = offset.clone();
    let wall = move || {
        let millis = read.load(Ordering::Relaxed);
        let by = Duration::from_millis(millis.unsigned_abs());
        let now: WallTime = clock::wall();
        if millis < 0 { now.before(by) } else { now.after(by) }
    };
    let builder = Node::builder(config.check().unwrap(), options(&cluster.urls())).wall(wall);
    (builder.start().unwrap(), offset)
}

/// A step of a minute in the middle of a term, forward or back: no other node believes the next
/// claim of that leader, so the leader makes none. The leader stops at the end that was fixed at
/// the grant, the other node leads, and both never lead at once. Once its clock is right again, the
/// first node leads again.
#[test]
fn stepped_clock_stops_leader_first() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let forward = steps(60_000, "forward", &cluster);
        let back = steps(-60_000, "back", &cluster);
        tokio::join!(forward, back);
    });
}

/// Each step has an election of its own, in clusters that share a server.
async fn steps(step: i64, own: &str, cluster: &Cluster) {
    let start = |id: &str, rank| {
        let cluster_name = own.parse().unwrap();
        shifted_with(Config { cluster: cluster_name, rank: Some(rank), ..config(id) }, cluster)
    };
    let ((one, offset), (two, _)) = (start("one", 1), start("two", 2));
    let first = leads(&one).await;
    let election = two.election(ELECTION).unwrap();
    let mut next = election.campaign("two");
    // Both nodes have called several times, so that each knows the other and the clocks have
    // agreed.
    tokio::select! {
        () = hears(&two, 8) => {}
        _ = &mut next => panic!("{own}: two leaders"),
    }
    offset.store(step, Ordering::Relaxed);
    let second = elected(follows(&first, next)).await.unwrap();
    let again = one.election(ELECTION).unwrap();
    let mut again = again.campaign("one");
    tokio::select! {
        () = renewed(&second, 1) => {}
        _ = &mut again => panic!("{own}: two leaders"),
    }
    offset.store(0, Ordering::Relaxed);
    let third = elected(follows(&second, again)).await.unwrap();
    assert!(third.is_current());
    assert_eq!(one.counters().await.unwrap().elected, 2, "{own}");
}

/// Waits for the next leadership, which begins only when this one is over.
async fn follows(
    leadership: &Leadership<MayOverlap>,
    next: impl Future<Output = Result<Leadership<MayOverlap>, CampaignError>>,
) -> Result<Leadership<MayOverlap>, CampaignError> {
    let next = next.await;
    assert!(!leadership.is_current(), "two leaders");
    next
}

/// A step that leaves the clock within the skew changes nothing: the leader leads on, alone.
#[test]
fn steps_within_the_skew_change_nothing() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let (one, offset) = shifted("one", 1, &cluster);
        let leadership = leads(&one).await;
        let two = ranked("two", 2, &cluster);
        until_alone(&two, "one").await;
        let election = two.election(ELECTION).unwrap();
        let stepping = async {
            for step in [80, -80].into_iter().cycle() {
                offset.store(step, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        tokio::select! {
            () = stepping => {}
            () = renewed(&leadership, 2) => {}
            _ = election.campaign("two") => panic!("two leaders"),
        }
        assert!(leadership.is_current());
        assert_eq!(one.counters().await.unwrap().elected, 1);
    });
}

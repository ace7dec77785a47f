//! Wall clocks that step in the middle of a term.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tenure::clock;
use tenure_core::WallTime;
use tenure_nats::{Config, Node};
use tenure_services::nats::{Cluster, Version};

use crate::common::{ELECTION, config, leads, options, ranked, run, until_alone};

/// A participant whose wall clock is so many milliseconds off.
fn shifted(id: &str, rank: u64, cluster: &Cluster) -> (Node, Arc<AtomicI64>) {
    let offset: Arc<AtomicI64> = Arc::default();
    let read = offset.clone();
    let wall = move || {
        let millis = read.load(Ordering::Relaxed);
        let by = Duration::from_millis(millis.unsigned_abs());
        let now: WallTime = clock::wall();
        if millis < 0 { now.before(by) } else { now.after(by) }
    };
    let config = Config { rank: Some(rank), ..config(id) };
    let builder = Node::builder(config.check().unwrap(), options(&cluster.urls())).wall(wall);
    (builder.start().unwrap(), offset)
}

/// A step that leaves the clock within the skew changes nothing: nobody else leads, and the leader
/// leads on.
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
            // Two leases.
            for step in 0..16 {
                offset.store(if step % 2 == 0 { 80 } else { -80 }, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        tokio::select! {
            () = stepping => {}
            _ = election.campaign("two") => panic!("two leaders"),
        }
        assert!(leadership.is_current());
        assert_eq!(one.counters().await.unwrap().elected, 1);
    });
}

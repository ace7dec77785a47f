//! A backend, driven for both classes of safety, and leaderships without an end.

use std::collections::BTreeMap;
use std::future::pending;

use tenure::driver::Timer;

use tenure_testkit::handles::Group;

use super::toy::{All, Grant, Incoming, Outside, toy};
use super::*;

/// A lease that outlasts a machine that stands still for some seconds.
const LEASE: Duration = Duration::from_secs(30);

/// A backend where every candidate leads.
#[derive(Default)]
struct Toys {
    all: All,
    nodes: BTreeMap<&'static str, Outside<MayOverlap>>,
}

impl Group for Toys {
    type Class = MayOverlap;

    const NO_TRANSFER: Option<&'static str> = Some("toy");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<MayOverlap> {
        let start = || Outside::start(participant, Grant { lease: None, fence: None }, &self.all);
        self.nodes.entry(participant).or_insert_with(start).election(election)
    }

    async fn close(&mut self, participant: &'static str) {
        self.nodes[participant].close().await;
    }
}

tenure_testkit::handles!(Toys::default());

#[tokio::test]
async fn back_end_serves_both_classes() {
    let grant = Grant { lease: Some(LEASE), fence: Some(Fence::new(7)) };
    let (election, _outside) = toy::<AtMostOne>(grant);
    for fence in [7, 8] {
        let leadership = soon(election.campaign("here")).await.unwrap();
        assert!(leadership.is_current());
        assert_eq!(leadership.fence(), Fence::new(fence));
        soon(leadership.resign()).await;
        assert_eq!(leadership.loss(), Some(Loss::Resigned));
    }
    let (election, outside) = toy::<MayOverlap>(Grant { fence: None, ..grant });
    let leadership = soon(election.campaign("here")).await.unwrap();
    assert!(leadership.is_current());
    let to = "two".parse().unwrap();
    let unsupported = TransferError::Unsupported { protocol: "toy" };
    assert_eq!(soon(leadership.transfer_to(to)).await, Err(unsupported));
    outside.incoming.send(Incoming::Loss(Loss::Reassigned)).unwrap();
    assert_eq!(soon(leadership.lost()).await, Loss::Reassigned);
    assert!(!leadership.is_current());
}

/// A campaign fails if the core gives a fence and the handle's class has none, or the reverse.
#[tokio::test]
async fn core_of_other_class_never_leads() {
    let fence = Some(Fence::new(7));
    let lease = Some(LEASE);
    let (election, _outside) = toy::<AtMostOne>(Grant { lease, fence: None });
    for _ in 0..2 {
        let error = soon(election.campaign("here")).await.unwrap_err();
        assert!(error.to_string().starts_with("this protocol has won without a fence"), "{error}");
    }
    let (election, _outside) = toy::<MayOverlap>(Grant { lease, fence });
    let error = soon(election.campaign("here")).await.unwrap_err();
    assert!(error.to_string().starts_with("this protocol has won with a fence"), "{error}");
}

#[tokio::test]
async fn endless_leadership_lasts_until_ended() {
    let (election, outside) = toy::<MayOverlap>(Grant { lease: None, fence: None });
    let leadership = soon(election.campaign("here")).await.unwrap();
    let leader = leadership.leader();
    assert!(leader.is_current());
    assert_eq!((leader.until(), leader.remaining()), (None, None));
    let mut lost = Box::pin(leader.lost());
    let mut expiring = Box::pin(leader.expiring());
    let mut renewed = Box::pin(leader.renewed(leader.until()));
    let mut work = Box::pin(leadership.run(pending::<()>()));
    // The wait is longer than the grace and the kill margin of this leadership.
    let mut timer = Timer::new().unwrap();
    timer.arm(Some(clock::now().after(Duration::from_millis(20))));
    tokio::select! {
        biased;
        _ = &mut lost => panic!("lost"),
        () = &mut expiring => panic!("expiring"),
        _ = &mut renewed => panic!("renewed"),
        _ = &mut work => panic!("the work was dropped"),
        () = timer.rung() => {}
    }
    assert!(leader.is_current());
    outside.incoming.send(Incoming::Loss(Loss::Superseded)).unwrap();
    assert_eq!(soon(lost).await, Loss::Superseded);
    soon(expiring).await;
    assert_eq!(soon(renewed).await, Err(Loss::Superseded));
    assert_eq!(soon(work).await, Err(Loss::Superseded));
    assert!(!leader.is_current());
    assert_eq!((leader.until(), leader.remaining()), (Some(Time::ZERO), Some(Duration::ZERO)));
}

#[tokio::test]
async fn leader_keeps_no_node_thread() {
    let grant = Grant { lease: None, fence: Some(Fence::new(1)) };
    let (election, Outside { node, ends, incoming: _news }) = toy::<AtMostOne>(grant);
    let leadership = soon(election.campaign("here")).await.unwrap();
    let leader = leadership.leader();
    drop((election, node));
    assert!(leader.is_current(), "the leadership keeps it");
    drop(leadership);
    assert!(soon(ends).await.is_err(), "it says nothing, and is dropped");
    assert_eq!(soon(leader.lost()).await, Loss::Resigned);
}

//! What an application holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::nerio::{Found, NotWonHere, VerifyError};
use tenure::{CampaignError, Change, EdictGate, FenceGate, Loss, Observer, TransferError, View};

use crate::setup::{candidate, config, grantors, soon};

#[tokio::test]
async fn a_campaign_is_won_and_the_fence_grows_with_each_leadership() {
    let config = config();
    let nodes = grantors(&config);
    let (mut gate, mut edicts) = (FenceGate::default(), EdictGate::new());
    let mut old = None;
    for round in 0..5 {
        let (here, elsewhere) = (&nodes[round % 3], &nodes[(round + 1) % 3]);
        let election = here.election("billing").unwrap();
        let leadership = soon(election.campaign("10.0.0.7:8080")).await.unwrap();
        let orders = here.edicts(&leadership).unwrap();
        assert_eq!(elsewhere.edicts(&leadership).unwrap_err(), NotWonHere);
        assert!(leadership.is_current());
        assert!(leadership.remaining() > Some(Duration::ZERO));
        gate.admit(leadership.fence()).unwrap();
        edicts.admit(&orders.create().unwrap()).unwrap();
        let edict = here.edicts(&leadership).unwrap().create().unwrap();
        edicts.admit(&edict).unwrap();
        if let Some((fence, edict)) = old.replace((leadership.fence(), edict)) {
            assert!(gate.admit(fence).is_err(), "an old leader is refused");
            assert!(edicts.admit(&edict).is_err(), "an old edict is refused");
        }
        soon(leadership.settled()).await.unwrap();
        soon(leadership.resign()).await;
        assert!(!leadership.is_current());
        assert!(orders.create().is_err());
        assert_eq!(leadership.loss(), Some(Loss::Resigned));
    }
}

#[tokio::test]
async fn a_leader_stays_and_one_who_waits_takes_over() {
    let config = config();
    let _nodes = grantors(&config);
    let (one, two) = (candidate(&config, "one"), candidate(&config, "two"));
    let first = soon(one.election("db").unwrap().campaign("1")).await.unwrap();
    let election = two.election("db").unwrap();
    let mut waiting = tokio::spawn(async move { election.campaign("2").await });
    tokio::select! {
        _ = &mut waiting => panic!("two leaders"),
        loss = first.lost() => panic!("lost: {loss}"),
        () = tokio::time::sleep(config.lease * 3 / 2) => {}
    }
    assert!(first.is_current(), "renewed for more than a lease");
    let fence = first.fence();
    soon(first.resign()).await;
    let second = soon(waiting).await.unwrap().unwrap();
    assert!(second.fence() > fence);
    assert!(second.is_current() && !first.is_current());
}

#[tokio::test]
async fn dropping_gives_up() {
    let config = config();
    let _nodes = grantors(&config);
    let (one, two) = (candidate(&config, "one"), candidate(&config, "two"));
    let (first, second) = (one.election("x").unwrap(), two.election("x").unwrap());
    let leadership = soon(first.campaign("1")).await.unwrap();
    // Dropping a campaign withdraws it.
    let short = Duration::from_millis(100);
    assert!(tokio::time::timeout(short, second.campaign("2")).await.is_err());
    // Dropping a leadership resigns it, and the one who left does not get it.
    drop(leadership);
    let again = soon(first.campaign("1")).await.unwrap();
    drop(again);
    drop(first);
    drop(one);
    let leadership = soon(second.campaign("2")).await.unwrap();
    assert!(leadership.is_current());
}

#[tokio::test]
async fn one_campaign_for_each_election_and_node() {
    let config = config();
    let nodes = grantors(&config);
    let election = nodes[0].election("x").unwrap();
    let leadership = soon(election.campaign("")).await.unwrap();
    let second = soon(election.campaign("")).await;
    assert!(matches!(second, Err(CampaignError::AlreadyCampaigning { .. })));
    assert!(leadership.is_current(), "the refused campaign took nothing with it");
    let other = soon(nodes[0].election("y").unwrap().campaign("")).await.unwrap();
    assert!(other.is_current());
    assert!(matches!(election.campaign("a\nb").await, Err(CampaignError::Value(_))));
}

#[tokio::test]
async fn a_transfer_goes_to_the_one_it_names() {
    let config = config();
    let _nodes = grantors(&config);
    let names = ["one", "two", "three"];
    let candidates = names.map(|name| candidate(&config, name));
    let [one, two, three] = candidates.each_ref().map(|node| node.election("x").unwrap());
    let leadership = soon(one.campaign("")).await.unwrap();
    let nobody = soon(leadership.transfer_to("nobody".parse().unwrap())).await;
    assert!(matches!(nobody, Err(TransferError::NotWaiting { .. })));
    assert!(leadership.is_current(), "an error leaves it as it was");
    // Three would win by priority; the transfer names two.
    let mut waiting_two = tokio::spawn(async move { two.campaign_with("", 1).await });
    let waiting_three = tokio::spawn(async move { three.campaign_with("", 200).await });
    let done = soon(async {
        loop {
            match leadership.transfer_to("two".parse().unwrap()).await {
                Err(TransferError::NotWaiting { .. }) => {}
                done => return done,
            }
        }
    });
    done.await.unwrap();
    assert_eq!(leadership.loss(), Some(Loss::Transferred));
    let won = soon(&mut waiting_two).await.unwrap().unwrap();
    assert_eq!(won.id(), "two");
    assert!(!waiting_three.is_finished());
    let again = soon(leadership.transfer_to("three".parse().unwrap())).await;
    assert!(matches!(again, Err(TransferError::NotLeading)));
    waiting_three.abort();
}

/// What an observer says next of what it knows. On a machine
/// that stops for longer than answers count it may say in between that it does not know.
async fn next_known(observer: &mut Observer) -> Option<View> {
    loop {
        match soon(observer.next()).await {
            Some(Change::View(View::Unknown { .. }) | Change::Reset) => {}
            Some(Change::View(view)) => return Some(view),
            Some(other) => panic!("{other:?}"),
            None => return None,
        }
    }
}

#[tokio::test]
async fn observers_tell_who_leads_when_nobody_does_and_when_nobody_knows() {
    let config = config();
    let nodes = grantors(&config);
    let watcher = candidate(&config, "watcher");
    let election = watcher.election("x").unwrap();
    let mut observer = election.observe_every(Duration::from_millis(20));
    assert_eq!(next_known(&mut observer).await, Some(View::Vacant));
    let leadership = soon(nodes[0].election("x").unwrap().campaign("here")).await.unwrap();
    match next_known(&mut observer).await {
        Some(View::Leader(leader)) => {
            assert_eq!(leader.value.text(), "here");
            assert_eq!(*leader.id, *leadership.id());
            assert_eq!(leader.incarnation, Some(nodes[0].who().inc.0));
            assert_eq!(leader.address, Some(nodes[0].address()));
            assert!(leader.until.is_some());
            assert_eq!(leader.fence, Some(leadership.fence()));
        }
        other => panic!("{other:?}"),
    }
    soon(leadership.resign()).await;
    assert_eq!(next_known(&mut observer).await, Some(View::Vacant));
    for node in &nodes {
        soon(node.close()).await;
    }
    // It may have heard once more of what it knew.
    loop {
        match soon(observer.next()).await {
            Some(Change::View(View::Unknown { .. })) => break,
            Some(Change::View(View::Vacant) | Change::Reset) => {}
            other => panic!("{other:?}"),
        }
    }
    let asked = election.leader(Duration::from_millis(300)).await;
    assert!(matches!(asked, View::Unknown { .. }));
}

#[tokio::test]
async fn a_slow_observer_hears_that_it_missed_something() {
    let config = config();
    let nodes = grantors(&config);
    let election = candidate(&config, "watcher").election("x").unwrap();
    let mut observer = election.observe_every(Duration::from_millis(10));
    let mut quick = election.observe_every(Duration::from_millis(10));
    soon(observer.next()).await.unwrap();
    soon(quick.next()).await.unwrap();
    for node in &nodes[..2] {
        let leadership = soon(node.election("x").unwrap().campaign("")).await.unwrap();
        while !matches!(soon(quick.next()).await, Some(Change::View(View::Leader(_)))) {}
        soon(leadership.resign()).await;
        while soon(quick.next()).await != Some(Change::View(View::Vacant)) {}
    }
    assert_eq!(soon(observer.next()).await, Some(Change::Reset));
    assert_eq!(next_known(&mut observer).await, Some(View::Vacant));
}

#[tokio::test]
async fn a_verified_leader_keeps_its_promise() {
    let config = config();
    let nodes = grantors(&config);
    let election = nodes[0].election("x").unwrap();
    let leadership = soon(election.campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let (asker, patience) = (candidate(&config, "asker"), Duration::from_secs(20));
    let ask = |leader| asker.verify(election.name(), leader, patience);
    let verified = soon(ask(nodes[0].address())).await.unwrap();
    assert!(verified.holds());
    assert_eq!(verified.fence, Some(leadership.fence()));
    assert_eq!(verified.leader.as_str(), "a");
    let waiting = nodes[1].election("x").unwrap();
    let next = tokio::spawn(async move {
        let next = waiting.campaign("").await.unwrap();
        (tenure::clock::now(), next)
    });
    soon(leadership.resign()).await;
    let (began, _next) = soon(next).await.unwrap();
    assert!(began >= verified.until, "a successor led before the promise had run out");
    let by = soon(ask(nodes[2].address())).await;
    assert!(matches!(by, Err(VerifyError::DoesNotLead { .. })), "{by:?}");
    let nobody = "127.0.0.1:9".parse().unwrap();
    let silent = asker.verify(election.name(), nobody, Duration::from_millis(100)).await;
    assert!(matches!(silent, Err(VerifyError::NoAnswer { .. })), "{silent:?}");
}

#[tokio::test]
async fn finding_a_leader_forwards_or_leads() {
    let config = config();
    let nodes = grantors(&config);
    let patience = Duration::from_secs(20);
    let election = "x".parse().unwrap();
    let Ok(Found::Elected(leadership)) = soon(nodes[0].find(&election, "me", patience)).await
    else {
        panic!("nobody led, so it should have")
    };
    match soon(nodes[1].find(&election, "other", patience)).await {
        Ok(Found::Leader(leader)) => assert_eq!(*leader.id, *leadership.id()),
        other => panic!("{other:?}"),
    }
    let lonely = candidate(&crate::setup::config(), "lonely");
    let error = lonely.find(&election, "me", Duration::from_millis(200)).await.unwrap_err();
    assert!(error.to_string().starts_with("nobody leads x after 200ms"), "{error}");
}

#[tokio::test]
async fn work_ends_before_the_lease_does() {
    let config = config();
    let mut nodes = grantors(&config);
    let worker = candidate(&config, "worker");
    let leadership = soon(worker.election("x").unwrap().campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let working = Arc::new(AtomicBool::new(true));
    struct Work(Arc<AtomicBool>);
    impl Drop for Work {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    let work = Work(working.clone());
    let mut running = tokio::spawn(leadership.run(async move {
        let _work = work;
        std::future::pending::<()>().await;
    }));
    for node in nodes.drain(1..) {
        soon(node.close()).await;
    }
    let outcome = soon(&mut running).await.unwrap();
    assert_eq!(outcome, Err(Loss::Expired));
    assert!(!working.load(Ordering::SeqCst), "the work was dropped");
}

#[tokio::test]
async fn work_that_ends_by_itself_resigns() {
    let config = config();
    let nodes = grantors(&config);
    let election = nodes[0].election("x").unwrap();
    let leadership = soon(election.campaign("")).await.unwrap();
    assert_eq!(soon(leadership.run(async { 7 })).await, Ok(7));
    let next = soon(nodes[1].election("x").unwrap().campaign("")).await.unwrap();
    assert!(next.is_current());
}

#[tokio::test]
async fn a_closed_node_leads_nothing() {
    let config = config();
    let nodes = grantors(&config);
    let one = candidate(&config, "one");
    let election = one.election("x").unwrap();
    let leadership = soon(election.campaign("")).await.unwrap();
    soon(one.close()).await;
    assert!(!leadership.is_current());
    assert!(leadership.loss().is_some());
    assert!(matches!(soon(election.campaign("")).await, Err(CampaignError::Closed)));
    let next = soon(nodes[1].election("x").unwrap().campaign("")).await.unwrap();
    assert!(next.is_current(), "the release arrived");
}

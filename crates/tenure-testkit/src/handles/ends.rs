//! How a leadership ends, and what its handles report afterwards.

use std::future::pending;
use std::time::Duration;

use tenure::{CampaignError, Leader, Loss, Observer, SafetyClass, Time, TransferError, View};
use tokio::sync::{mpsc, oneshot};

use super::standstill::Standstill;
use super::{Class, Group, lead, soon};

/// A second resignation does nothing, and the next campaign wins.
pub async fn a_second_resignation_does_nothing<G: Group>(group: &mut G) {
    let one = group.election("one", "x");
    let first = lead(&one, "1").await;
    let known = first.until();
    tokio::join!(soon(first.resign()), soon(first.resign()));
    soon(first.resign()).await;
    assert_eq!(first.loss(), Some(Loss::Resigned));
    assert_eq!(soon(first.lost()).await, Loss::Resigned);
    assert_eq!(soon(first.renewed(known)).await, Err(Loss::Resigned));
    assert_eq!((first.until(), first.remaining()), (Some(Time::ZERO), Some(Duration::ZERO)));
    soon(first.expiring()).await;
    let transfer = soon(first.transfer_to("one".parse().unwrap())).await;
    let unsupported = G::NO_TRANSFER.map(|protocol| TransferError::Unsupported { protocol });
    let refused = transfer.unwrap_err();
    assert!(refused == TransferError::NotLeading || Some(&refused) == unsupported.as_ref());
    let again = lead(&one, "1 again").await;
    assert!(again.is_current());
    soon(first.resign()).await;
    assert!(again.is_current(), "it gave up what it does not hold");
    G::Class::expect_order(&first, &again);
}

/// A leader handle ends with its leadership, names the reason, and keeps nothing alive.
pub async fn a_leader_handle_ends_with_leadership<G: Group>(group: &mut G) {
    let one = group.election("one", "x");
    let first = lead(&one, "1").await;
    let leader = first.leader();
    let clone = leader.clone();
    assert!(leader.is_current() && clone.is_current());
    assert_eq!((clone.id(), clone.election()), (first.id(), one.name()));
    drop(clone);
    assert!(first.is_current(), "a clone gives nothing up");
    let clone = leader.clone();
    drop((first, one));
    assert!(!leader.is_current() && !clone.is_current());
    assert_eq!((clone.until(), clone.remaining()), (Some(Time::ZERO), Some(Duration::ZERO)));
    group.close("one").await;
    assert!(matches!(soon(leader.lost()).await, Loss::Resigned | Loss::Closed));
    assert!(clone.loss().is_some(), "it has a reason");
    assert!(soon(clone.settled()).await.is_err());
}

/// Closing a participant ends its leadership, its campaigns and its observers; another participant
/// leads next.
pub async fn closing_ends_everything<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let mut observer = one.observe();
    let leadership = lead(&one, "1").await;
    let held = lead(&group.election("two", "y"), "2").await;
    let waits = group.election("one", "y");
    let waiting = tokio::spawn(async move { waits.campaign("1").await.map(drop) });
    tokio::task::yield_now().await;
    soon(group.close("one")).await;
    assert!(!leadership.is_current());
    assert!(leadership.loss().is_some(), "it has a reason");
    assert!(matches!(soon(one.campaign("1")).await, Err(CampaignError::Closed)));
    let waiting = soon(waiting).await.unwrap();
    if G::Class::EXCLUSIVE {
        let ended = matches!(waiting, Err(CampaignError::Closed | CampaignError::Withdrawn));
        assert!(ended, "{waiting:?}");
    }
    soon(async { while observer.next().await.is_some() {} }).await;
    soon(leadership.resign()).await;
    assert!(lead(&two, "2").await.is_current(), "others know");
    assert!(held.is_current());
    drop(held);
    soon(group.close("two")).await;
    group.finish().await;
}

/// Work under a leadership. Its drop reports whether the leadership was still current.
struct Work<C: SafetyClass> {
    leader: Leader<C>,
    gone: mpsc::UnboundedSender<bool>,
}

impl<C: SafetyClass> Drop for Work<C> {
    fn drop(&mut self) {
        let _ = self.gone.send(self.leader.is_current());
    }
}

/// Waits until an observer knows a leader.
async fn sees_a_leader(observer: &mut Observer) {
    soon(async {
        while !matches!(observer.next().await.unwrap().view(), Some(View::Leader(_))) {}
    })
    .await;
}

/// A failure drops the work while the leadership is current, and the leadership never returns;
/// observers report `Unknown`. After the repair a new leadership begins.
pub async fn failures_end_leaderships_before_their_leases<G: Group>(group: &mut G) {
    let stands = Standstill::watch();
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let mut observer = two.observe();
    let (gone, mut works) = mpsc::unbounded_channel();
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (shut, down) = oneshot::channel::<()>();
    let work = move |leader: Leader<G::Class>| {
        begun.send(leader.clone()).unwrap();
        let working = Work { leader, gone: gone.clone() };
        async move {
            let _working = working;
            pending().await
        }
    };
    let leading = tokio::spawn(async move { one.lead("1", down, work).await });
    let first = soon(begins.recv()).await.unwrap();
    assert!(first.is_current());
    let beside = lead(&group.election("two", "y"), "2").await;
    soon(beside.settled()).await.unwrap();
    let beside = tokio::spawn(beside.run(pending::<()>()));
    sees_a_leader(&mut observer).await;
    let Some(margin) = group.fail().await else { return };

    let led = soon(works.recv()).await.unwrap();
    let stood = stands.longest();
    assert!(led || stood >= margin / 4, "dropped too late, by a machine that stood for {stood:?}");
    // The work was dropped before the lease ended; the leader may then resign early.
    assert!(matches!(soon(first.lost()).await, Loss::Resigned | Loss::Expired));
    assert_eq!(soon(beside).await.unwrap(), Err(Loss::Expired));
    soon(async {
        while !matches!(observer.next().await.unwrap().view(), Some(View::Unknown { .. })) {}
    })
    .await;
    let asked = two.leader(Duration::from_millis(300)).await;
    assert!(matches!(asked, View::Unknown { .. }), "{asked:?}");
    // The first leadership may have ended earlier, while the machine stood still, and another may
    // have begun.
    while let Ok(between) = begins.try_recv() {
        soon(between.lost()).await;
        soon(works.recv()).await.unwrap();
    }

    group.mend().await;
    let second = soon(begins.recv()).await.unwrap();
    assert!(!first.is_current(), "the old one came back");
    let loss = second.loss();
    assert!(second.is_current(), "work began with next to nothing left of its lease: {loss:?}");
    G::Class::expect_order(&first, &second);
    sees_a_leader(&mut observer).await;
    shut.send(()).unwrap();
    assert_eq!(soon(leading).await.unwrap(), Ok(()));
    assert!(!second.is_current());
    assert_eq!(soon(works.recv()).await, Some(true));
    assert_eq!(second.loss(), Some(Loss::Resigned));
}

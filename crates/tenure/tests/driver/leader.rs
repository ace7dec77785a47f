//! The leader that the work holds.

use super::*;

#[tokio::test]
async fn drop_ends_every_clone() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let leader = leadership.leader();
    let clone = leader.clone();
    assert!(leader.is_current() && clone.is_current());
    assert_eq!((clone.id(), clone.fence(), clone.election()), ("me", Fence::new(9), &driver.name));
    assert_eq!(extra::<u32, _>(&clone).as_deref(), Some(&7));
    drop(leadership);
    // The driver has not heard of it.
    assert!(!leader.is_current() && !clone.is_current());
    assert_eq!((clone.until(), clone.remaining()), (Some(Time::ZERO), Some(Duration::ZERO)));
    assert_eq!(clone.loss(), None, "it has not expired, and nobody has said why");
    let mut lost = Box::pin(leader.lost());
    assert!(is_pending(lost.as_mut()).await);
    assert_eq!(driver.resignation().await, Some(Resign));
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    assert_eq!(soon(lost).await, Loss::Resigned);
    assert_eq!(clone.loss(), Some(Loss::Resigned));
    soon(clone.expiring()).await;
    assert_eq!(soon(clone.settled()).await, Err(Loss::Resigned));
}

#[tokio::test]
async fn resignation_ends_every_clone() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let leader = leadership.leader();
    let mut resigned = Box::pin(leadership.resign());
    assert!(is_pending(resigned.as_mut()).await);
    assert!(!leader.is_current() && !leadership.is_current());
    // A renewal that is under way brings nothing back.
    let owed = driver.campaigns.raise(&driver.name, later());
    assert_eq!(owed, Some(Resign));
    assert!(!leader.is_current());
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    driver.campaigns.released(&driver.name);
    soon(resigned).await;
}

#[tokio::test]
async fn a_clone_gives_nothing_up() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    drop((leadership.leader(), leadership.leader().clone()));
    assert!(driver.requests.try_recv().is_err());
    assert!(leadership.is_current());
}

#[tokio::test]
async fn clone_keeps_no_driver() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let leader = leadership.leader();
    drop(election);
    drop(leadership);
    assert_eq!(driver.resignation().await, Some(Resign));
    assert!(soon(driver.requests.recv()).await.is_none(), "somebody holds the office");
    // The node is gone, and its thread is still at it.
    let to = || "two".parse().unwrap();
    assert_eq!(soon(leader.transfer_to(to())).await, Err(TransferError::NotLeading));
    assert_eq!(soon(leader.can_transfer_to(to())).await, Err(TransferError::NotLeading));
    soon(leader.expiring()).await;
    drop(driver);
    assert_eq!(soon(leader.lost()).await, Loss::Closed);
    assert_eq!(soon(leader.settled()).await, Err(Loss::Closed));
    assert_eq!(soon(leader.renewed(leader.until())).await, Err(Loss::Closed));
}

/// The work itself hands over: `run` ends with it.
#[tokio::test]
async fn work_may_hand_over() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let leader = leadership.leader();
    let work = async move {
        leader.transfer_to("two".parse().unwrap()).await.unwrap();
        std::future::pending::<()>().await;
    };
    let serve = async {
        match driver.request().await {
            Request::Transfer { election, campaign, reply, .. } => {
                assert!(driver.campaigns.transfer(&election, campaign, reply));
            }
            other => panic!("{other:?}"),
        }
        driver.campaigns.ended(&driver.name, Loss::Transferred);
    };
    let (done, ()) = tokio::join!(soon(leadership.run(work)), serve);
    assert_eq!(done, Err(Loss::Transferred));
}

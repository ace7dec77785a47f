//! The leader that the work holds.

use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};

use super::*;

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The end of a leadership must not wake the task that resigns: candidates that wait for the
/// release need the processor at that moment.
#[tokio::test]
async fn only_release_wakes_resignation() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let woken = Arc::<Woken>::default();
    let count = || woken.0.load(Ordering::Relaxed);
    let waker = Waker::from(Arc::clone(&woken));
    let mut resigned = Box::pin(leadership.resign());
    assert!(resigned.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    assert_eq!(count(), 0);
    driver.campaigns.released(&driver.name);
    assert_eq!(count(), 1);
    soon(resigned).await;
}

#[tokio::test]
async fn driver_end_wakes_resignation() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let mut resigned = Box::pin(leadership.resign());
    assert!(is_pending(resigned.as_mut()).await);
    drop(driver);
    soon(resigned).await;
}

#[tokio::test]
async fn resignation_ends_every_clone() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    let leader = leadership.leader();
    let mut resigned = Box::pin(leadership.resign());
    assert!(is_pending(resigned.as_mut()).await);
    assert!(!leader.is_current() && !leadership.is_current());
    // A renewal that completes after the lowering must not raise the claim again.
    let owed = driver.campaigns.raise(&driver.name, later());
    assert_eq!(owed, Some(Resign));
    assert!(!leader.is_current());
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    driver.campaigns.released(&driver.name);
    soon(resigned).await;
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
    // The last handle of the node is gone, but the driver still runs.
    let to = || "two".parse().unwrap();
    assert_eq!(soon(leader.transfer_to(to())).await, Err(TransferError::NotLeading));
    assert_eq!(soon(leader.can_transfer_to(to())).await, Err(TransferError::NotLeading));
    soon(leader.expiring()).await;
    drop(driver);
    assert_eq!(soon(leader.lost()).await, Loss::Closed);
    assert_eq!(soon(leader.settled()).await, Err(Loss::Closed));
    assert_eq!(soon(leader.renewed(leader.until())).await, Err(Loss::Closed));
}

/// The next renewal removes the reason. The end of the leadership keeps it.
#[tokio::test]
async fn overdue_renewal_names_its_reason() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    assert_eq!(leadership.overdue(), None);
    let why = Waiting::NoQuorum { missing: vec!["b".into()] };
    driver.campaigns.waits(&driver.name, why.clone());
    let overdue = soon(leadership.falls_overdue(None)).await;
    assert_eq!(overdue.why, why);
    let told = overdue.told(clock::now()).to_string();
    assert!(told.starts_with("the lease was not renewed for "), "{told}");
    assert!(told.ends_with("s: no quorum: no answer from b"), "{told}");
    let mut another = Box::pin(leadership.falls_overdue(Some(&overdue)));
    assert!(is_pending(another.as_mut()).await, "the same reason is no news");
    drop(another);
    let later = leadership.until().map(Time::next);
    assert_eq!(driver.campaigns.raise(&driver.name, later.unwrap()), None);
    assert_eq!(leadership.overdue(), None);
    driver.campaigns.waits(&driver.name, why);
    driver.campaigns.lower(&driver.name);
    driver.campaigns.ended(&driver.name, Loss::Expired);
    assert_eq!(soon(leadership.lost()).await, Loss::Expired);
    let why = leadership.why_lapsed(clock::now()).expect("the renewal was overdue");
    assert!(why.ends_with("no answer from b"), "{why}");
}

/// The work itself hands over. The end of the leadership then ends `run`.
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

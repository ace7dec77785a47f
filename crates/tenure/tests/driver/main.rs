//! Handles of a protocol that is not in this crate: the test is the driver.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up should end there")]

mod classes;
mod lead;
mod leader;
mod toy;

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tenure::driver::{
    Campaigns, DriverHandle, Elected, Request, Resign, Subscriptions, Timing, election, extra,
};
use tenure::{
    AtMostOne, CampaignError, Change, Election, ElectionName, Fence, LeaderView, Leadership, Loss,
    MayOverlap, SafetyClass, Time, TransferError, View, Waiting, clock,
};
use tenure_testkit::handles::soon;
use tokio::sync::mpsc;

/// No test here waits for time to pass, so a handle that waits for this long never ends.
const NEVER: Duration = Duration::from_secs(1_000_000);

struct Shared<C: SafetyClass> {
    requests: mpsc::UnboundedSender<Request<C>>,
    margin: Duration,
}

impl<C: SafetyClass> DriverHandle<C> for Shared<C> {
    fn request(&self, request: Request<C>) {
        let _ = self.requests.send(request);
    }

    fn timing(&self) -> Timing {
        let grace = self.margin;
        let kill_margin = self.margin;
        Timing { grace, kill_margin, resignation_max: NEVER }
    }
}

/// The driver's side of one election.
struct Driver<C: SafetyClass> {
    name: ElectionName,
    requests: mpsc::UnboundedReceiver<Request<C>>,
    campaigns: Campaigns<C>,
    subscriptions: Subscriptions,
}

fn start<C: SafetyClass>() -> (Election<C>, Driver<C>) {
    start_with(Duration::from_millis(1))
}

fn start_with<C: SafetyClass>(margin: Duration) -> (Election<C>, Driver<C>) {
    let name: ElectionName = "x".parse().unwrap();
    let (sender, requests) = mpsc::unbounded_channel();
    let handle = election(Arc::new(Shared { requests: sender, margin }), name.clone());
    (
        handle,
        Driver {
            name,
            requests,
            campaigns: Campaigns::default(),
            subscriptions: Subscriptions::default(),
        },
    )
}

impl<C: SafetyClass> Driver<C> {
    async fn request(&mut self) -> Request<C> {
        soon(self.requests.recv()).await.expect("nobody holds the office any more")
    }

    async fn open(&mut self) -> bool {
        match self.request().await {
            Request::Campaign { election, campaign, value, priority: 100, reply } => {
                assert_eq!((&election, &*value), (&self.name, "here"));
                self.campaigns.open(&election, campaign, reply)
            }
            other => panic!("{other:?}"),
        }
    }

    fn win(&mut self, fence: C::Fence) -> Option<Resign> {
        assert_eq!(self.campaigns.raise(&self.name, later()), None);
        let elected = Elected { id: "me".into(), fence, extra: Arc::new(7_u32) };
        self.campaigns.elected(&self.name, elected)
    }

    /// Takes a resignation, and returns the order that the core must get.
    async fn resignation(&mut self) -> Option<Resign> {
        match self.request().await {
            Request::Resign { election, campaign } => self.campaigns.resign(&election, campaign),
            other => panic!("{other:?}"),
        }
    }

    async fn observation(&mut self) -> Option<Duration> {
        match self.request().await {
            Request::Observe { election, every, reply, .. } => {
                self.subscriptions.observe(&election, every, reply)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Takes a new observer; true if the core must query for it.
    async fn newcomer(&mut self) -> bool {
        match self.request().await {
            Request::Observe { election, every, reply, .. } => {
                self.subscriptions.observe_afresh(&election, every, reply).is_some()
            }
            other => panic!("{other:?}"),
        }
    }

    async fn farewell(&mut self) -> bool {
        match self.request().await {
            Request::Unobserve { election } => self.subscriptions.unobserve(&election),
            other => panic!("{other:?}"),
        }
    }
}

fn later() -> Time {
    clock::now().after(NEVER)
}

type Campaign<C> = tokio::task::JoinHandle<Result<Leadership<C>, CampaignError>>;

async fn campaign<C: SafetyClass>(election: &Election<C>, driver: &mut Driver<C>) -> Campaign<C> {
    let election = election.clone();
    let campaign = tokio::spawn(async move { election.campaign("here").await });
    assert!(driver.open().await);
    campaign
}

async fn lead<C: SafetyClass>(
    election: &Election<C>,
    driver: &mut Driver<C>,
    fence: C::Fence,
) -> Leadership<C> {
    let campaign = campaign(election, driver).await;
    assert_eq!(driver.win(fence), None);
    soon(campaign).await.unwrap().unwrap()
}

fn leader(value: &[u8], until: Time) -> View {
    let known = LeaderView::new("694d81".into(), value.into());
    View::Leader(LeaderView { fence: Some(Fence::new(3)), until: Some(until), ..known })
}

#[tokio::test]
async fn leadership_is_won_and_resigned() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    assert!(leadership.is_current());
    assert_eq!((leadership.id(), leadership.fence()), ("me", Fence::new(9)));
    assert_eq!(extra::<u32, _>(&leadership).as_deref(), Some(&7));
    assert_eq!(extra::<u64, _>(&leadership), None);
    driver.campaigns.settled(&driver.name);
    soon(leadership.settled()).await.unwrap();
    let until = leadership.until();
    let later = until.map(Time::next);
    assert_eq!(driver.campaigns.raise(&driver.name, later.unwrap()), None);
    assert_eq!(soon(leadership.renewed(until)).await, Ok(later));
    let serve = async {
        assert_eq!(driver.resignation().await, Some(Resign));
        driver.campaigns.lower(&driver.name);
        assert!(!leadership.is_current());
        driver.campaigns.ended(&driver.name, Loss::Resigned);
        assert!(!driver.campaigns.is_quiet(), "others do not know yet");
        driver.campaigns.released(&driver.name);
        assert!(driver.campaigns.is_quiet());
    };
    tokio::join!(soon(leadership.resign()), serve);
    assert_eq!(leadership.loss(), Some(Loss::Resigned));
}

#[tokio::test]
async fn abandoned_campaign_is_resigned() {
    let (election, mut driver) = start::<AtMostOne>();
    let campaign = campaign(&election, &mut driver).await;
    campaign.abort();
    assert!(campaign.await.unwrap_err().is_cancelled());
    assert_eq!(driver.win(Fence::new(1)), Some(Resign));
    assert_eq!(driver.resignation().await, Some(Resign));
}

#[tokio::test]
async fn lapsed_claim_is_resigned() {
    let (election, mut driver) = start::<AtMostOne>();
    let campaign = campaign(&election, &mut driver).await;
    assert_eq!(driver.campaigns.raise(&driver.name, clock::now()), None);
    let extra = Arc::new(());
    let elected = Elected { id: "me".into(), fence: Fence::new(1), extra };
    assert_eq!(driver.campaigns.elected(&driver.name, elected), None);
    let leadership = soon(campaign).await.unwrap().unwrap();
    assert!(!leadership.is_current());
    assert_eq!(driver.campaigns.raise(&driver.name, later()), Some(Resign));
    assert!(!leadership.is_current(), "a leadership came back");
    assert_eq!(soon(leadership.lost()).await, Loss::Expired);
}

#[tokio::test]
async fn ended_campaign_has_a_reason() {
    let (election, mut driver) = start::<AtMostOne>();
    let refused = campaign(&election, &mut driver).await;
    driver.campaigns.refused(&driver.name, "permission denied on /e/".to_owned());
    let error = soon(refused).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "permission denied on /e/");
    assert_eq!(driver.resignation().await, None);
    for (loss, error) in [
        (Loss::Resigned, CampaignError::Withdrawn),
        (Loss::Expired, CampaignError::Lost(Loss::Expired)),
        (Loss::Reset, CampaignError::Lost(Loss::Reset)),
        (Loss::Superseded, CampaignError::Lost(Loss::Superseded)),
        (Loss::Reassigned, CampaignError::Lost(Loss::Reassigned)),
    ] {
        let lost = campaign(&election, &mut driver).await;
        driver.campaigns.ended(&driver.name, loss);
        assert_eq!(soon(lost).await.unwrap().unwrap_err(), error);
        assert_eq!(driver.resignation().await, None);
    }
}

#[tokio::test]
async fn ended_leadership_has_a_reason() {
    let (election, mut driver) = start::<AtMostOne>();
    let losses = [Loss::Revoked, Loss::Reset, Loss::Expired, Loss::Superseded, Loss::Reassigned];
    for loss in losses {
        let leadership = lead(&election, &mut driver, Fence::new(1)).await;
        driver.campaigns.ended(&driver.name, loss);
        assert!(!leadership.is_current());
        assert_eq!(soon(leadership.lost()).await, loss);
        drop(leadership);
        assert_eq!(driver.resignation().await, None);
    }
    let leadership = lead(&election, &mut driver, Fence::new(2)).await;
    driver.campaigns.refused(&driver.name, "permission denied on /e/".to_owned());
    assert_eq!(leadership.loss(), Some(Loss::Revoked));
}

/// The driver lowers the claim before others learn the reason, and a handle may ask in between.
#[tokio::test]
async fn revoked_leadership_has_not_expired() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(1)).await;
    driver.campaigns.lower(&driver.name);
    assert!(!leadership.is_current());
    assert_eq!(leadership.loss(), None, "nobody has said why");
    let mut lost = Box::pin(leadership.lost());
    assert!(is_pending(lost.as_mut()).await);
    driver.campaigns.ended(&driver.name, Loss::Revoked);
    assert_eq!(soon(lost).await, Loss::Revoked);
    assert_eq!(leadership.loss(), Some(Loss::Revoked));
    drop(leadership);
    assert_eq!(driver.resignation().await, None);
    // `run` returns the same reason.
    let leadership = lead(&election, &mut driver, Fence::new(2)).await;
    driver.campaigns.lower(&driver.name);
    let mut work = Box::pin(leadership.run(std::future::pending::<()>()));
    assert!(is_pending(work.as_mut()).await);
    driver.campaigns.ended(&driver.name, Loss::Revoked);
    assert_eq!(soon(work).await, Err(Loss::Revoked));
}

/// Whether the future is pending, after one more poll.
async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test]
async fn hand_over_has_three_outcomes() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(1)).await;
    let protocol = "queue";
    let serve = async {
        match driver.request().await {
            Request::Transfer { probe: false, reply, .. } => {
                reply.refuse(TransferError::Unsupported { protocol });
            }
            other => panic!("{other:?}"),
        }
        for _ in 0..2 {
            match driver.request().await {
                Request::Transfer { election, campaign, reply, .. } => {
                    assert!(driver.campaigns.transfer(&election, campaign, reply));
                }
                other => panic!("{other:?}"),
            }
        }
        driver.campaigns.ended(&driver.name, Loss::Transferred);
    };
    let to = || "two".parse().unwrap();
    let ask = async {
        let unsupported = soon(leadership.transfer_to(to())).await;
        assert_eq!(unsupported, Err(TransferError::Unsupported { protocol }));
        let both = tokio::join!(leadership.transfer_to(to()), leadership.transfer_to(to()));
        assert_eq!(both, (Err(TransferError::Replaced), Ok(())));
    };
    tokio::join!(soon(ask), serve);
    assert_eq!(leadership.loss(), Some(Loss::Transferred));
}

/// The second campaign ends before others know that the first leadership has ended.
#[tokio::test]
async fn leavers_learn_of_release() {
    let (election, mut driver) = start::<AtMostOne>();
    let first = lead(&election, &mut driver, Fence::new(1)).await;
    let resigned = tokio::spawn(async move { first.resign().await });
    assert_eq!(driver.resignation().await, Some(Resign));
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    let next = campaign(&election, &mut driver).await;
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    assert_eq!(soon(next).await.unwrap().unwrap_err(), CampaignError::Withdrawn);
    tokio::task::yield_now().await;
    assert!(!resigned.is_finished() && !driver.campaigns.is_quiet());
    driver.campaigns.released(&driver.name);
    soon(resigned).await.unwrap();
    assert!(driver.campaigns.is_quiet());
}

#[tokio::test]
async fn observers_share_subscription() {
    let (election, mut driver) = start::<AtMostOne>();
    let slow = Duration::from_secs(9);
    let fast = Duration::from_secs(1);
    let mut first = election.observe_every(slow);
    let mut second = election.observe_every(fast);
    assert_eq!(driver.observation().await, Some(slow));
    assert_eq!(driver.observation().await, Some(fast));
    let here = leader(b"\xff, any bytes", clock::now());
    driver.subscriptions.see(&driver.name, here.clone());
    assert_eq!(soon(first.next()).await, Some(Change::View(here.clone())));
    assert_eq!(soon(second.next()).await, Some(Change::View(here)));
    // A renewed lease is no change, but the observer's latest view has it.
    let renewed = leader(b"\xff, any bytes", later());
    driver.subscriptions.see(&driver.name, renewed.clone());
    assert_eq!(first.latest(), Some(renewed));
    let proclaimed = leader(b"another value", later());
    driver.subscriptions.see(&driver.name, proclaimed.clone());
    assert_eq!(soon(first.next()).await, Some(Change::View(proclaimed.clone())));
    // After a gap the view may be the same as before. Observers learn of the gap all the same.
    driver.subscriptions.missed(&driver.name);
    driver.subscriptions.see(&driver.name, proclaimed.clone());
    assert_eq!(soon(first.next()).await, Some(Change::Reset));
    assert_eq!(soon(first.next()).await, Some(Change::View(proclaimed)));
    drop(first);
    assert!(!driver.farewell().await, "one still looks");
    drop(second);
    assert!(driver.farewell().await);
}

#[tokio::test]
async fn newcomers_see_later_views_only() {
    let (election, mut driver) = start::<AtMostOne>();
    let name = driver.name.clone();
    let old = leader(b"old", later());
    let new = leader(b"new", later());
    let mut first = election.observe();
    assert!(driver.newcomer().await);
    driver.subscriptions.see(&name, old.clone());
    assert_eq!(soon(first.next()).await, Some(Change::View(old.clone())));
    assert_eq!(driver.subscriptions.look_again(&name), None);
    let mut second = election.observe();
    assert!(driver.newcomer().await);
    // A third observer comes while the core queries for the second.
    let mut third = election.observe();
    let fourth = election.observe();
    assert!(!driver.newcomer().await && !driver.newcomer().await);
    drop(fourth);
    assert!(!driver.farewell().await);
    driver.subscriptions.see(&name, new.clone());
    assert_eq!(soon(second.next()).await, Some(Change::View(new.clone())));
    assert_eq!(soon(first.next()).await, Some(Change::View(new.clone())));
    assert!(driver.subscriptions.look_again(&name).is_some(), "for the third");
    drop((first, second));
    assert!(!driver.farewell().await && !driver.farewell().await, "the third waits");
    driver.subscriptions.missed(&name);
    driver.subscriptions.see(&name, old.clone());
    assert_eq!(soon(third.next()).await, Some(Change::View(old)));
    assert_eq!(driver.subscriptions.look_again(&name), None);
    drop(third);
    assert!(driver.farewell().await);
    let mut refused = election.observe();
    assert!(driver.newcomer().await);
    driver.subscriptions.close(&name);
    assert_eq!(soon(refused.next()).await, None);
}

#[tokio::test]
async fn an_observer_keeps_no_driver_going() {
    let (election, mut driver) = start::<AtMostOne>();
    let observer = election.observe();
    assert!(driver.observation().await.is_some());
    drop(election);
    assert!(soon(driver.requests.recv()).await.is_none());
    drop(observer);
}

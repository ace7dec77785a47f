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

use tenure::driver::{Boards, Elected, Office, Order, Resign, Seats, Timing, election, extra};
use tenure::{
    AtMostOne, CampaignError, Change, Election, ElectionName, Fence, Kind, LeaderView, Leadership,
    Loss, MayOverlap, Time, TransferError, View, clock,
};
use tokio::sync::mpsc;

/// Nothing here waits for a time to pass, so a handle that waits for this never ends.
const NEVER: Duration = Duration::from_secs(1_000_000);
const PATIENCE: Duration = Duration::from_secs(20);

struct Shared<K: Kind> {
    orders: mpsc::UnboundedSender<Order<K>>,
    margin: Duration,
}

impl<K: Kind> Office<K> for Shared<K> {
    fn order(&self, order: Order<K>) {
        let _ = self.orders.send(order);
    }

    fn timing(&self) -> Timing {
        let (grace, kill_margin) = (self.margin, self.margin);
        Timing { grace, kill_margin, resignation_max: NEVER }
    }
}

/// The driver's side of one election.
struct Driver<K: Kind> {
    name: ElectionName,
    orders: mpsc::UnboundedReceiver<Order<K>>,
    seats: Seats<K>,
    boards: Boards,
}

fn start<K: Kind>() -> (Election<K>, Driver<K>) {
    start_with(Duration::from_millis(1))
}

fn start_with<K: Kind>(margin: Duration) -> (Election<K>, Driver<K>) {
    let name: ElectionName = "x".parse().unwrap();
    let (sender, orders) = mpsc::unbounded_channel();
    let handle = election(Arc::new(Shared { orders: sender, margin }), name.clone());
    (handle, Driver { name, orders, seats: Seats::default(), boards: Boards::default() })
}

impl<K: Kind> Driver<K> {
    async fn order(&mut self) -> Order<K> {
        soon(self.orders.recv()).await.expect("nobody holds the office any more")
    }

    /// Takes up the campaign that comes next.
    async fn open(&mut self) -> bool {
        match self.order().await {
            Order::Campaign { election, seat, value, priority: 100, reply } => {
                assert_eq!((&election, &*value), (&self.name, "here"));
                self.seats.open(&election, seat, reply)
            }
            other => panic!("{other:?}"),
        }
    }

    fn win(&mut self, fence: K::Fence) -> Option<Resign> {
        assert_eq!(self.seats.raise(&self.name, later()), None);
        let elected = Elected { id: "me".into(), fence, extra: Arc::new(7_u32) };
        self.seats.elected(&self.name, elected)
    }

    /// What a resignation asks of the core.
    async fn resignation(&mut self) -> Option<Resign> {
        match self.order().await {
            Order::Resign { election, seat } => self.seats.resign(&election, seat),
            other => panic!("{other:?}"),
        }
    }

    async fn observation(&mut self) -> Option<Duration> {
        match self.order().await {
            Order::Observe { election, every, reply } => {
                self.boards.observe(&election, every, reply)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Whether the core must look for whoever comes.
    async fn newcomer(&mut self) -> bool {
        match self.order().await {
            Order::Observe { election, every, reply } => {
                self.boards.observe_afresh(&election, every, reply).is_some()
            }
            other => panic!("{other:?}"),
        }
    }

    async fn farewell(&mut self) -> bool {
        match self.order().await {
            Order::Unobserve { election } => self.boards.unobserve(&election),
            other => panic!("{other:?}"),
        }
    }
}

fn later() -> Time {
    clock::now().after(NEVER)
}

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("this takes too long")
}

type Campaign<K> = tokio::task::JoinHandle<Result<Leadership<K>, CampaignError>>;

async fn campaign<K: Kind>(election: &Election<K>, driver: &mut Driver<K>) -> Campaign<K> {
    let election = election.clone();
    let campaign = tokio::spawn(async move { election.campaign("here").await });
    assert!(driver.open().await);
    campaign
}

async fn lead<K: Kind>(
    election: &Election<K>,
    driver: &mut Driver<K>,
    fence: K::Fence,
) -> Leadership<K> {
    let campaign = campaign(election, driver).await;
    assert_eq!(driver.win(fence), None);
    soon(campaign).await.unwrap().unwrap()
}

fn leader(value: &[u8], until: Time) -> View {
    let known = LeaderView::new("694d81".into(), value.into());
    View::Leader(LeaderView { fence: Some(Fence::new(3)), until: Some(until), ..known })
}

#[tokio::test]
async fn a_leadership_is_won_held_and_given_up() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(9)).await;
    assert!(leadership.is_current());
    assert_eq!((leadership.id(), leadership.fence()), ("me", Fence::new(9)));
    assert_eq!(extra::<u32, _>(&leadership).as_deref(), Some(&7));
    assert_eq!(extra::<u64, _>(&leadership), None);
    driver.seats.settled(&driver.name);
    soon(leadership.settled()).await.unwrap();
    let until = leadership.until();
    let later = until.map(Time::next);
    assert_eq!(driver.seats.raise(&driver.name, later.unwrap()), None);
    assert_eq!(soon(leadership.renewed(until)).await, Ok(later));
    let serve = async {
        assert_eq!(driver.resignation().await, Some(Resign));
        driver.seats.lower(&driver.name);
        assert!(!leadership.is_current());
        driver.seats.ended(&driver.name, Loss::Resigned);
        assert!(!driver.seats.is_quiet(), "others do not know yet");
        driver.seats.released(&driver.name);
        assert!(driver.seats.is_quiet());
    };
    tokio::join!(soon(leadership.resign()), serve);
    assert_eq!(leadership.loss(), Some(Loss::Resigned));
}

#[tokio::test]
async fn where_leaders_may_overlap_there_is_no_fence() {
    let (election, mut driver) = start::<MayOverlap>();
    let leadership = lead(&election, &mut driver, ()).await;
    assert!(leadership.is_current());
}

#[tokio::test]
async fn a_second_campaign_is_refused_and_takes_nothing_with_it() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(1)).await;
    let (second, opened) = tokio::join!(soon(election.campaign("here")), driver.open());
    assert!(!opened && matches!(second, Err(CampaignError::AlreadyCampaigning { .. })));
    assert_eq!(driver.resignation().await, None, "not the one that leads");
    assert!(leadership.is_current());
}

#[tokio::test]
async fn nobody_who_waits_is_left_with_a_leadership() {
    let (election, mut driver) = start::<AtMostOne>();
    let campaign = campaign(&election, &mut driver).await;
    campaign.abort();
    assert!(campaign.await.unwrap_err().is_cancelled());
    assert_eq!(driver.win(Fence::new(1)), Some(Resign));
    assert_eq!(driver.resignation().await, Some(Resign));
}

#[tokio::test]
async fn a_claim_that_has_lapsed_is_given_up() {
    let (election, mut driver) = start::<AtMostOne>();
    let campaign = campaign(&election, &mut driver).await;
    assert_eq!(driver.seats.raise(&driver.name, clock::now()), None);
    let extra = Arc::new(());
    let elected = Elected { id: "me".into(), fence: Fence::new(1), extra };
    assert_eq!(driver.seats.elected(&driver.name, elected), None);
    let leadership = soon(campaign).await.unwrap().unwrap();
    assert!(!leadership.is_current());
    assert_eq!(driver.seats.raise(&driver.name, later()), Some(Resign));
    assert!(!leadership.is_current(), "a leadership came back");
    assert_eq!(soon(leadership.lost()).await, Loss::Expired);
}

#[tokio::test]
async fn a_campaign_that_ends_says_why() {
    let (election, mut driver) = start::<AtMostOne>();
    let refused = campaign(&election, &mut driver).await;
    driver.seats.refused(&driver.name, "permission denied on /e/".to_owned());
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
        driver.seats.ended(&driver.name, loss);
        assert_eq!(soon(lost).await.unwrap().unwrap_err(), error);
        assert_eq!(driver.resignation().await, None);
    }
}

#[tokio::test]
async fn a_leadership_that_ends_says_why() {
    let (election, mut driver) = start::<AtMostOne>();
    let losses = [Loss::Revoked, Loss::Reset, Loss::Expired, Loss::Superseded, Loss::Reassigned];
    for loss in losses {
        let leadership = lead(&election, &mut driver, Fence::new(1)).await;
        driver.seats.ended(&driver.name, loss);
        assert!(!leadership.is_current());
        assert_eq!(soon(leadership.lost()).await, loss);
        drop(leadership);
        assert_eq!(driver.resignation().await, None);
    }
    let leadership = lead(&election, &mut driver, Fence::new(2)).await;
    driver.seats.refused(&driver.name, "permission denied on /e/".to_owned());
    assert_eq!(leadership.loss(), Some(Loss::Revoked));
}

/// The claim is lowered before anybody is told why, and a handle may ask in between.
#[tokio::test]
async fn a_leadership_that_was_taken_away_has_not_expired() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(1)).await;
    driver.seats.lower(&driver.name);
    assert!(!leadership.is_current());
    assert_eq!(leadership.loss(), None, "nobody has said why");
    let mut lost = Box::pin(leadership.lost());
    assert!(is_pending(lost.as_mut()).await);
    driver.seats.ended(&driver.name, Loss::Revoked);
    assert_eq!(soon(lost).await, Loss::Revoked);
    assert_eq!(leadership.loss(), Some(Loss::Revoked));
    drop(leadership);
    assert_eq!(driver.resignation().await, None);
    // The same of work that was to run under it.
    let leadership = lead(&election, &mut driver, Fence::new(2)).await;
    driver.seats.lower(&driver.name);
    let mut work = Box::pin(leadership.run(std::future::pending::<()>()));
    assert!(is_pending(work.as_mut()).await);
    driver.seats.ended(&driver.name, Loss::Revoked);
    assert_eq!(soon(work).await, Err(Loss::Revoked));
}

/// Whether it is, after one more look.
async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test]
async fn a_hand_over_may_be_unsupported_replaced_or_done() {
    let (election, mut driver) = start::<AtMostOne>();
    let leadership = lead(&election, &mut driver, Fence::new(1)).await;
    let protocol = "etcd";
    let serve = async {
        match driver.order().await {
            Order::Transfer { probe: false, reply, .. } => {
                reply.refuse(TransferError::Unsupported { protocol });
            }
            other => panic!("{other:?}"),
        }
        for _ in 0..2 {
            match driver.order().await {
                Order::Transfer { election, seat, reply, .. } => {
                    assert!(driver.seats.transfer(&election, seat, reply));
                }
                other => panic!("{other:?}"),
            }
        }
        driver.seats.ended(&driver.name, Loss::Transferred);
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

/// The key of the first is not gone yet when the next campaign is over already.
#[tokio::test]
async fn everybody_who_leaves_is_told_when_others_know() {
    let (election, mut driver) = start::<AtMostOne>();
    let first = lead(&election, &mut driver, Fence::new(1)).await;
    let resigned = tokio::spawn(async move { first.resign().await });
    assert_eq!(driver.resignation().await, Some(Resign));
    driver.seats.ended(&driver.name, Loss::Resigned);
    let next = campaign(&election, &mut driver).await;
    driver.seats.ended(&driver.name, Loss::Resigned);
    assert_eq!(soon(next).await.unwrap().unwrap_err(), CampaignError::Withdrawn);
    tokio::task::yield_now().await;
    assert!(!resigned.is_finished() && !driver.seats.is_quiet());
    driver.seats.released(&driver.name);
    soon(resigned).await.unwrap();
    assert!(driver.seats.is_quiet());
}

#[tokio::test]
async fn when_the_driver_ends_nobody_leads_waits_or_sees() {
    let (election, mut driver) = start::<AtMostOne>();
    let mut observer = election.observe();
    assert!(driver.observation().await.is_some());
    let leadership = lead(&election, &mut driver, Fence::new(1)).await;
    drop(driver);
    assert!(!leadership.is_current());
    assert_eq!(leadership.loss(), Some(Loss::Closed));
    assert_eq!(soon(leadership.lost()).await, Loss::Closed);
    assert_eq!(soon(election.campaign("here")).await.unwrap_err(), CampaignError::Closed);
    assert_eq!(soon(observer.next()).await, None);
    soon(leadership.resign()).await;
}

#[tokio::test]
async fn observers_share_a_board_until_the_last_has_left() {
    let (election, mut driver) = start::<AtMostOne>();
    let (slow, fast) = (Duration::from_secs(9), Duration::from_secs(1));
    let mut first = election.observe_every(slow);
    let mut second = election.observe_every(fast);
    assert_eq!(driver.observation().await, Some(slow));
    assert_eq!(driver.observation().await, Some(fast));
    let here = leader(b"\xff, any bytes", clock::now());
    driver.boards.see(&driver.name, here.clone());
    assert_eq!(soon(first.next()).await, Some(Change::View(here.clone())));
    assert_eq!(soon(second.next()).await, Some(Change::View(here)));
    // A lease that goes on is no change, but known.
    let renewed = leader(b"\xff, any bytes", later());
    driver.boards.see(&driver.name, renewed.clone());
    assert_eq!(first.latest(), Some(renewed));
    let proclaimed = leader(b"another value", later());
    driver.boards.see(&driver.name, proclaimed.clone());
    assert_eq!(soon(first.next()).await, Some(Change::View(proclaimed.clone())));
    // After a gap the same leader may be there again: it is told all the same.
    driver.boards.missed(&driver.name);
    driver.boards.see(&driver.name, proclaimed.clone());
    assert_eq!(soon(first.next()).await, Some(Change::Reset));
    assert_eq!(soon(first.next()).await, Some(Change::View(proclaimed)));
    drop(first);
    assert!(!driver.farewell().await, "one still looks");
    drop(second);
    assert!(driver.farewell().await);
}

#[tokio::test]
async fn newcomers_are_shown_what_is_seen_after_they_came() {
    let (election, mut driver) = start::<AtMostOne>();
    let name = driver.name.clone();
    let old = leader(b"old", later());
    let new = leader(b"new", later());
    let mut first = election.observe();
    assert!(driver.newcomer().await);
    driver.boards.see(&name, old.clone());
    assert_eq!(soon(first.next()).await, Some(Change::View(old.clone())));
    assert_eq!(driver.boards.look_again(&name), None);
    let mut second = election.observe();
    assert!(driver.newcomer().await);
    // While the core looks for that one.
    let mut third = election.observe();
    let fourth = election.observe();
    assert!(!driver.newcomer().await && !driver.newcomer().await);
    drop(fourth);
    assert!(!driver.farewell().await);
    driver.boards.see(&name, new.clone());
    assert_eq!(soon(second.next()).await, Some(Change::View(new.clone())));
    assert_eq!(soon(first.next()).await, Some(Change::View(new.clone())));
    assert!(driver.boards.look_again(&name).is_some(), "for the third");
    drop((first, second));
    assert!(!driver.farewell().await && !driver.farewell().await, "the third waits");
    driver.boards.missed(&name);
    driver.boards.see(&name, old.clone());
    assert_eq!(soon(third.next()).await, Some(Change::View(old)));
    assert_eq!(driver.boards.look_again(&name), None);
    drop(third);
    assert!(driver.farewell().await);
    let mut refused = election.observe();
    assert!(driver.newcomer().await);
    driver.boards.close(&name);
    assert_eq!(soon(refused.next()).await, None);
}

#[tokio::test]
async fn an_observer_keeps_no_driver_going() {
    let (election, mut driver) = start::<AtMostOne>();
    let observer = election.observe();
    assert!(driver.observation().await.is_some());
    drop(election);
    assert!(soon(driver.orders.recv()).await.is_none());
    drop(observer);
}

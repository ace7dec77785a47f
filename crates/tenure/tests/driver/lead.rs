//! Leading again and again: the requests to the driver, and their order.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;

#[derive(Clone, Default)]
struct Works(Arc<AtomicUsize>);

struct Working(Works);

impl Works {
    fn begin(&self) -> Working {
        self.0.fetch_add(1, Ordering::SeqCst);
        Working(self.clone())
    }

    fn under_way(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    async fn begun(&self) {
        soon(async {
            while self.under_way() == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

type Leading = JoinHandle<Result<(), CampaignError>>;

/// Leads with work that never ends, until the shutdown.
fn led(election: &Election<AtMostOne>) -> (Leading, oneshot::Sender<()>, Works) {
    let (shut, down) = oneshot::channel();
    let election = election.clone();
    let works = Works::default();
    let theirs = works.clone();
    let leading = async move {
        let work = |_| {
            let working = theirs.begin();
            async move {
                let _working = working;
                pending().await
            }
        };
        election.lead("here", down, work).await
    };
    (tokio::spawn(leading), shut, works)
}

impl Driver<AtMostOne> {
    /// Takes a campaign and lets it win; the lease has full length.
    async fn elect(&mut self, fence: u64) {
        assert!(self.open().await);
        assert_eq!(self.win(Fence::new(fence)), None);
        self.campaigns.settled(&self.name);
    }

    /// Takes a resignation, and reports that others know of the release.
    async fn release(&mut self) {
        assert_eq!(self.resignation().await, Some(Resign));
        self.campaigns.ended(&self.name, Loss::Resigned);
        self.campaigns.released(&self.name);
    }

    /// Takes the resignation from a candidacy or a leadership that is over already.
    async fn nothing_more(&mut self) {
        assert_eq!(self.resignation().await, None);
    }
}

#[tokio::test]
async fn a_shutdown_before_anything_begins_nothing() {
    let (election, mut driver) = start::<AtMostOne>();
    let work = |_| async { panic!("nobody leads") };
    soon(election.lead("here", ready(()), work)).await.unwrap();
    assert!(driver.requests.try_recv().is_err());
}

#[tokio::test]
async fn shutdown_drops_work_then_resigns() {
    let (election, mut driver) = start::<AtMostOne>();
    let (leading, shut, works) = led(&election);
    driver.elect(1).await;
    works.begun().await;
    assert!(driver.requests.try_recv().is_err());
    shut.send(()).unwrap();
    assert_eq!(driver.resignation().await, Some(Resign));
    assert_eq!(works.under_way(), 0, "resigned while the work went on");
    driver.campaigns.ended(&driver.name, Loss::Resigned);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!leading.is_finished(), "others do not know yet");
    driver.campaigns.released(&driver.name);
    assert_eq!(soon(leading).await.unwrap(), Ok(()));
}

/// The first lease is shorter than the kill margin, so work must not begin under it.
#[tokio::test]
async fn work_begins_with_full_lease() {
    let (election, mut driver) = start_with::<AtMostOne>(NEVER / 2);
    let (_leading, _shut, works) = led(&election);
    assert!(driver.open().await);
    let first = clock::now().after(NEVER / 4);
    assert_eq!(driver.campaigns.raise(&driver.name, first), None);
    let extra = Arc::new(());
    let elected = Elected { id: "me".into(), fence: Fence::new(1), extra };
    assert_eq!(driver.campaigns.elected(&driver.name, elected), None);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(works.under_way(), 0);
    assert!(driver.requests.is_empty(), "given up before it began");
    assert_eq!(driver.campaigns.raise(&driver.name, later()), None);
    driver.campaigns.settled(&driver.name);
    works.begun().await;
}

#[tokio::test]
async fn loss_drops_work_and_campaigns_again() {
    let (election, mut driver) = start::<AtMostOne>();
    let (leading, shut, works) = led(&election);
    for fence in [1, 2] {
        driver.elect(fence).await;
        works.begun().await;
        driver.campaigns.ended(&driver.name, Loss::Revoked);
        driver.nothing_more().await;
        assert_eq!(works.under_way(), 0);
    }
    // A leadership is lost before its lease has full length.
    assert!(driver.open().await);
    assert_eq!(driver.win(Fence::new(3)), None);
    driver.campaigns.ended(&driver.name, Loss::Expired);
    driver.nothing_more().await;
    assert!(driver.open().await);
    drop(shut);
    assert_eq!(soon(leading).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn lost_candidacy_campaigns_again() {
    let refused = || CampaignError::Refused { why: "permission denied on /e/".to_owned() };
    for (loss, error) in [
        (None, refused()),
        (Some(Loss::Closed), CampaignError::Closed),
        (Some(Loss::Resigned), CampaignError::Withdrawn),
    ] {
        let (election, mut driver) = start::<AtMostOne>();
        let (leading, _shut, _) = led(&election);
        for lost in [Loss::Expired, Loss::Superseded] {
            assert!(driver.open().await);
            driver.campaigns.ended(&driver.name, lost);
            driver.nothing_more().await;
        }
        assert!(driver.open().await);
        match loss {
            Some(loss) => driver.campaigns.ended(&driver.name, loss),
            None => driver.campaigns.refused(&driver.name, "permission denied on /e/".to_owned()),
        }
        assert_eq!(soon(leading).await.unwrap(), Err(error));
    }
}

/// Each pause is at least half of its bound, which is 100 ms, 200 ms, 400 ms and so on.
#[tokio::test]
async fn short_work_does_not_spin() {
    let (election, mut driver) = start::<AtMostOne>();
    let works = Arc::new(AtomicUsize::new(0));
    let counted = works.clone();
    let leading = tokio::spawn(async move {
        let work = |leader: tenure::Leader<AtMostOne>| {
            assert!(leader.is_current());
            counted.fetch_add(1, Ordering::SeqCst);
            ready(())
        };
        election.lead("here", pending::<()>(), work).await
    });
    let began = clock::now();
    for fence in 1..=4 {
        driver.elect(fence).await;
        driver.release().await;
        driver.nothing_more().await;
    }
    assert!(driver.open().await);
    let least = Duration::from_millis(50 + 100 + 200 + 400);
    assert!(clock::now().since(began) >= least, "it spins");
    assert_eq!(works.load(Ordering::SeqCst), 4);
    leading.abort();
}

#[tokio::test]
async fn shutdown_in_pause_ends_campaigns() {
    let (election, mut driver) = start::<AtMostOne>();
    let (shut, down) = oneshot::channel::<()>();
    let leading = tokio::spawn(async move { election.lead("here", down, |_| ready(())).await });
    let mut fence = 0;
    loop {
        fence += 1;
        driver.elect(fence).await;
        driver.release().await;
        driver.nothing_more().await;
        // If the machine stood still, the pause may be over by now.
        if driver.requests.is_empty() {
            break;
        }
    }
    shut.send(()).unwrap();
    assert_eq!(soon(leading).await.unwrap(), Ok(()));
    assert!(driver.requests.try_recv().is_err());
}

#[tokio::test]
async fn dropped_future_drops_work_then_resigns() {
    let (election, mut driver) = start::<AtMostOne>();
    let (leading, _shut, works) = led(&election);
    driver.elect(1).await;
    works.begun().await;
    leading.abort();
    assert_eq!(driver.resignation().await, Some(Resign));
    assert_eq!(works.under_way(), 0);
    assert!(soon(leading).await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_priority_is_in_each_campaign() {
    let (election, mut driver) = start::<AtMostOne>();
    let work = |_| ready(());
    let mut leading = Box::pin(election.lead_with("here", 7, pending::<()>(), work));
    assert!(is_pending(leading.as_mut()).await);
    match driver.request().await {
        Request::Campaign { priority, .. } => assert_eq!(priority, 7),
        other => panic!("{other:?}"),
    }
}

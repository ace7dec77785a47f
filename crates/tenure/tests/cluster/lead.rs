//! Leading again and again, on real nodes.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tenure::nerio::{Config, Storage};
use tenure::state::Opening;
use tenure::{AtMostOne, Election, Fence, Leader, Loss, clock};
use tokio::sync::{mpsc, oneshot};

use crate::restart::restarted;
use crate::setup::{candidate, config, directory, grantor, grantors, soon};

/// What only one work may hold at a time.
#[derive(Clone, Default)]
struct Resource(Arc<AtomicBool>);

/// Work under way. When it is dropped it says whether it still led.
struct Working {
    resource: Resource,
    leader: Leader<AtMostOne>,
    gone: mpsc::UnboundedSender<(Fence, bool)>,
}

impl Resource {
    fn begin(
        &self,
        leader: Leader<AtMostOne>,
        gone: &mpsc::UnboundedSender<(Fence, bool)>,
    ) -> Working {
        assert!(!self.0.swap(true, Ordering::SeqCst), "two at work");
        Working { resource: self.clone(), leader, gone: gone.clone() }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let led = self.leader.is_current();
        self.resource.0.store(false, Ordering::SeqCst);
        let _ = self.gone.send((self.leader.fence(), led));
    }
}

/// How long this runtime has stood still at most.
struct Standstill(Arc<AtomicU64>);

impl Standstill {
    fn watch() -> Self {
        const TICK: Duration = Duration::from_millis(10);
        let longest = Arc::<AtomicU64>::default();
        let told = longest.clone();
        tokio::spawn(async move {
            loop {
                let began = clock::now();
                tokio::time::sleep(TICK).await;
                let late = clock::now().since(began).saturating_sub(TICK);
                told.fetch_max(late.as_millis().try_into().unwrap(), Ordering::SeqCst);
            }
        });
        Self(longest)
    }

    fn longest(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Both end their work after a moment, again and again: the other one leads next, or the same.
#[tokio::test]
async fn nobody_leads_before_the_work_of_the_one_before_is_gone() {
    let config = config();
    let _nodes = grantors(&config);
    let resource = Resource::default();
    let (gone, mut works) = mpsc::unbounded_channel();
    let mut leading = Vec::new();
    for name in ["one", "two"] {
        let election = candidate(&config, name).election("x").unwrap();
        let (shut, down) = oneshot::channel::<()>();
        let (resource, gone) = (resource.clone(), gone.clone());
        let work = move |leader: Leader<AtMostOne>| {
            let working = resource.begin(leader, &gone);
            async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                drop(working);
            }
        };
        leading.push((shut, tokio::spawn(async move { election.lead(name, down, work).await })));
    }
    let mut last = None;
    for _ in 0..6 {
        let (fence, _) = soon(works.recv()).await.unwrap();
        assert!(Some(fence) > last, "{fence} after {last:?}");
        last = Some(fence);
    }
    for (shut, leading) in leading {
        shut.send(()).unwrap();
        assert_eq!(soon(leading).await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn work_is_gone_before_its_lease_is_and_the_next_has_a_higher_fence() {
    let mut config = Config::clone(&config());
    // So long may the machine stand still when it is time to drop the work.
    let margin = Duration::from_millis(1_500);
    (config.grace, config.kill_margin) = (margin, margin);
    let config = config.check().unwrap();
    let stands = Standstill::watch();
    let parent = tempfile::tempdir().unwrap();
    let start =
        |name: &str, opening| grantor(&config, name, directory(parent.path(), name, opening));
    let _a = start("a", Opening::New);
    let others = ["b", "c"].map(|name| start(name, Opening::New));
    let election = candidate(&config, "one").election("x").unwrap();
    let (gone, mut works) = mpsc::unbounded_channel();
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (shut, down) = oneshot::channel::<()>();
    let work = move |leader: Leader<AtMostOne>| {
        begun.send(leader.clone()).unwrap();
        let working = Resource::default().begin(leader, &gone);
        async move {
            let _working = working;
            pending().await
        }
    };
    let leading = tokio::spawn(async move { election.lead("", down, work).await });
    let first: Leader<AtMostOne> = soon(begins.recv()).await.unwrap();
    assert!(first.is_current());
    for node in others {
        soon(node.close()).await;
    }
    let (fence, led) = soon(works.recv()).await.unwrap();
    assert_eq!(fence, first.fence());
    assert!(led || stands.longest() >= margin / 2, "dropped too late");
    // What was left of the lease was given up.
    assert!(matches!(soon(first.lost()).await, Loss::Resigned | Loss::Expired));
    let _others = [
        soon(restarted(&start, "b", Opening::Existing)).await,
        soon(restarted(&start, "c", Opening::Existing)).await,
    ];
    let second = soon(begins.recv()).await.unwrap();
    assert!(second.fence() > first.fence());
    assert!(!first.is_current() && second.is_current(), "the old one came back");
    shut.send(()).unwrap();
    assert_eq!(soon(leading).await.unwrap(), Ok(()));
    assert!(!second.is_current());
    assert_eq!(soon(works.recv()).await.unwrap(), (second.fence(), true));
    assert_eq!(second.loss(), Some(Loss::Resigned));
}

#[tokio::test]
async fn work_that_panics_leaves_the_office_to_the_next() {
    let config = config();
    let _nodes = grantors(&config);
    let [one, two] = ["one", "two"].map(|name| candidate(&config, name).election("x").unwrap());
    let work = |_| async { panic!("of the work") };
    let leading = tokio::spawn(async move { one.lead("", pending::<()>(), work).await });
    assert!(soon(leading).await.unwrap_err().is_panic());
    let next = soon(two.campaign("")).await.unwrap();
    assert!(next.is_current());
}

#[tokio::test]
async fn a_shutdown_withdraws_one_who_waits() {
    let config = config();
    let _nodes = grantors(&config);
    let [one, two] = ["one", "two"].map(|name| candidate(&config, name).election("x").unwrap());
    let leadership = soon(one.campaign("")).await.unwrap();
    let (shut, down) = oneshot::channel::<()>();
    let leading = tokio::spawn(async move { lead_never(&two, down).await });
    let to = || "two".parse().unwrap();
    soon(async { while leadership.can_transfer_to(to()).await.is_err() {} }).await;
    shut.send(()).unwrap();
    soon(leading).await.unwrap();
    soon(async { while leadership.can_transfer_to(to()).await.is_ok() {} }).await;
    assert!(leadership.is_current());
}

async fn lead_never(election: &Election<AtMostOne>, down: oneshot::Receiver<()>) {
    let work = |_| async { panic!("somebody else leads") };
    election.lead_with("", 200, down, work).await.unwrap();
}

/// A directory is taken by the next node only when the thread of the one before has let it go.
#[tokio::test]
async fn a_leader_does_not_keep_its_node_going() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let memory = || Storage::Memory { opening: Opening::New };
    let _nodes = [grantor(&config, "b", memory()), grantor(&config, "c", memory())];
    let start =
        |name: &str, opening| grantor(&config, name, directory(parent.path(), name, opening));
    let node = start("a", Opening::New);
    let leadership = soon(node.election("x").unwrap().campaign("")).await.unwrap();
    let leader = leadership.leader();
    let edicts = node.edicts(&leader).unwrap();
    edicts.create().unwrap();
    drop((node, leadership));
    assert!(!leader.is_current() && edicts.create().is_err());
    let again = soon(restarted(&start, "a", Opening::Existing)).await;
    assert_eq!(soon(leader.lost()).await, Loss::Resigned);
    let next = soon(again.election("x").unwrap().campaign("")).await.unwrap();
    assert!(next.fence() > leader.fence() && !leader.is_current());
}

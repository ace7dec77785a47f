//! Work under leaderships.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::{Election, Leader};
use tokio::sync::{mpsc, oneshot};

use super::{Class, Group, lead, soon, stands_behind};

/// A place for one worker at a time.
#[derive(Clone, Default)]
struct Resource(Arc<AtomicBool>);

struct Work(Resource);

impl Resource {
    fn begin(&self) -> Work {
        assert!(!self.0.swap(true, Ordering::SeqCst), "two at work");
        Work(self.clone())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::SeqCst);
    }
}

/// `run` returns the result of the work, and the next candidate leads at once.
pub async fn finished_work_resigns<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let leadership = lead(&one, "1").await;
    let leader = leadership.leader();
    let mut waiting = two.campaign("2");
    stands_behind(&mut waiting, leader.id()).await;
    assert_eq!(soon(leadership.run(async { 7 })).await, Ok(7));
    assert!(!leader.is_current());
    assert!(soon(waiting).await.unwrap().is_current());
}

/// Both candidates end their work after a moment, again and again. Either of them may lead next,
/// but the two never work at once.
pub async fn two_leaders_never_work_at_once<G: Group>(group: &mut G) {
    let shared = Resource::default();
    let (begun, mut works) = mpsc::unbounded_channel();
    let mut leading = Vec::new();
    for who in ["one", "two"] {
        let election = group.election(who, "x");
        let (shut, down) = oneshot::channel::<()>();
        let resource = if G::Class::EXCLUSIVE { shared.clone() } else { Resource::default() };
        let begun = begun.clone();
        let work = move |leader: Leader<G::Class>| {
            let working = resource.begin();
            assert!(leader.is_current());
            begun.send(leader).unwrap();
            async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                drop(working);
            }
        };
        leading.push((shut, tokio::spawn(async move { election.lead(who, down, work).await })));
    }
    let mut last: Option<Leader<G::Class>> = None;
    for _ in 0..6 {
        let next = soon(works.recv()).await.unwrap();
        if let Some(last) = last.replace(next.clone()) {
            G::Class::expect_order(&last, &next);
        }
    }
    for (shut, leading) in leading {
        shut.send(()).unwrap();
        assert_eq!(soon(leading).await.unwrap(), Ok(()));
    }
}

/// A panic gives up the leadership as a drop does.
pub async fn panicking_work_resigns<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let work = |_| async { panic!("of the work") };
    let leading = tokio::spawn(async move { one.lead("", pending::<()>(), work).await });
    assert!(soon(leading).await.unwrap_err().is_panic());
    assert!(lead(&two, "").await.is_current());
}

/// A shutdown withdraws a waiting candidate, and the leader stays.
pub async fn a_shutdown_withdraws_a_waiting_candidate<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let leadership = lead(&one, "1").await;
    let (shut, down) = oneshot::channel::<()>();
    let waiting = two.clone();
    let leading = tokio::spawn(async move { lead_never(&waiting, down).await });
    if !G::Class::EXCLUSIVE {
        leading.abort();
        return;
    }
    // Yield once, so that the driver receives the campaign before the shutdown.
    tokio::task::yield_now().await;
    super::is_refused(&two).await;
    // In most cases the candidate waits behind the leader after this time.
    tokio::time::sleep(Duration::from_millis(200)).await;
    shut.send(()).unwrap();
    soon(leading).await.unwrap();
    assert!(leadership.is_current());
    let mut again = two.campaign("2");
    stands_behind(&mut again, leadership.id()).await;
    soon(leadership.resign()).await;
    assert!(soon(again).await.unwrap().is_current());
}

async fn lead_never<C: Class>(election: &Election<C>, down: oneshot::Receiver<()>) {
    let work = |_| async { panic!("somebody else leads") };
    election.lead_with("", 200, down, work).await.unwrap();
}

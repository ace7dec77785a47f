//! Suite of the handles of every driver, whatever their protocol.
//!
//! A driver brings a [`Group`]: participants, each as a process of its own would be. The tests
//! come from one line, and each begins with a group of its own:
//!
//! ```text
//! tenure_testkit::handles!(MyGroup::start());
//! ```
//!
//! Where leaders may overlap, the suite expects no candidate to wait; all other expectations are
//! the same.

mod class;
mod ends;
mod leading;
mod observing;
mod standstill;
mod turns;

use std::panic::Location;
use std::time::Duration;

use tenure::{Campaign, CampaignError, Election, Leadership, Waiting};

pub use class::Class;
pub use ends::*;
pub use leading::*;
pub use observing::*;
pub use turns::*;

/// Bound on a wait for an event that is due soon: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Bound on a test: no test takes so long on a usable machine, so then the awaited event never
/// comes. Nextest ends a test a little later, without a message.
const LIMIT: Duration = Duration::from_secs(480);

/// Participants of one group, each with a driver of its own.
pub trait Group {
    /// The class of safety that these elections promise.
    type Class: Class;

    /// The name of the protocol, if it cannot transfer a leadership.
    const NO_TRANSFER: Option<&'static str>;

    /// The handle of a participant for an election. The first call for a participant starts it; the
    /// participant runs until it is [closed](Self::close).
    fn election(&mut self, participant: &'static str, election: &str) -> Election<Self::Class>;

    /// Closes a participant, and waits for its end.
    fn close(&mut self, participant: &'static str) -> impl Future<Output = ()>;

    /// Takes away a condition of leaderships, such as a quorum, so that no leadership outlives its
    /// lease and no participant knows a leader. Returns the configured kill margin, which bounds
    /// how long the machine may stand still in this time; `None` if there is nothing to take away.
    fn fail(&mut self) -> impl Future<Output = Option<Duration>> {
        async { None }
    }

    /// Undoes [`fail`](Self::fail).
    fn mend(&mut self) -> impl Future<Output = ()> {
        async {}
    }

    /// Checks the state after all participants have closed, such as an empty store.
    fn finish(&mut self) -> impl Future<Output = ()> {
        async {}
    }

    /// Closes all participants, so that no process writes into a folder that is removed with the
    /// group.
    fn end(self) -> impl Future<Output = ()>
    where
        Self: Sized,
    {
        async move { drop(self) }
    }
}

/// Runs a test in a runtime like a driver's.
pub fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let over = runtime.block_on(async { tokio::time::timeout(LIMIT, test).await });
    over.unwrap_or_else(|_| panic!("not over after {LIMIT:?}"))
}

/// Waits for a future that must complete.
#[track_caller]
pub fn soon<F: Future>(what: F) -> impl Future<Output = F::Output> {
    let place = Location::caller();
    async move {
        let came = tokio::time::timeout(PATIENCE, what).await;
        came.unwrap_or_else(|_| panic!("{place}: in {PATIENCE:?} this did not come"))
    }
}

/// Campaigns, and expects to win.
async fn lead<C: Class>(election: &Election<C>, value: &str) -> Leadership<C> {
    soon(election.campaign(value)).await.unwrap()
}

/// Waits until a campaign waits behind the leader of this id. Returns at once where leaders may
/// overlap, because no campaign waits there.
async fn stands_behind<C: Class>(campaign: &mut Campaign<C>, id: &str) {
    if !C::EXCLUSIVE {
        return;
    }
    let mut waits = campaign.waiting();
    let stands = async {
        while !matches!(waits.next().await, Some(Waiting::Behind { who, .. }) if *who == *id) {}
    };
    tokio::select! {
        won = campaign => panic!("two leaders: {:?}", won.map(|won| won.id().to_owned())),
        () = soon(stands) => {}
    }
}

/// Checks that a second campaign of the same participant is refused.
async fn is_refused<C: Class>(election: &Election<C>) {
    let second = soon(election.campaign("again")).await.map(drop);
    assert!(matches!(second, Err(CampaignError::AlreadyCampaigning { .. })), "{second:?}");
}

/// Makes a test of each promise, for groups that this expression starts.
#[macro_export]
macro_rules! handles {
    ($group:expr) => {
        $crate::handles! { $group =>
            leaders_follow_each_other
            a_dropped_campaign_is_withdrawn
            a_dropped_leadership_is_resigned
            a_participant_campaigns_once_per_election
            unreadable_values_are_refused
            a_second_resignation_does_nothing
            a_leader_handle_ends_with_leadership
            a_transfer_succeeds_or_is_unsupported
            observers_see_each_leader
            a_slow_observer_gets_a_reset
            closing_ends_everything
            failures_end_leaderships_before_their_leases
            finished_work_resigns
            two_leaders_never_work_at_once
            panicking_work_resigns
            a_shutdown_withdraws_a_waiting_candidate
        }
    };
    ($group:expr => $($promise:ident)*) => {
        $(#[test]
        fn $promise() {
            $crate::handles::run(async {
                let mut group = $group;
                $crate::handles::$promise(&mut group).await;
                $crate::handles::Group::end(group).await;
            });
        })*
    };
}

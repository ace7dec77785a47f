//! Suite of the handles of every driver, whatever protocol is behind them.
//!
//! A driver brings a [`Group`]: participants, each as a process of its own would be. The tests
//! come from one line, and each begins with a group of its own:
//!
//! ```text
//! tenure_testkit::handles!(MyGroup::start());
//! ```
//!
//! Where leaders may overlap, nobody is expected to wait for anybody; all else is the same.

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

/// How long anything may take that should be done soon: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// No test takes as long, on a machine that is still of use: whatever it waits for without a bound
/// of its own never comes. Nextest ends a test a little later, without a word.
const LIMIT: Duration = Duration::from_secs(480);

/// Participants of one group, each with a driver of its own.
pub trait Group {
    /// Promise of the elections.
    type Class: Class;

    /// The name of the protocol, if it cannot hand a leadership over.
    const NO_TRANSFER: Option<&'static str>;

    /// The handle that this participant has of this election. The participant is started when it
    /// is named for the first time, and goes on until it is [closed](Self::close).
    fn election(&mut self, participant: &'static str, election: &str) -> Election<Self::Class>;

    /// Closes a participant, and waits for that.
    fn close(&mut self, participant: &'static str) -> impl Future<Output = ()>;

    /// Takes away what leaderships live on, such as a quorum, so that none outlives its lease and
    /// nobody knows who leads. The configured kill margin, which is how long the machine may stand
    /// still meanwhile; `None` if there is nothing to take away.
    fn fail(&mut self) -> impl Future<Output = Option<Duration>> {
        async { None }
    }

    /// Gives it back.
    fn mend(&mut self) -> impl Future<Output = ()> {
        async {}
    }

    /// Checks the state after all participants have closed, such as an empty store.
    fn finish(&mut self) -> impl Future<Output = ()> {
        async {}
    }

    /// Closes everything, so that nothing writes into a folder that goes with the group.
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

/// Waits for what must come.
#[track_caller]
pub fn soon<F: Future>(what: F) -> impl Future<Output = F::Output> {
    let place = Location::caller();
    async move {
        let came = tokio::time::timeout(PATIENCE, what).await;
        came.unwrap_or_else(|_| panic!("{place}: in {PATIENCE:?} this did not come"))
    }
}

/// Campaigns, and wins.
async fn lead<C: Class>(election: &Election<C>, value: &str) -> Leadership<C> {
    soon(election.campaign(value)).await.unwrap()
}

/// Waits until a campaign stands behind the leader of this id. Where leaders may overlap nobody
/// does.
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
            a_campaign_that_is_dropped_is_withdrawn
            a_leadership_that_is_dropped_is_resigned
            a_participant_campaigns_once_in_an_election
            values_that_nobody_could_read_are_refused
            resigning_twice_is_resigning_once
            a_leader_outlives_its_leadership_and_leads_no_more
            a_leadership_is_handed_over_or_that_is_not_supported
            observers_are_told_who_leads
            an_observer_that_is_slow_hears_that_it_missed_something
            closing_ends_everything
            a_failure_ends_leaderships_before_their_leases
            work_that_ends_by_itself_resigns
            leading_again_and_again_nobody_works_beside_another
            work_that_panics_leaves_the_election_to_the_next
            a_shutdown_withdraws_one_who_waits
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

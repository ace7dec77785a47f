//! Repeated leading: campaigns, and work under each leadership.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tenure_core::{Backoff, Loss};

use crate::clock;
use crate::election::{Election, PRIORITY};
use crate::entropy;
use crate::error::CampaignError;
use crate::leader::Leader;
use crate::leadership::Leadership;
use crate::safety::SafetyClass;

/// Pauses before campaigns that follow short attempts. Work that always ends at once then costs an
/// election at most one leadership in 2.5 s.
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(5) };

impl<C: SafetyClass> Election<C> {
    /// Campaigns, does `work` while this participant leads, and campaigns again after it, until
    /// `shutdown` resolves.
    ///
    /// ```no_run
    /// # use tenure::{AtMostOne, CampaignError, Election};
    /// # async fn example(
    /// #     election: Election<AtMostOne>,
    /// #     shutdown: impl Future<Output = ()>,
    /// # ) -> Result<(), CampaignError> {
    /// election
    ///     .lead("10.0.0.7:8080", shutdown, |leader| async move {
    ///         while leader.is_current() {
    ///             // One act, with `leader.fence()`.
    ///             # tokio::task::yield_now().await;
    ///         }
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// **Work.** `work` is called for each leadership, once its lease has full length
    /// ([`Leader::settled`]), and runs as in [`Leadership::run`](crate::Leadership::run). The work
    /// is dropped before the lease ends, and the leadership is given up only after the work has
    /// ended or was dropped. The work handles its own errors, so it returns nothing.
    ///
    /// **Repetition.** Another campaign follows when a leadership was lost, when work has ended by
    /// itself, and when a candidacy was [lost](CampaignError::Lost). After an attempt of less than
    /// 5 s a pause comes first, in which others can lead. The pause is at most 100 ms at first, and
    /// doubles with each further short attempt in a row, up to 5 s. Half of the pause is random.
    /// For work that is done once and for all: `election.campaign(value).await?.run(work)`.
    ///
    /// **End.** When `shutdown` resolves, the work is dropped, then the leadership is resigned,
    /// with a wait as in [`Leadership::resign`](crate::Leadership::resign), or the campaign is
    /// withdrawn. If `shutdown` has resolved already, nothing begins. The output of `shutdown` does
    /// not matter. If work needs time to shut down, give the work a signal of its own, and let
    /// `shutdown` resolve once the work has ended. Every [`CampaignError`] except
    /// [`Lost`](CampaignError::Lost) ends the call with that error, because another campaign would
    /// fail, too.
    ///
    /// Dropping the future drops the work; then the leadership is given up in the background, or
    /// the campaign is withdrawn. The same happens if the work panics. The log has the reasons why
    /// a campaign waits.
    pub async fn lead<S, W, F>(
        &self,
        value: &str,
        shutdown: S,
        work: W,
    ) -> Result<(), CampaignError>
    where
        S: Future,
        W: FnMut(Leader<C>) -> F,
        F: Future<Output = ()>,
    {
        self.lead_with(value, PRIORITY, shutdown, work).await
    }

    /// Leads like [`lead`](Self::lead), with a priority in each campaign as in
    /// [`campaign_with`](Self::campaign_with).
    pub async fn lead_with<S, W, F>(
        &self,
        value: &str,
        priority: u8,
        shutdown: S,
        mut work: W,
    ) -> Result<(), CampaignError>
    where
        S: Future,
        W: FnMut(Leader<C>) -> F,
        F: Future<Output = ()>,
    {
        let mut shutdown = pin!(shutdown);
        let mut short = 0;
        loop {
            let began = clock::now();
            let won = tokio::select! {
                biased;
                _ = &mut shutdown => return Ok(()),
                won = self.campaign_with(value, priority) => won,
            };
            match won {
                Ok(leadership) => {
                    let done = tokio::select! {
                        biased;
                        _ = &mut shutdown => None,
                        done = once(&leadership, &mut work) => Some(done),
                    };
                    // The work has been dropped. After an error the leadership is lost, or its
                    // lease is too short to wait for a resignation.
                    if !matches!(done, Some(Err(_))) {
                        leadership.resign().await;
                    }
                    if done.is_none() {
                        return Ok(());
                    }
                }
                Err(CampaignError::Lost(_)) => {}
                Err(error) => return Err(error),
            }
            short = if clock::now().since(began) < PAUSES.longest { short + 1 } else { 0 };
            if short > 0 {
                tokio::select! {
                    biased;
                    _ = &mut shutdown => return Ok(()),
                    () = tokio::time::sleep(PAUSES.pause(short, by_chance)) => {}
                }
            }
        }
    }
}

/// Does the work once the lease has full length. The first lease may be shorter than the kill
/// margin, so that work could not begin.
async fn once<C: SafetyClass, F: Future<Output = ()>>(
    leadership: &Leadership<C>,
    work: &mut impl FnMut(Leader<C>) -> F,
) -> Result<(), Loss> {
    leadership.settled().await?;
    leadership.run_and_keep(work(leadership.leader())).await
}

/// A random span below `bound`, so that nodes whose work ends for the same reason do not return
/// together.
fn by_chance(bound: Duration) -> Duration {
    // Without a random number, such nodes may return together.
    let drawn = entropy::number().unwrap_or(0) % bound.as_nanos().max(1);
    Duration::from_nanos(u64::try_from(drawn).unwrap_or(0))
}

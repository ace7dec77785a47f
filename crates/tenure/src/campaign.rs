//! A campaign: a future that resolves to a leadership, with the reasons why it waits.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tenure_core::{ElectionName, LeaderValue, Waiting};
use tokio::sync::watch;

use crate::error::CampaignError;
use crate::leadership::Leadership;
use crate::request::{CampaignAnswer, CampaignId, CampaignReply, DriverHandle, Request};
use crate::resignation::Resignation;
use crate::safety::SafetyClass;

type Outcome<C> = Pin<Box<dyn Future<Output = Result<Leadership<C>, CampaignError>> + Send>>;

/// A campaign in an election. The campaign begins when this future is first polled. The future
/// resolves when the campaign is won, or can never be won. Dropping the future withdraws the
/// candidacy.
///
/// ```no_run
/// # use tenure::{AtMostOne, CampaignError, Election};
/// # async fn example(election: Election<AtMostOne>) -> Result<(), CampaignError> {
/// let mut campaign = election.campaign("10.0.0.7:8080");
/// let mut waits = campaign.waiting();
/// let leadership = loop {
///     tokio::select! {
///         won = &mut campaign => break won?,
///         Some(waiting) = waits.next() => {
///             eprintln!("waiting: {}", waiting.told(tenure::clock::now()));
///         }
///     }
/// };
/// # drop(leadership);
/// # Ok(())
/// # }
/// ```
#[must_use = "a campaign begins when it is polled"]
pub struct Campaign<C: SafetyClass> {
    won: Outcome<C>,
    waits: watch::Receiver<Option<Waiting>>,
}

impl<C: SafetyClass> Campaign<C> {
    pub(crate) fn new(
        driver: Arc<dyn DriverHandle<C>>,
        election: ElectionName,
        value: String,
        priority: u8,
    ) -> Self {
        let (reply, CampaignAnswer { won, waits }) = CampaignReply::new();
        let won = Box::pin(async move {
            let campaign = CampaignId::next();
            let resignation = Resignation::new(driver.clone(), election.clone(), campaign);
            let shown = LeaderValue::from(value.as_bytes());
            driver.request(Request::Campaign { election, campaign, value, priority, reply });
            drop(driver);
            let won = won.await.unwrap_or(Err(CampaignError::Closed))?;
            Ok(Leadership::new(won, shown, resignation))
        });
        Self { won, waits }
    }

    /// Reports the reason why this campaign waits, each time the reason changes. A campaign that is
    /// won before the first reason is known reports nothing.
    pub fn waiting(&self) -> Waits {
        Waits(self.waits.clone())
    }
}

impl<C: SafetyClass> Future for Campaign<C> {
    type Output = Result<Leadership<C>, CampaignError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.won.as_mut().poll(context)
    }
}

impl<C: SafetyClass> fmt::Debug for Campaign<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign").field("waits", &*self.waits.borrow()).finish_non_exhaustive()
    }
}

/// Reasons for which a campaign waits.
#[derive(Clone, Debug)]
#[must_use]
pub struct Waits(watch::Receiver<Option<Waiting>>);

impl Waits {
    /// Resolves with the first known reason, then with each new one; `None` once the campaign is
    /// won or over. A slow caller gets the latest only. Cancel safe.
    pub async fn next(&mut self) -> Option<Waiting> {
        loop {
            self.0.changed().await.ok()?;
            let waiting = self.0.borrow_and_update().clone();
            if waiting.is_some() {
                return waiting;
            }
        }
    }

    /// The latest known reason. The reason may be known before [`next`](Self::next) returns it, and
    /// stays when the campaign is over.
    #[must_use]
    pub fn latest(&self) -> Option<Waiting> {
        self.0.borrow().clone()
    }
}

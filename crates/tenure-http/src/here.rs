//! The candidate of this process in one election.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use tenure::{Fence, Leader, LeaderView, Loss, SafetyClass, Time, Waiting, clock};

use crate::words::{Here, HereState, Waits, millis};

/// A [`Leader`] of any class.
pub(crate) trait Leads: Send + Sync {
    fn is_current(&self) -> bool;
    fn remaining(&self) -> Option<Duration>;
    fn id(&self) -> &str;
    fn fence(&self) -> Option<Fence>;
    fn loss(&self) -> Option<Loss>;
    /// Why the lease is not renewed, or was not renewed before the leadership ended.
    fn overdue(&self) -> Option<String>;
    /// This leader, as observers will see it.
    fn view(&self) -> LeaderView;
}

impl<C: SafetyClass> Leads for Leader<C> {
    fn is_current(&self) -> bool {
        Self::is_current(self)
    }

    fn remaining(&self) -> Option<Duration> {
        Self::remaining(self)
    }

    fn id(&self) -> &str {
        Self::id(self)
    }

    fn fence(&self) -> Option<Fence> {
        self.told_fence()
    }

    fn loss(&self) -> Option<Loss> {
        Self::loss(self)
    }

    fn overdue(&self) -> Option<String> {
        Self::overdue(self).map(|overdue| overdue.told(clock::now()).to_string())
    }

    fn view(&self) -> LeaderView {
        let (fence, until) = (self.told_fence(), self.until());
        LeaderView { fence, until, ..LeaderView::new(self.id().into(), self.value().clone()) }
    }
}

/// Upper bounds of the buckets of a renewal's duration, in seconds.
const BUCKETS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

#[derive(Clone)]
pub(crate) struct Durations(pub(crate) Histogram);

impl Default for Durations {
    fn default() -> Self {
        Self(Histogram::new(BUCKETS))
    }
}

/// The progress of the candidate. The program reports the start of each campaign and each victory;
/// the handle of a leadership reports its end.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    pub(crate) campaigns: bool,
    pub(crate) leader: Option<Arc<dyn Leads>>,
    pub(crate) waits: Option<(Waiting, Time)>,
    pub(crate) overdue: Option<String>,
    /// Whether the work is being stopped, before the leadership ends.
    pub(crate) stops: bool,
    /// Why the program steps down without an order.
    pub(crate) lapse: Option<String>,
    /// The reason for the end of the last leadership, and whether the candidate gave it up.
    pub(crate) ended: Option<(String, bool)>,
    pub(crate) terms: u64,
    pub(crate) renewals: u64,
    /// The times between renewals, in seconds.
    pub(crate) durations: Durations,
    /// Runs of CMD that were killed.
    pub(crate) killed: u64,
    /// Renewals that were overdue or failed.
    pub(crate) slow: u64,
}

impl Progress {
    /// Whether this process leads now, according to the handle of its leadership.
    pub(crate) fn leads(&self) -> bool {
        self.leader.as_ref().is_some_and(|leader| leader.is_current())
    }

    /// The recorded end of the last leadership. Before it is recorded, the end that the handle
    /// reports.
    fn end(&self) -> Option<(String, bool)> {
        let told = || {
            let leader = self.leader.as_deref()?;
            Some(end(leader, self.lapse.clone(), leader.loss()?))
        };
        self.ended.clone().or_else(told)
    }

    pub(crate) fn state(&self) -> HereState {
        match self.end() {
            _ if self.leads() && self.stops => HereState::Stopping,
            _ if self.leads() => HereState::Leading,
            _ if self.campaigns => HereState::Campaigning,
            Some((_, true)) => HereState::Resigned,
            Some((_, false)) => HereState::Lost,
            // The lease is over. The driver reports the reason soon.
            None if self.leader.is_some() => HereState::Lost,
            None => HereState::Idle,
        }
    }

    /// The answer at `now`. If `now` is ahead of the clock, the answer holds until `now`.
    pub(crate) fn words(&self, now: Time) -> Here {
        let ahead = now.since(clock::now());
        let state = self.state();
        let leads = matches!(state, HereState::Leading | HereState::Stopping);
        let leader = self.leader.as_ref().filter(|_| leads);
        let waits = self.waits.as_ref().filter(|_| state == HereState::Campaigning);
        let waits = waits.map(|(waiting, since)| Waits {
            reason: waiting.label().to_owned(),
            text: waiting.told(now).to_string(),
            for_ms: millis(now.since(*since)),
        });
        let lost = self.end().filter(|_| !leads);
        Here {
            state,
            id: leader.map(|leader| leader.id().to_owned()),
            fence: leader.and_then(|leader| leader.fence()).map(Fence::number),
            remaining_ms: leader
                .and_then(|leader| leader.remaining())
                .map(|rest| millis(rest.saturating_sub(ahead))),
            terms: self.terms,
            renewals: self.renewals,
            waits,
            overdue: self.overdue.clone().filter(|_| leads),
            lost: lost.map(|(why, _)| why),
        }
    }
}

/// The reason for the end of a leadership, and whether its candidate gave it up. A leader whose
/// lease is not renewed may step down before the lease ends: such an end counts as a loss.
pub(crate) fn end(leader: &dyn Leads, lapse: Option<String>, loss: Loss) -> (String, bool) {
    let cause = lapse.or_else(|| leader.overdue());
    let gave = matches!(loss, Loss::Resigned | Loss::Transferred | Loss::Closed) && cause.is_none();
    let why = match (cause, loss) {
        (Some(cause), Loss::Expired) => format!("{loss}: {cause}"),
        (cause, _) => cause.unwrap_or_else(|| loss.to_string()),
    };
    (why, gave)
}

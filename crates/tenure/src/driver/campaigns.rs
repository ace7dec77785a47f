//! Keeps campaigns and leaderships on the driver's side. Raises and lowers their claims, and ends
//! all of them when the loop ends or panics.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tenure_core::{Claim, ElectionName, Loss, Time, Waiting, WallTime};
use tokio::sync::watch;

use crate::cell::ClaimCell;
use crate::clock;
use crate::error::{CampaignError, TransferError};
use crate::overdue::{Overdue, Pause};
use crate::request::{
    CampaignId, CampaignReply, Elected, Progress, Signals, TransferReply, Victory, keep,
};
use crate::safety::SafetyClass;

/// The target of drivers' log lines: leaders, reasons for waiting, and troubles for an operator.
/// There is a line for each change, not for each message.
pub const LOG: &str = "tenure::events";

/// The target, below [`LOG`], of log lines that are also sent as notices. A program that reads
/// notices can filter these lines out.
pub const NOTICES: &str = "tenure::events::notices";

/// The caller must hand `Command::Resign` of this election to the core, now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resign;

struct Entry<C: SafetyClass> {
    id: CampaignId,
    reply: Option<CampaignReply<C>>,
    cell: Option<Arc<ClaimCell>>,
    /// End of the claim on the wall clock, kept until the claim is raised for the first time.
    wall: Option<WallTime>,
    progress: watch::Sender<Progress>,
    signals: Arc<Signals>,
    renewed: Time,
    /// Whether `progress` has a reason why the lease is not renewed. The flag spares every other
    /// renewal the lock of `progress`.
    is_overdue: bool,
    name: Option<Arc<str>>,
    transfer: Option<TransferReply>,
}

/// All campaigns of a driver: at most one open campaign for each election, and ended campaigns
/// whose end others may not know of yet. Dropping this value ends all of them as closed.
pub struct Campaigns<C: SafetyClass> {
    campaigns: HashMap<ElectionName, Entry<C>>,
    leaving: HashMap<ElectionName, Vec<Entry<C>>>,
    /// Id of the only process whose handles may lead; `None` if handles in forked children may
    /// lead, too, while the lease lasts.
    process: Option<u32>,
}

impl<C: SafetyClass> Campaigns<C> {
    /// Lets the handles of later leaderships lead in this process alone. A child that this process
    /// forks then reads "not leader", because leases may end as soon as this process ends.
    pub fn lead_in_this_process_alone(&mut self) {
        self.process = Some(std::process::id());
    }

    /// Opens a campaign; true if the core must campaign. Refuses the campaign if the election has
    /// an open campaign or a leadership already.
    #[must_use]
    pub fn open(
        &mut self,
        election: &ElectionName,
        id: CampaignId,
        reply: CampaignReply<C>,
    ) -> bool {
        if self.campaigns.contains_key(election) {
            reply.refuse(CampaignError::AlreadyCampaigning { election: election.clone() });
            return false;
        }
        let (progress, _) = watch::channel(Progress::default());
        let campaign = Entry {
            id,
            reply: Some(reply),
            cell: None,
            wall: None,
            progress,
            signals: Arc::default(),
            renewed: Time::ZERO,
            is_overdue: false,
            name: None,
            transfer: None,
        };
        self.campaigns.insert(election.clone(), campaign);
        true
    }

    /// Reports why an open campaign waits, why the lease of a leader is not renewed, or why others
    /// do not know the end of an earlier leadership. Logs each change.
    pub fn waits(&mut self, election: &ElectionName, waiting: Waiting) {
        let leader = self.campaigns.get_mut(election).filter(|campaign| campaign.reply.is_none());
        if let Some(leader) = leader.filter(|_| !self.leaving.contains_key(election)) {
            return leader.warn_overdue(election, waiting);
        }
        let reply = self.campaigns.get(election).and_then(|campaign| campaign.reply.as_ref());
        let mut changed = false;
        for campaign in self.leaving.get(election).into_iter().flatten() {
            changed |= campaign.waits(waiting.clone());
        }
        changed |= reply.is_some_and(|reply| reply.waits(waiting.clone()));
        if changed {
            tracing::info!(target: LOG, %election, "waiting: {}", waiting.told(clock::now()));
        }
    }

    /// Every election with an open campaign that has not won, sorted.
    #[must_use]
    pub fn pending(&self) -> Vec<ElectionName> {
        let open = self.campaigns.iter().filter(|(_, campaign)| campaign.reply.is_some());
        sorted(open.map(|(election, _)| election))
    }

    /// Whether the open campaign of this election has won.
    #[must_use]
    pub fn won(&self, election: &ElectionName) -> bool {
        self.campaigns.get(election).is_some_and(|campaign| campaign.reply.is_none())
    }

    /// Gives up a campaign or leadership for its handle. Does nothing if it is over already.
    #[must_use]
    pub fn resign(&self, election: &ElectionName, id: CampaignId) -> Option<Resign> {
        self.campaigns.get(election).is_some_and(|campaign| campaign.id == id).then_some(Resign)
    }

    /// Raises the claim for the core. A claim that has lapsed meanwhile is not raised and must be
    /// given up: a handle that once said "no longer" must not change its answer.
    #[must_use]
    pub fn raise(&mut self, election: &ElectionName, until: Time) -> Option<Resign> {
        let campaign = self.campaigns.get_mut(election)?;
        // Read the clock now: the core may have decided a while ago.
        let now = clock::now();
        let raised = match &campaign.cell {
            Some(cell) => cell.raise(now, until),
            None => {
                campaign.cell = Some(Arc::new(ClaimCell::new(Claim::new(until), campaign.wall)));
                true
            }
        };
        if raised {
            campaign.renewed = now;
            campaign.clear_overdue(election);
            campaign.signals.raised.notify_waiters();
        }
        (!raised).then_some(Resign)
    }

    /// Bounds the claim by the wall clock. The core asks for this before it raises the claim.
    pub fn bound(&mut self, election: &ElectionName, until: WallTime) {
        let Some(campaign) = self.campaigns.get_mut(election) else { return };
        match &campaign.cell {
            Some(cell) => cell.bound(clock::wall(), until),
            None => campaign.wall = Some(until),
        }
    }

    /// Notes a pause of this process, for the leaders whose leases may run out because of it.
    pub(super) fn paused(&self, pause: Pause) {
        for campaign in self.campaigns.values().filter(|campaign| campaign.reply.is_none()) {
            campaign.progress.send_modify(|progress| progress.pause = Some(pause));
        }
    }

    /// Lowers the claim for the core: from now on no handle leads by it. Call this before others
    /// learn of the end.
    pub fn lower(&self, election: &ElectionName) {
        if let Some(cell) = self.campaigns.get(election).and_then(|campaign| campaign.cell.as_ref())
        {
            cell.lower();
        }
    }

    /// Hands a leadership whose claim was just raised to the caller of the campaign. If no caller
    /// waits any more, the returned [`Resign`] gives the leadership up.
    #[must_use]
    pub fn elected(&mut self, election: &ElectionName, elected: Elected<C>) -> Option<Resign> {
        let campaign = self.campaigns.get_mut(election)?;
        let reply = campaign.reply.take()?;
        let cell = campaign.cell.clone()?;
        tracing::info!(target: LOG, %election, id = %elected.id, fence = ?elected.fence, "leading");
        campaign.name = Some(elected.id.clone());
        let progress = campaign.progress.subscribe();
        let signals = campaign.signals.clone();
        let won = Victory { elected, cell, process: self.process, progress, signals };
        (!reply.won(won)).then_some(Resign)
    }

    /// Ends a campaign that was won with a fence although its class of safety has none, or the
    /// reverse. No handle may lead, and the leadership must be given up.
    pub(super) fn mismatched(&mut self, election: &ElectionName) -> Option<Resign> {
        if let Some(reply) =
            self.campaigns.get_mut(election).and_then(|campaign| campaign.reply.take())
        {
            let why = C::MISMATCH.to_owned();
            tracing::error!(target: LOG, %election, "{why}");
            reply.refuse(CampaignError::Refused { why });
        }
        Some(Resign)
    }

    /// Reports that a lease of full length was obtained: long work may begin. Call this right after
    /// [`elected`](Self::elected) if the first lease has full length.
    pub fn settled(&self, election: &ElectionName) {
        if let Some(campaign) = self.campaigns.get(election) {
            campaign.progress.send_modify(|progress| progress.settled = true);
        }
    }

    /// Ends a campaign or a leadership. [`released`](Self::released) must follow.
    ///
    /// A campaign that was not won fails as [`Withdrawn`](CampaignError::Withdrawn) or
    /// [`Closed`](CampaignError::Closed) if `loss` says that, and otherwise as
    /// [`Lost`](CampaignError::Lost).
    pub fn ended(&mut self, election: &ElectionName, loss: Loss) {
        let why = match loss {
            Loss::Resigned => CampaignError::Withdrawn,
            Loss::Closed => CampaignError::Closed,
            _ => CampaignError::Lost(loss),
        };
        self.end(election, loss, why);
    }

    /// Ends a campaign that can never be won; `why` has the remedy. A leadership ends as
    /// [`Revoked`](Loss::Revoked). Otherwise like [`ended`](Self::ended).
    pub fn refused(&mut self, election: &ElectionName, why: String) {
        self.end(election, Loss::Revoked, CampaignError::Refused { why });
    }

    fn end(&mut self, election: &ElectionName, loss: Loss, why: CampaignError) {
        let Some(mut campaign) = self.campaigns.remove(election) else { return };
        match (&campaign.reply, loss) {
            (Some(_), _) => tracing::info!(target: LOG, %election, "the campaign is over: {why}"),
            (None, Loss::Resigned | Loss::Transferred | Loss::Reassigned | Loss::Closed) => {
                let why = campaign.told(loss);
                tracing::info!(target: LOG, %election, "this candidate no longer leads: {why}");
            }
            (None, _) => {
                let why = campaign.told(loss);
                tracing::warn!(target: LOG, %election, "this candidate no longer leads: {why}");
            }
        }
        campaign.end(loss, why);
        self.leaving.entry(election.clone()).or_default().push(campaign);
    }

    /// Notes that this leadership has a promise until `until`: others will not learn of its end
    /// before that instant. Call this right before [`ended`](Self::ended).
    pub fn held(&self, election: &ElectionName, until: Time) {
        if let Some(campaign) = self.campaigns.get(election) {
            campaign.progress.send_modify(|progress| progress.held = Some(until));
            if let Some(who) = campaign.name.clone() {
                campaign.waits(Waiting::Promised { who, until });
            }
        }
    }

    /// Reports for each ended campaign and leadership of this election that others know of the end,
    /// or that the lease has run out.
    pub fn released(&mut self, election: &ElectionName) {
        for campaign in self.leaving.remove(election).into_iter().flatten() {
            campaign.progress.send_modify(|progress| progress.released = true);
        }
    }

    /// Begins a hand-over for a handle; true if the core must begin it. Refuses it if that
    /// leadership is over.
    #[must_use]
    pub fn transfer(
        &mut self,
        election: &ElectionName,
        id: CampaignId,
        reply: TransferReply,
    ) -> bool {
        let campaign = self.campaigns.get_mut(election).filter(|campaign| campaign.id == id);
        let Some(campaign) = campaign else {
            reply.refuse(TransferError::NotLeading);
            return false;
        };
        if let Some(older) = campaign.transfer.replace(reply) {
            older.refuse(TransferError::Replaced);
        }
        true
    }

    /// Reports that the requested successor waits: the hand-over can begin.
    pub fn successor_waits(&mut self, election: &ElectionName) {
        let campaign = self.campaigns.get_mut(election);
        if let Some(reply) = campaign.and_then(|campaign| campaign.transfer.take()) {
            reply.answer(Ok(()));
        }
    }

    /// Reports that the hand-over does not take place; the leadership goes on.
    pub fn transfer_failed(&mut self, election: &ElectionName, why: TransferError) {
        let campaign = self.campaigns.get_mut(election);
        if let Some(reply) = campaign.and_then(|campaign| campaign.transfer.take()) {
            reply.refuse(why);
        }
    }

    /// Every election with a campaign or a leadership, sorted.
    #[must_use]
    pub fn elections(&self) -> Vec<ElectionName> {
        sorted(self.campaigns.keys())
    }

    /// Whether every campaign and leadership has ended, and others know of the end.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.campaigns.is_empty() && self.leaving.is_empty()
    }
}

fn sorted<'a>(elections: impl Iterator<Item = &'a ElectionName>) -> Vec<ElectionName> {
    let mut sorted: Vec<_> = elections.cloned().collect();
    sorted.sort_unstable();
    sorted
}

impl<C: SafetyClass> Entry<C> {
    /// Publishes the reason why others do not know of the end yet; true if the reason is new.
    fn waits(&self, waiting: Waiting) -> bool {
        self.progress.send_if_modified(|progress| keep(&mut progress.waits, waiting))
    }

    /// Publishes the reason why the lease is not renewed.
    fn warn_overdue(&mut self, election: &ElectionName, why: Waiting) {
        let overdue = Overdue::new(self.renewed, why);
        self.is_overdue = true;
        tracing::warn!(target: NOTICES, %election, "{}", overdue.told(clock::now()));
        self.progress.send_modify(|progress| progress.overdue = Some(overdue.into()));
    }

    /// Withdraws the reason after a renewal, if there was one.
    fn clear_overdue(&mut self, election: &ElectionName) {
        if std::mem::take(&mut self.is_overdue) {
            self.progress.send_modify(|progress| progress.overdue = None);
            tracing::info!(target: LOG, %election, "the lease was renewed again");
        }
    }

    /// The reason of an end, for people. A leader may resign because a renewal is overdue, so a
    /// resignation can have such a reason, too.
    fn told(&self, loss: Loss) -> String {
        match (loss, self.progress.borrow().why_lapsed(clock::now())) {
            (Loss::Resigned | Loss::Expired, Some(why)) => format!("{loss}; {why}"),
            _ => loss.to_string(),
        }
    }

    fn end(&mut self, loss: Loss, why: CampaignError) {
        if let Some(cell) = &self.cell {
            cell.lower();
        }
        if let Some(reply) = self.reply.take() {
            reply.refuse(why);
        }
        self.progress.send_modify(|progress| progress.ended = Some(loss));
        if let Some(reply) = self.transfer.take() {
            reply.answer(match loss {
                Loss::Transferred => Ok(()),
                _ => Err(TransferError::NotLeading),
            });
        }
    }
}

impl<C: SafetyClass> Drop for Entry<C> {
    /// Ends each wait for the release: others know of the end, or this driver never learns that
    /// they do.
    fn drop(&mut self) {
        self.signals.released.close();
    }
}

impl<C: SafetyClass> Default for Campaigns<C> {
    fn default() -> Self {
        Self { campaigns: HashMap::new(), leaving: HashMap::new(), process: None }
    }
}

impl<C: SafetyClass> Drop for Campaigns<C> {
    /// Ends all leaderships, so that no handle leads without its driver, even after a panic.
    fn drop(&mut self) {
        for campaign in self.campaigns.values_mut() {
            campaign.end(Loss::Closed, CampaignError::Closed);
        }
    }
}

impl<C: SafetyClass> fmt::Debug for Campaigns<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaigns")
            .field("open", &self.elections())
            .field("leaving", &sorted(self.leaving.keys()))
            .finish()
    }
}

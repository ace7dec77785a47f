//! Campaigns and leaderships on the driver's side.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tenure_core::{Claim, ElectionName, Loss, Time, Waiting};
use tokio::sync::watch;

use super::LOG;
use super::order::{CampaignReply, Elected, Progress, SeatId, TransferReply, Won, say};
use crate::cell::ClaimCell;
use crate::clock;
use crate::error::{CampaignError, TransferError};
use crate::kind::Kind;

/// What the core must be told: to resign this election, now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resign;

/// One campaign, and the leadership that it may become.
struct Seat<K: Kind> {
    id: SeatId,
    reply: Option<CampaignReply<K>>,
    cell: Option<Arc<ClaimCell>>,
    progress: watch::Sender<Progress>,
    /// What names the leader, once it is one.
    name: Option<Arc<str>>,
    /// What keeps others from knowing that the leadership is over.
    waits: watch::Sender<Option<Waiting>>,
    transfer: Option<TransferReply>,
}

/// All campaigns of a driver: at most one for each election, and those that are over but of which
/// others do not know yet. Dropping it ends them all as closed.
pub struct Seats<K: Kind> {
    seats: BTreeMap<ElectionName, Seat<K>>,
    leaving: BTreeMap<ElectionName, Vec<Seat<K>>>,
}

impl<K: Kind> Seats<K> {
    /// Opens a campaign, unless there is one: then it is refused. Says whether the core must be
    /// told to campaign.
    #[must_use]
    pub fn open(&mut self, election: &ElectionName, id: SeatId, reply: CampaignReply<K>) -> bool {
        if self.seats.contains_key(election) {
            reply.refuse(CampaignError::AlreadyCampaigning { election: election.clone() });
            return false;
        }
        let (progress, _) = watch::channel(Progress::default());
        let (waits, _) = watch::channel(None);
        let (reply, name) = (Some(reply), None);
        let seat = Seat { id, reply, cell: None, progress, name, waits, transfer: None };
        self.seats.insert(election.clone(), seat);
        true
    }

    /// What the campaign waits for, if it has not been won, and whoever gave a leadership of this
    /// election up and waits until others know. Logged when it has changed.
    pub fn waits(&self, election: &ElectionName, waiting: Waiting) {
        let reply = self.seats.get(election).and_then(|seat| seat.reply.as_ref());
        let mut news = false;
        for seat in self.leaving.get(election).into_iter().flatten() {
            news |= say(&seat.waits, waiting.clone());
        }
        news |= reply.is_some_and(|reply| reply.waits(waiting.clone()));
        if news {
            tracing::info!(target: LOG, %election, "waiting: {}", waiting.told(clock::now()));
        }
    }

    /// Every election with a campaign that has not been won.
    #[must_use]
    pub fn campaigns(&self) -> Vec<ElectionName> {
        let open = self.seats.iter().filter(|(_, seat)| seat.reply.is_some());
        open.map(|(election, _)| election.clone()).collect()
    }

    /// Whether its campaign has been won, and is not over.
    #[must_use]
    pub fn won(&self, election: &ElectionName) -> bool {
        self.seats.get(election).is_some_and(|seat| seat.reply.is_none())
    }

    /// A handle gives this campaign or leadership up. Nothing to do if it is over already.
    #[must_use]
    pub fn resign(&self, election: &ElectionName, id: SeatId) -> Option<Resign> {
        self.seats.get(election).is_some_and(|seat| seat.id == id).then_some(Resign)
    }

    /// The core raised the claim. If the one before has lapsed meanwhile, it is not raised and
    /// must be given up: a handle that once said "no longer" must not change its mind.
    #[must_use]
    pub fn raise(&mut self, election: &ElectionName, until: Time) -> Option<Resign> {
        let seat = self.seats.get_mut(election)?;
        let raised = match &seat.cell {
            // The clock as it is now, not as it was when the core decided.
            Some(cell) => cell.raise(clock::now(), until),
            None => {
                seat.cell = Some(Arc::new(ClaimCell::new(Claim::new(until))));
                true
            }
        };
        if raised {
            seat.progress.send_modify(|progress| progress.until = until);
        }
        (!raised).then_some(Resign)
    }

    /// The core lowered the claim: from this instant nobody is the leader by it. Before anybody
    /// is told.
    pub fn lower(&self, election: &ElectionName) {
        if let Some(cell) = self.seats.get(election).and_then(|seat| seat.cell.as_ref()) {
            cell.lower();
        }
    }

    /// The campaign was won; the claim was raised just before. If nobody waits for it any more,
    /// it must be given up.
    #[must_use]
    pub fn elected(&mut self, election: &ElectionName, elected: Elected<K>) -> Option<Resign> {
        let seat = self.seats.get_mut(election)?;
        let (reply, cell) = (seat.reply.take()?, seat.cell.clone()?);
        tracing::info!(target: LOG, %election, id = %elected.id, fence = ?elected.fence, "leading");
        seat.name = Some(elected.id.clone());
        let (progress, waits) = (seat.progress.subscribe(), seat.waits.subscribe());
        let won = Won { elected, cell, progress, waits };
        (!reply.won(won)).then_some(Resign)
    }

    /// The campaign was won, and not as its class of safety has it: nobody may be told that it
    /// leads, and it must be given up.
    pub(super) fn mismatched(&mut self, election: &ElectionName) -> Option<Resign> {
        if let Some(reply) = self.seats.get_mut(election).and_then(|seat| seat.reply.take()) {
            let why = K::MISMATCH.to_owned();
            tracing::error!(target: LOG, %election, "{why}");
            reply.refuse(CampaignError::Refused { why });
        }
        Some(Resign)
    }

    /// A lease of full length was obtained: long work may begin. Right after
    /// [`elected`](Self::elected) where the first one is no shorter.
    pub fn settled(&self, election: &ElectionName) {
        if let Some(seat) = self.seats.get(election) {
            seat.progress.send_modify(|progress| progress.settled = true);
        }
    }

    /// The campaign or the leadership is over. [`released`](Self::released) must follow.
    ///
    /// A campaign that was not won fails as [`Withdrawn`](CampaignError::Withdrawn) or
    /// [`Closed`](CampaignError::Closed) where `loss` says so, else as
    /// [`Lost`](CampaignError::Lost).
    pub fn ended(&mut self, election: &ElectionName, loss: Loss) {
        let why = match loss {
            Loss::Resigned => CampaignError::Withdrawn,
            Loss::Closed => CampaignError::Closed,
            _ => CampaignError::Lost(loss),
        };
        self.end(election, loss, why);
    }

    /// The campaign can never be won, and `why` says what to do about it; as
    /// [`ended`](Self::ended). A leadership that was won already ends as
    /// [`Revoked`](Loss::Revoked).
    pub fn refused(&mut self, election: &ElectionName, why: String) {
        self.end(election, Loss::Revoked, CampaignError::Refused { why });
    }

    fn end(&mut self, election: &ElectionName, loss: Loss, why: CampaignError) {
        let Some(mut seat) = self.seats.remove(election) else { return };
        match (&seat.reply, loss) {
            (Some(_), _) => tracing::info!(target: LOG, %election, "campaign over: {why}"),
            (None, Loss::Resigned | Loss::Transferred | Loss::Reassigned | Loss::Closed) => {
                tracing::info!(target: LOG, %election, "not leading any more: {loss}");
            }
            (None, _) => {
                tracing::warn!(target: LOG, %election, "not leading any more: {loss}");
            }
        }
        seat.end(loss, why);
        self.leaving.entry(election.clone()).or_default().push(seat);
    }

    /// The leadership ends now, and others are told no sooner than `until`, because that was
    /// promised. Right before [`ended`](Self::ended).
    pub fn held(&self, election: &ElectionName, until: Time) {
        if let Some(seat) = self.seats.get(election) {
            seat.progress.send_modify(|progress| progress.held = Some(until));
            if let Some(who) = seat.name.clone() {
                say(&seat.waits, Waiting::Promised { who, until });
            }
        }
    }

    /// Others know that whatever has ended in this election is over, or its lease has run out.
    pub fn released(&mut self, election: &ElectionName) {
        for seat in self.leaving.remove(election).into_iter().flatten() {
            seat.progress.send_modify(|progress| progress.released = true);
        }
    }

    /// A hand-over is asked for; it is refused if that leadership is over. Says whether the core
    /// must be told.
    #[must_use]
    pub fn transfer(&mut self, election: &ElectionName, id: SeatId, reply: TransferReply) -> bool {
        let seat = self.seats.get_mut(election).filter(|seat| seat.id == id);
        let Some(seat) = seat else {
            reply.refuse(TransferError::NotLeading);
            return false;
        };
        if let Some(older) = seat.transfer.replace(reply) {
            older.refuse(TransferError::Replaced);
        }
        true
    }

    /// The successor that was asked for waits: the hand-over can begin.
    pub fn successor_waits(&mut self, election: &ElectionName) {
        let seat = self.seats.get_mut(election);
        if let Some(reply) = seat.and_then(|seat| seat.transfer.take()) {
            reply.answer(Ok(()));
        }
    }

    /// The hand-over does not take place; the leadership goes on.
    pub fn transfer_failed(&mut self, election: &ElectionName, why: TransferError) {
        let seat = self.seats.get_mut(election);
        if let Some(reply) = seat.and_then(|seat| seat.transfer.take()) {
            reply.refuse(why);
        }
    }

    /// Every election with a campaign or a leadership.
    #[must_use]
    pub fn elections(&self) -> Vec<ElectionName> {
        self.seats.keys().cloned().collect()
    }

    /// Whether everything has ended and others know.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.seats.is_empty() && self.leaving.is_empty()
    }
}

impl<K: Kind> Seat<K> {
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

impl<K: Kind> Default for Seats<K> {
    fn default() -> Self {
        Self { seats: BTreeMap::new(), leaving: BTreeMap::new() }
    }
}

impl<K: Kind> Drop for Seats<K> {
    /// A driver that ends, even by a panic, leaves no handle behind that says it leads.
    fn drop(&mut self) {
        for seat in self.seats.values_mut() {
            seat.end(Loss::Closed, CampaignError::Closed);
        }
    }
}

impl<K: Kind> fmt::Debug for Seats<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seats")
            .field("open", &self.seats.keys())
            .field("leaving", &self.leaving.keys())
            .finish()
    }
}

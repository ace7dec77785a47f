//! Campaigns and leaderships on the driver's side.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::nerio::{Command, End, QuorumTimestamp, TransferFailure, Who};
use tenure_core::{ElectionName, Fence, NodeName, Time};
use tokio::sync::{oneshot, watch};

use super::order::{Progress, SeatId, Taken, Won};
use crate::cell::ClaimCell;
use crate::error::{Loss, TransferError};

type CampaignReply = oneshot::Sender<Result<Won, Taken>>;
type TransferReply = oneshot::Sender<Result<(), TransferError>>;

/// One campaign, and the leadership that it may become.
struct Seat {
    id: SeatId,
    reply: Option<CampaignReply>,
    cell: Option<Arc<ClaimCell>>,
    progress: watch::Sender<Progress>,
    transfer: Option<(NodeName, TransferReply)>,
}

/// All campaigns of a node: at most one for each election, and those that are over but whose
/// release has not arrived.
#[derive(Default)]
pub(super) struct Desk {
    seats: BTreeMap<ElectionName, Seat>,
    leaving: BTreeMap<ElectionName, Seat>,
}

impl Desk {
    /// Opens a campaign, unless there is one.
    pub(super) fn open(
        &mut self,
        election: &ElectionName,
        id: SeatId,
        reply: CampaignReply,
    ) -> bool {
        if self.seats.contains_key(election) {
            let _ = reply.send(Err(Taken));
            return false;
        }
        let (progress, _) = watch::channel(Progress::default());
        let seat = Seat { id, reply: Some(reply), cell: None, progress, transfer: None };
        self.seats.insert(election.clone(), seat);
        true
    }

    /// Whether this campaign is still on, or its leadership in office.
    pub(super) fn is_open(&self, election: &ElectionName, id: SeatId) -> bool {
        self.seats.get(election).is_some_and(|seat| seat.id == id)
    }

    /// The core raised the claim. What must be done if it came too late: a handle that once
    /// said "no longer" must not change its mind.
    pub(super) fn raise(
        &mut self,
        election: &ElectionName,
        now: Time,
        until: Time,
    ) -> Option<Command> {
        let seat = self.seats.get_mut(election)?;
        let raised = match &seat.cell {
            Some(cell) => cell.raise(now.as_nanos(), until.as_nanos()),
            None => {
                seat.cell = Some(Arc::new(ClaimCell::new(until.as_nanos())));
                true
            }
        };
        if raised {
            seat.progress.send_modify(|progress| progress.until = until);
        }
        (!raised).then_some(Command::Resign)
    }

    /// The core lowered the claim.
    pub(super) fn lower(&self, election: &ElectionName) {
        if let Some(cell) = self.seats.get(election).and_then(|seat| seat.cell.as_ref()) {
            cell.lower();
        }
    }

    /// The campaign was won. If nobody waits for it any more, it is given up.
    pub(super) fn elected(
        &mut self,
        election: &ElectionName,
        who: &Who,
        fence: Fence,
        timestamp: QuorumTimestamp,
    ) -> Option<Command> {
        let seat = self.seats.get_mut(election)?;
        let (reply, cell) = (seat.reply.take()?, seat.cell.clone()?);
        let progress = seat.progress.subscribe();
        let won = Won { who: who.clone(), cell, fence, timestamp, progress };
        reply.send(Ok(won)).is_err().then_some(Command::Resign)
    }

    /// A lease of full length was obtained.
    pub(super) fn settled(&self, election: &ElectionName) {
        if let Some(seat) = self.seats.get(election) {
            seat.progress.send_modify(|progress| progress.settled = true);
        }
    }

    /// The campaign or the leadership is over.
    pub(super) fn ended(&mut self, election: &ElectionName, end: End) {
        let Some(mut seat) = self.seats.remove(election) else { return };
        if let Some(cell) = &seat.cell {
            cell.lower();
        }
        let loss = match end {
            End::Expired => Loss::Expired,
            End::Resigned | End::Withdrawn => Loss::Resigned,
            End::Transferred => Loss::Transferred,
        };
        seat.reply = None;
        seat.progress.send_modify(|progress| progress.ended = Some(loss));
        if let Some((_, reply)) = seat.transfer.take() {
            let done = match end {
                End::Transferred => Ok(()),
                End::Expired | End::Resigned | End::Withdrawn => Err(TransferError::NotLeading),
            };
            let _ = reply.send(done);
        }
        self.leaving.insert(election.clone(), seat);
    }

    /// The release of what is over has arrived, or no longer matters.
    pub(super) fn released(&mut self, election: &ElectionName) {
        if let Some(seat) = self.leaving.remove(election) {
            seat.progress.send_modify(|progress| progress.released = true);
        }
    }

    /// A hand-over begins.
    pub(super) fn transfer(
        &mut self,
        election: &ElectionName,
        id: SeatId,
        (to, probe): (NodeName, bool),
        reply: TransferReply,
    ) -> Option<Command> {
        let seat = self.seats.get_mut(election).filter(|seat| seat.id == id);
        let Some(seat) = seat else {
            let _ = reply.send(Err(TransferError::NotLeading));
            return None;
        };
        if let Some((_, older)) = seat.transfer.replace((to.clone(), reply)) {
            let _ = older.send(Err(TransferError::Replaced));
        }
        Some(Command::Transfer { to, probe })
    }

    /// The successor that was asked for waits.
    pub(super) fn successor_waits(&mut self, election: &ElectionName) {
        let seat = self.seats.get_mut(election);
        if let Some((_, reply)) = seat.and_then(|seat| seat.transfer.take()) {
            let _ = reply.send(Ok(()));
        }
    }

    /// A hand-over did not take place.
    pub(super) fn transfer_failed(&mut self, election: &ElectionName, why: TransferFailure) {
        let Some(seat) = self.seats.get_mut(election) else { return };
        let failed = match why {
            TransferFailure::NotWaiting => |to| TransferError::NotWaiting { to },
            TransferFailure::NotLeading => |_| TransferError::NotLeading,
            // Its asker was told when the newer one came.
            TransferFailure::Replaced => return,
        };
        if let Some((to, reply)) = seat.transfer.take() {
            let _ = reply.send(Err(failed(to)));
        }
    }

    /// Every election with a campaign or a leadership.
    pub(super) fn elections(&self) -> Vec<ElectionName> {
        self.seats.keys().cloned().collect()
    }

    /// Whether everything has ended and every release has arrived.
    pub(super) fn is_quiet(&self) -> bool {
        self.seats.is_empty() && self.leaving.is_empty()
    }
}

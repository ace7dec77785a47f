//! Observers and verifications on the driver's side.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Command, View, Who};
use tenure_core::{ElectionName, Fence, Time};
use tokio::sync::{oneshot, watch};

use super::order::{Proof, Sight};

/// One board for each election that somebody observes.
#[derive(Default)]
pub(super) struct Boards {
    boards: BTreeMap<ElectionName, Board>,
    proofs: BTreeMap<ElectionName, Vec<oneshot::Sender<Proof>>>,
}

struct Board {
    sight: watch::Sender<Sight>,
    every: Duration,
}

impl Boards {
    /// Somebody wants to see an election. The most impatient sets the pace.
    pub(super) fn observe(
        &mut self,
        election: &ElectionName,
        every: Duration,
        reply: oneshot::Sender<watch::Receiver<Sight>>,
    ) -> Option<Command> {
        let known = self.boards.get_mut(election);
        let new = known.is_none();
        let board = match known {
            Some(board) => board,
            None => {
                let (sight, _) = watch::channel(Sight::default());
                self.boards.entry(election.clone()).or_insert(Board { sight, every })
            }
        };
        let faster = every < board.every;
        board.every = board.every.min(every);
        let _ = reply.send(board.sight.subscribe());
        (new || faster).then_some(Command::Observe { every })
    }

    /// The core sees something. Nobody looking ends it.
    pub(super) fn see(&mut self, election: &ElectionName, view: View) -> Option<Command> {
        let board = self.boards.get(election)?;
        if board.sight.receiver_count() == 0 {
            self.boards.remove(election);
            return Some(Command::Unobserve);
        }
        board.sight.send_if_modified(|sight| {
            let changed = !sight.view.as_ref().is_some_and(|known| is_same(known, &view));
            sight.change += u64::from(changed);
            sight.view = Some(view);
            changed
        });
        None
    }

    /// Somebody wants to know whether a leader leads.
    pub(super) fn verify(
        &mut self,
        election: &ElectionName,
        leader: SocketAddr,
        reply: oneshot::Sender<Proof>,
    ) -> Command {
        let waiting = self.proofs.entry(election.clone()).or_default();
        waiting.retain(|reply| !reply.is_closed());
        waiting.push(reply);
        Command::Verify { leader }
    }

    /// It does.
    pub(super) fn verified(
        &mut self,
        election: &ElectionName,
        who: &Who,
        until: Time,
        fence: Option<Fence>,
    ) {
        for reply in self.proofs.remove(election).unwrap_or_default() {
            let _ = reply.send(Proof::Leads { who: who.clone(), until, fence });
        }
    }

    /// It does not.
    pub(super) fn not_verified(&mut self, election: &ElectionName, by: &Who) {
        for reply in self.proofs.remove(election).unwrap_or_default() {
            let _ = reply.send(Proof::DoesNotLead { by: by.clone() });
        }
    }
}

/// Whether two views tell an application the same: a lease that goes on is no change.
fn is_same(known: &View, view: &View) -> bool {
    match (known, view) {
        (View::Leader(known), View::Leader(view)) => {
            known.who == view.who
                && known.fence == view.fence
                && known.value == view.value
                && known.address == view.address
        }
        (View::Vacant, View::Vacant) | (View::Unknown { .. }, View::Unknown { .. }) => true,
        (View::Leader(_) | View::Vacant | View::Unknown { .. }, _) => false,
    }
}

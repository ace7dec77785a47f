//! Observers on the driver's side.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::ElectionName;
use tokio::sync::watch;

use super::order::{ObserveReply, Sight};
use crate::view::View;

/// One board for each election that somebody observes: all its observers look at it.
#[derive(Debug, Default)]
pub struct Boards {
    boards: BTreeMap<ElectionName, Board>,
}

#[derive(Debug)]
struct Board {
    sight: watch::Sender<Sight>,
    every: Duration,
}

impl Boards {
    /// Somebody wants to see an election. If the core must be told to observe it, or to ask more
    /// often: how often to ask, which the most impatient observer decides.
    #[must_use]
    pub fn observe(
        &mut self,
        election: &ElectionName,
        every: Duration,
        reply: ObserveReply,
    ) -> Option<Duration> {
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
        reply.show(board.sight.subscribe());
        (new || faster).then_some(every)
    }

    /// An observer has left. Says whether it was the last, so that the core must be told to
    /// observe no longer.
    #[must_use]
    pub fn unobserve(&mut self, election: &ElectionName) -> bool {
        let alone = self.boards.get(election).is_some_and(|b| b.sight.receiver_count() == 0);
        if alone {
            self.boards.remove(election);
        }
        alone
    }

    /// The core sees something. That nothing has changed may be said too.
    pub fn see(&mut self, election: &ElectionName, view: View) {
        let Some(board) = self.boards.get(election) else { return };
        board.sight.send_if_modified(|sight| {
            let changed = !sight.view.as_ref().is_some_and(|known| known.is_same(&view));
            sight.change += u64::from(changed);
            sight.view = Some(view);
            changed
        });
    }

    /// The core sees something after a gap in which it may have missed anything: observers are
    /// told [`Change::Reset`](crate::Change::Reset) first.
    pub fn see_after_gap(&mut self, election: &ElectionName, view: View) {
        let Some(board) = self.boards.get(election) else { return };
        board.sight.send_modify(|sight| {
            // As if they had been too slow for the one in between.
            sight.change += 2;
            sight.view = Some(view);
        });
    }
}

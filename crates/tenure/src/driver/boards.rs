//! Observers on the driver's side.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::{ElectionName, View};
use tokio::sync::watch;

use super::order::{ObserveReply, Sight};

/// One board for each election that somebody observes: all its observers look at it.
#[derive(Debug, Default)]
pub struct Boards {
    boards: BTreeMap<ElectionName, Board>,
}

#[derive(Debug)]
struct Board {
    sight: watch::Sender<Sight>,
    every: Duration,
    newcomers: Newcomers,
    /// What is seen next comes after a gap.
    missed: bool,
}

/// Observers to whom nothing is shown that was seen before they came.
#[derive(Debug, Default)]
struct Newcomers {
    /// The core looks for these.
    looked_for: Option<Vec<ObserveReply>>,
    /// They came after it had begun.
    later: Vec<ObserveReply>,
}

impl Board {
    fn new(every: Duration) -> Self {
        let (sight, _) = watch::channel(Sight::default());
        Self { sight, every, newcomers: Newcomers::default(), missed: false }
    }

    fn is_deserted(&mut self) -> bool {
        let Newcomers { looked_for, later } = &mut self.newcomers;
        let waiting = looked_for.iter_mut().chain([later]);
        let anybody = waiting.fold(false, |anybody, replies| {
            replies.retain(|reply| !reply.is_dropped());
            anybody || !replies.is_empty()
        });
        !anybody && self.sight.receiver_count() == 0
    }

    fn welcome(&mut self) {
        for reply in self.newcomers.looked_for.take().into_iter().flatten() {
            reply.show(self.sight.subscribe());
        }
    }
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
            None => self.boards.entry(election.clone()).or_insert(Board::new(every)),
        };
        let faster = every < board.every;
        board.every = board.every.min(every);
        reply.show(board.sight.subscribe());
        (new || faster).then_some(every)
    }

    /// Somebody wants to see an election as it is now, not as others have seen it before. If the
    /// core must be told to look, as with [`observe`](Self::observe): what it sees next is what
    /// this observer is shown first.
    #[must_use]
    pub fn observe_afresh(
        &mut self,
        election: &ElectionName,
        every: Duration,
        reply: ObserveReply,
    ) -> Option<Duration> {
        let board = self.boards.entry(election.clone()).or_insert(Board::new(every));
        board.every = board.every.min(every);
        let Newcomers { looked_for, later } = &mut board.newcomers;
        if looked_for.is_some() {
            later.push(reply);
            return None;
        }
        *looked_for = Some(vec![reply]);
        Some(board.every)
    }

    /// If somebody came to see an election while the core was looking for others, so that it must
    /// be told to look again: how often to ask.
    #[must_use]
    pub fn look_again(&mut self, election: &ElectionName) -> Option<Duration> {
        let board = self.boards.get_mut(election)?;
        let Newcomers { looked_for, later } = &mut board.newcomers;
        let owed = looked_for.is_none() && !later.is_empty();
        if owed {
            *looked_for = Some(std::mem::take(later));
        }
        owed.then_some(board.every)
    }

    /// The core does not observe an election: its observers are told that nothing follows.
    pub fn close(&mut self, election: &ElectionName) {
        self.boards.remove(election);
    }

    /// An observer has left. Says whether it was the last, so that the core must be told to
    /// observe no longer.
    #[must_use]
    pub fn unobserve(&mut self, election: &ElectionName) -> bool {
        let alone = self.boards.get_mut(election).is_some_and(Board::is_deserted);
        if alone {
            self.boards.remove(election);
        }
        alone
    }

    /// The core may have missed anything since what it saw last: observers are told
    /// [`Change::Reset`](crate::Change::Reset) before what it sees next.
    pub fn missed(&mut self, election: &ElectionName) {
        if let Some(board) = self.boards.get_mut(election) {
            board.missed = true;
        }
    }

    /// The core sees something. That nothing has changed may be said too.
    pub fn see(&mut self, election: &ElectionName, view: View) {
        let Some(board) = self.boards.get_mut(election) else { return };
        let missed = std::mem::take(&mut board.missed);
        board.sight.send_if_modified(|sight| {
            let changed = missed || !sight.view.as_ref().is_some_and(|known| known.is_same(&view));
            // A gap is as if they had been too slow for a change in between.
            sight.change += u64::from(changed) + u64::from(missed);
            sight.view = Some(view);
            changed
        });
        board.welcome();
    }
}

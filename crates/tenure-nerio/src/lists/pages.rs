//! Pages of a list, as a member sends them.

use std::collections::BTreeMap;

use tenure_core::nerio::{
    CandidateHere, Candidates, ElectionHere, Elections, Holder, Inc, Message, Service, ToAsker,
    Which, Who,
};
use tenure_core::{ElectionName, Time};

pub(super) trait List: Clone + Send + Sync + 'static {
    /// The key of a part. A list is in the order of its keys.
    type Key: Ord + Clone + Send + Sync + 'static;
    type Part: Clone + Send + 'static;
    /// Part of each page that does not belong to the list's items.
    type Head: Send + 'static;
    /// Maximum number of parts taken from one member.
    const MAX: usize;

    /// Members of older versions are asked about this election instead; `None` for any election.
    fn election(&self) -> Option<&ElectionName>;

    fn question(&self, start: Time, after: Option<Self::Key>) -> Message;

    /// Reads `message` as a page; `None` if it does not answer this question of this asker.
    fn read(&self, message: Message, asker: Inc, start: Time) -> Option<Page<Self>>;
}

pub(super) struct Page<L: List> {
    /// Time of the question: no part is older.
    pub(super) asked: Time,
    pub(super) service: Service,
    pub(super) head: L::Head,
    pub(super) parts: BTreeMap<L::Key, L::Part>,
    /// The last key of this page, if more follow.
    pub(super) more_after: Option<L::Key>,
}

impl<L: List> Page<L> {
    /// Drops the parts up to `after`, which were not asked for. A page that says that more follows,
    /// but whose last key is not behind `after`, counts as the last page.
    pub(super) fn behind(mut self, after: Option<&L::Key>) -> Self {
        self.more_after = self.more_after.filter(|more| Some(more) > after);
        if let Some(after) = after {
            self.parts.retain(|key, _| key > after);
        }
        self
    }
}

#[derive(Clone)]
pub(super) struct ElectionList(pub(super) Which);

impl List for ElectionList {
    type Key = ElectionName;
    type Part = ElectionHere;
    type Head = ();
    const MAX: usize = super::super::survey::ELECTIONS_MAX;

    fn election(&self) -> Option<&ElectionName> {
        match &self.0 {
            Which::Beginning(name) | Which::Only(name) => Some(name),
            Which::All => None,
        }
    }

    fn question(&self, start: Time, after: Option<ElectionName>) -> Message {
        Message::from(Elections { start, which: self.0.clone(), after })
    }

    fn read(&self, message: Message, asker: Inc, start: Time) -> Option<Page<Self>> {
        let Message::Asker(ToAsker::ElectionsHere(here)) = message else { return None };
        if (here.asker, here.start) != (asker, start) {
            return None;
        }
        let parts = here.elections.into_iter().filter(|part| self.0.covers(&part.election));
        Some(Page {
            asked: start,
            service: here.service,
            head: (),
            parts: parts.map(|part| (part.election.clone(), part)).collect(),
            more_after: here.more_after,
        })
    }
}

/// Candidates that wait for an election; each page has the holder, too.
#[derive(Clone)]
pub(super) struct CandidateList(pub(super) ElectionName);

impl List for CandidateList {
    type Key = Who;
    type Part = CandidateHere;
    type Head = Option<Box<Holder>>;
    /// Far more candidates than a member keeps.
    const MAX: usize = 10_000;

    fn election(&self) -> Option<&ElectionName> {
        Some(&self.0)
    }

    fn question(&self, start: Time, after: Option<Who>) -> Message {
        Message::from(Candidates { election: self.0.clone(), start, after })
    }

    fn read(&self, message: Message, asker: Inc, start: Time) -> Option<Page<Self>> {
        let Message::Asker(ToAsker::CandidatesHere(here)) = message else { return None };
        if (here.asker, here.start, &here.election) != (asker, start, &self.0) {
            return None;
        }
        let last = here.waiting.iter().map(|part| &part.who).max().cloned();
        Some(Page {
            asked: start,
            service: here.service,
            head: here.holder,
            parts: here.waiting.into_iter().map(|part| (part.who.clone(), part)).collect(),
            more_after: last.filter(|_| here.more),
        })
    }
}

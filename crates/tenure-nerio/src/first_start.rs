//! Finds leaders that have led since before the start of a member that an operator declared new.
//!
//! The declaration ([`Opening::New`](tenure::state::Opening::New)) is wrong for a member whose
//! directory was lost. A leader shows the mistake: its first request to the member is a renewal.
//! But the other members of a new cluster may elect a leader before the last member starts. So a
//! renewal is no proof, and the member only warns.

use std::collections::BTreeSet;

use tenure_core::nerio::{Kept, Memory, Message, Sender, ToGrantor};
use tenure_core::{ElectionName, NodeName, Time};

use crate::notice::Notice;

/// Maximum number of candidates that are kept. With this number the member ignores further
/// requests.
const CANDIDATES_MAX: usize = 1_000;

#[derive(Debug)]
pub(crate) struct FirstStart {
    began: Time,
    /// Candidates that asked the member before they led. `None` for a member that was not declared
    /// new, and once the notice was given.
    candidates: Option<BTreeSet<(NodeName, ElectionName)>>,
}

impl FirstStart {
    /// The start at `began` on `memory`; `None` for a node that is no member.
    pub(crate) fn of(began: Time, memory: Option<&Memory>) -> Self {
        let is_first = memory.is_some_and(|memory| memory.kept == Kept::New);
        Self { began, candidates: is_first.then(BTreeSet::new) }
    }

    /// Takes a message, and returns a notice about the first leader that already led before the
    /// start. Such a leader renews its lease before a whole lease has passed since the start. A
    /// later renewal shows nothing: earlier requests of its candidate may have been lost.
    pub(crate) fn hears(&mut self, now: Time, from: &Sender, message: &Message) -> Option<Notice> {
        let Message::Grantor(ToGrantor::Request(request)) = message else { return None };
        let candidates = self.candidates.as_mut()?;
        if now.since(self.began) > request.lease || candidates.len() >= CANDIDATES_MAX {
            return None;
        }
        let candidate = (from.who.name.clone(), request.election.clone());
        if request.announced.is_some() && !candidates.contains(&candidate) {
            self.candidates = None;
            let (leader, election) = candidate;
            return Some(Notice::LedBefore { leader, election });
        }
        candidates.insert(candidate);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::Fence;
    use tenure_core::nerio::{EpochId, Inc, Instance, Request, Who};

    use super::*;

    const LEASE: Duration = Duration::from_secs(6);

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn start(kept: Kept) -> FirstStart {
        let memory = Memory { delta_max: LEASE, ..Memory::begin(Instance(1), kept) };
        FirstStart::of(at(0), Some(&memory))
    }

    fn hears(member: &mut FirstStart, seconds: u64, name: &str, leads: bool) -> Option<Notice> {
        let who = Who { name: name.parse().unwrap(), inc: Inc(1) };
        let address = ([127, 0, 0, 1], 1).into();
        let from = Sender { who, address, proved: false, epoch: EpochId::NONE };
        let request = Request {
            election: "x".parse().unwrap(),
            start: at(seconds),
            delta: LEASE,
            lease: LEASE,
            first: at(0),
            fence: Fence::new(1),
            announced: leads.then(|| Fence::new(1)),
            priority: 0,
            leading: leads,
            next: None,
            value: "".parse().unwrap(),
            wall: None,
        };
        member.hears(at(seconds), &from, &Message::from(request))
    }

    #[test]
    fn earlier_leader_is_reported_once() {
        let mut member = start(Kept::New);
        assert_eq!(hears(&mut member, 1, "two", false), None, "it waits");
        let leader = "one".parse().unwrap();
        let before = Notice::LedBefore { leader, election: "x".parse().unwrap() };
        assert_eq!(hears(&mut member, 2, "one", true), Some(before));
        assert_eq!(hears(&mut member, 3, "one", true), None);
    }

    #[test]
    fn later_leader_is_no_news() {
        let mut member = start(Kept::New);
        assert_eq!(hears(&mut member, 1, "one", false), None);
        assert_eq!(hears(&mut member, 2, "one", true), None, "this member may have elected it");
        assert_eq!(hears(&mut member, 7, "two", true), None, "it has not led for a lease");
        let mut lost = start(Kept::Nothing);
        assert_eq!(hears(&mut lost, 1, "one", true), None, "it asks the others itself");
        assert_eq!(hears(&mut FirstStart::of(at(0), None), 1, "one", true), None);
    }
}

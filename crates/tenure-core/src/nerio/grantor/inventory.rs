//! Elections and candidates for people and tools. The grantor makes each page from its present
//! state, so questions leave no state behind.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Bound;

use serde::Serialize;

use super::super::inventory::{
    CandidateHere, Candidates, CandidatesHere, ElectionHere, Elections, ElectionsHere, HolderHere,
};
use super::super::wire;
use super::super::words::Out;
use super::election::ElectionState;
use super::{Grantor, Sender, send};
use crate::name::ElectionName;
use crate::time::Time;

/// Maximum number of bytes of elections in a page, which with the longest names is at most four
/// times as long as its question.
pub(in crate::nerio) const ELECTIONS_BYTES: usize = 850;
/// Bytes of candidates in a page; the holder is in each page.
pub(in crate::nerio) const CANDIDATES_BYTES: usize = 600;
/// Maximum number of elections that a grantor examines for one question: many kept elections may
/// have neither a holder nor a waiting candidate.
const LOOKED_AT_MAX: usize = 128;

impl Grantor {
    /// Sends a page of the elections that candidates hold or wait for. A page may be empty and name
    /// the election after which to go on.
    pub(super) fn on_elections(&self, now: Time, from: &Sender, asked: &Elections, out: &mut Out) {
        let first = asked.which.first();
        let begin = match &asked.after {
            Some(after) if first.is_none_or(|first| first <= after) => Bound::Excluded(after),
            _ => first.map_or(Bound::Unbounded, Bound::Included),
        };
        let range = self.elections.range::<ElectionName, _>((begin, Bound::Unbounded));
        let mut covered = range.take_while(|(name, _)| asked.which.covers(name));
        let mut page = Page::new(ELECTIONS_BYTES);
        let (mut last, mut more_after) = (None, None);
        for (name, state) in covered.by_ref().take(LOOKED_AT_MAX) {
            if let Some(here) = self.describe(now, name, state)
                && !page.push(here)
            {
                more_after = last;
                break;
            }
            last = Some(name);
        }
        if more_after.is_none() && covered.next().is_some() {
            more_after = last;
        }
        let answer = ElectionsHere {
            asker: from.who.inc,
            start: asked.start,
            service: self.service(now),
            elections: page.parts,
            more_after: more_after.cloned(),
        };
        send(out, from, answer);
    }

    fn describe(
        &self,
        now: Time,
        election: &ElectionName,
        state: &ElectionState,
    ) -> Option<ElectionHere> {
        let grant = state.live(now);
        let waiting = state.waiters(now).filter(|parked| !parked.request.leading).count();
        if grant.is_none() && waiting == 0 {
            return None;
        }
        let told = grant.filter(|_| self.is_told(election));
        let holder = told.map(|grant| HolderHere {
            who: grant.record.holder.clone(),
            fence: grant.record.announced,
            remaining: grant.record.finish.since(now),
            leaving: grant.leaves_at.map(|leaves_at| leaves_at.since(now)),
        });
        let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
        Some(ElectionHere { election: election.clone(), holder, waiting })
    }

    /// Sends the holder of an election, and a page of its waiting candidates.
    pub(super) fn on_candidates(
        &self,
        now: Time,
        from: &Sender,
        asked: &Candidates,
        out: &mut Out,
    ) {
        let state = self.state(&asked.election);
        let told = state.filter(|_| self.is_told(&asked.election));
        let holder = told.and_then(|state| state.live(now)).map(|grant| Box::new(grant.rival(now)));
        let waiters = state.into_iter().flat_map(|state| state.waiters(now));
        let later = |one: &CandidateHere| asked.after.as_ref().is_none_or(|after| *after < one.who);
        let mut waiters: Vec<_> =
            waiters.map(|parked| parked.describe(now)).filter(later).collect();
        waiters.sort_unstable_by(|one, other| one.who.cmp(&other.who));
        let mut page = Page::new(CANDIDATES_BYTES);
        let more = !waiters.into_iter().all(|waiter| page.push(waiter));
        let answer = CandidatesHere {
            election: asked.election.clone(),
            asker: from.who.inc,
            start: asked.start,
            service: self.service(now),
            holder,
            waiting: page.parts,
            more,
        };
        send(out, from, answer);
    }
}

/// Parts up to a number of bytes.
struct Page<T> {
    parts: Vec<T>,
    room: usize,
}

impl<T: Serialize> Page<T> {
    const fn new(room: usize) -> Self {
        Self { parts: Vec::new(), room }
    }

    fn push(&mut self, part: T) -> bool {
        let Some(room) = self.room.checked_sub(wire::length(&part)) else { return false };
        self.room = room;
        self.parts.push(part);
        true
    }
}

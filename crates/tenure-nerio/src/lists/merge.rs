//! Merges the statements of all members.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::nerio::{Holder, HolderHere, LiveGrant, Membership, Who, leadership};
use tenure_core::{Drift, ElectionName, NodeName, Time};

use super::pages::{CandidateList, ElectionList, List, Page};
use super::panel::MemberPages;
use super::{CandidateSeen, ElectionSeen, Leads, Vote};

pub(super) struct Statement<T> {
    /// Position of the member in the membership.
    pub(super) member: usize,
    /// Time of the question on `CLOCK_BOOTTIME`: the statement is no older.
    pub(super) asked: Time,
    pub(super) said: T,
}

/// Statements about one part of a list: one from each member that answered, with `None` where that
/// member does not have the part.
type Statements<L> = Vec<Statement<Option<<L as List>::Part>>>;
pub(super) type ElectionStatements = Statements<ElectionList>;
pub(super) type CandidateStatements = Statements<CandidateList>;

/// Joins the pages of all members by the keys of their parts.
pub(super) fn join<L: List>(all: Vec<MemberPages<L>>) -> BTreeMap<L::Key, Statements<L>> {
    let pages = all.iter().flat_map(|one| &one.pages);
    let keys: BTreeSet<_> = pages.flat_map(|page| page.parts.keys().cloned()).collect();
    let mut joined: BTreeMap<_, Statements<L>> = BTreeMap::new();
    for MemberPages { member, pages, .. } in all {
        let Some(first) = pages.iter().map(|page| page.asked).min() else { continue };
        let mut parts = BTreeMap::new();
        for Page { asked, parts: more, .. } in pages {
            // Two patterns of an application's key may cover the same election. Keep its first
            // part.
            more.into_iter().for_each(|(key, part)| {
                parts.entry(key).or_insert((asked, part));
            });
        }
        for key in &keys {
            let known = parts.remove(key);
            let asked = known.as_ref().map_or(first, |(asked, _)| *asked);
            let said = known.map(|(_, part)| part);
            joined.entry(key.clone()).or_default().push(Statement { member, asked, said });
        }
    }
    joined
}

pub(super) fn first<L: List>(all: &[MemberPages<L>]) -> Option<Time> {
    all.iter().flat_map(|one| &one.pages).map(|page| page.asked).min()
}

struct HolderStatement<'a> {
    member: usize,
    holder: &'a HolderHere,
    until: Time,
    leaving: Option<Time>,
}

pub(super) struct Merge<'a> {
    pub(super) membership: &'a Membership,
    pub(super) drift: Drift,
    pub(super) at: Time,
}

impl Merge<'_> {
    pub(super) fn election(
        &self,
        election: ElectionName,
        words: &ElectionStatements,
    ) -> ElectionSeen {
        let said = words.iter().filter_map(|word| {
            let holder = word.said.as_ref()?.holder.as_ref()?;
            Some(self.word(word.member, word.asked, holder))
        });
        let held: Vec<_> = said.collect();
        let waiting = words.iter().filter_map(|word| Some(word.said.as_ref()?.waiting));
        ElectionSeen {
            election,
            leader: self.leader(&held),
            granted: held.iter().filter_map(|word| self.vote(word)).collect(),
            waiting: waiting.max().unwrap_or(0),
            asked: words.iter().map(|word| word.asked).min().unwrap_or(self.at),
        }
    }

    /// Each incarnation once, with the statements of all members about it.
    pub(super) fn candidates(
        &self,
        holders: &[Statement<Option<Box<Holder>>>],
        waiting: &BTreeMap<Who, CandidateStatements>,
    ) -> (Option<Leads>, Vec<CandidateSeen>) {
        let held = holders.iter().filter_map(|told| Some((told, told.said.as_deref()?)));
        let held: Vec<_> =
            held.map(|(told, holder)| (told, holder.priority, here(holder))).collect();
        let words = held.iter().map(|(told, _, holder)| self.word(told.member, told.asked, holder));
        let words: Vec<_> = words.collect();
        let leader = self.leader(&words);
        let mut seen: BTreeMap<&Who, CandidateSeen> = BTreeMap::new();
        for (word, (_, priority, _)) in words.iter().zip(&held) {
            let Some(name) = self.name(word.member) else { continue };
            let one = entry(&word.holder.who, *priority, &mut seen);
            if self.at < word.until { &mut one.granted } else { &mut one.ended }.push(name);
        }
        for told in waiting.values().flatten() {
            let (Some(waits), Some(name)) = (&told.said, self.name(told.member)) else { continue };
            let one = entry(&waits.who, waits.priority, &mut seen);
            one.waits_at.push(name);
            one.waited = one.waited.max(Some(self.at_least(waits.waited)));
        }
        let mut all: Vec<_> = seen.into_values().collect();
        let leads = |one: &CandidateSeen| leader.as_ref().is_some_and(|it| it.who == one.who);
        all.sort_by_key(|one| Reverse((leads(one), one.granted.len(), one.waited)));
        (leader, all)
    }

    fn word<'a>(&self, member: usize, asked: Time, holder: &'a HolderHere) -> HolderStatement<'a> {
        let until = asked.after(self.at_least(holder.remaining));
        let leaving = holder.leaving.map(|span| asked.after(self.at_least(span)));
        HolderStatement { member, holder, until, leaving }
    }

    /// The leader that a quorum of live grants names, by the rule of observers. The members were
    /// asked at different times, so this function makes two more checks.
    fn leader(&self, words: &[HolderStatement<'_>]) -> Option<Leads> {
        let live = words.iter().filter(|word| self.at < word.until).map(HolderStatement::grant);
        let (who, fence, until) = leadership(live, self.membership.quorums())?;
        // A later leader has led since these grants.
        if words.iter().any(|word| word.holder.fence > Some(fence)) {
            return None;
        }
        let alike = words.iter().filter(|word| word.grant().is_of(who, fence));
        let leaving = alike.filter_map(|word| word.leaving).max();
        // Another leader may have followed since the release.
        if leaving.is_some_and(|leaving| leaving <= self.at) {
            return None;
        }
        Some(Leads { who: who.clone(), fence, until, leaving })
    }

    fn vote(&self, word: &HolderStatement<'_>) -> Option<Vote> {
        let member = self.name(word.member)?;
        Some(Vote { member, holder: word.holder.clone(), until: word.until })
    }

    fn name(&self, member: usize) -> Option<NodeName> {
        self.membership.names().get(member).cloned()
    }

    /// The shortest time on this clock that a span of another clock may take.
    fn at_least(&self, span: Duration) -> Duration {
        self.drift.shrink(self.drift.real_at_least(span))
    }
}

impl HolderStatement<'_> {
    const fn grant(&self) -> LiveGrant<'_> {
        let HolderHere { who, fence, .. } = self.holder;
        LiveGrant { member: self.member, until: self.until, who, fence: *fence }
    }
}

fn here(holder: &Holder) -> HolderHere {
    HolderHere {
        who: holder.who.clone(),
        fence: holder.fence,
        remaining: holder.remaining,
        leaving: holder.leaving,
    }
}

fn entry<'a, 'b>(
    who: &'a Who,
    priority: u8,
    all: &'b mut BTreeMap<&'a Who, CandidateSeen>,
) -> &'b mut CandidateSeen {
    all.entry(who).or_insert_with(|| CandidateSeen {
        who: who.clone(),
        priority,
        granted: Vec::new(),
        ended: Vec::new(),
        waits_at: Vec::new(),
        waited: None,
    })
}

#[cfg(test)]
mod tests;

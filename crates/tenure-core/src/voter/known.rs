//! Known voters and seeds, for discovery and display. No decision depends on them (V1).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::electorate::{Electorate, ElectorateId, Fingerprint, MEMBERS_MAX, Member};
use super::free::FreeSpan;
use super::identity::{Participant, VoterUrl};
use super::message::{Condition, Header, Role, SEEDS_MAX, VoterDto};
use crate::name::NodeName;
use crate::time::Time;

/// The maximum number of ended runs that are remembered for one voter.
const RUNS_MAX: usize = 4;

/// Another voter, as it describes itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Neighbour {
    pub(super) header: Header,
    pub(super) role: Role,
    /// `lastHeartBeat`: the last time at which a message of the neighbour arrived.
    pub(super) heard: Time,
    pub(super) seq: u64,
    /// The later of two times: of the neighbour's last request, and of its last return on line.
    pub(super) uncalled: Time,
    pub(super) misses: u32,
    /// The last time at which another voter reported that the neighbour does not answer.
    pub(super) doubted: Option<Time>,
    pub(super) dropped: Option<Time>,
    /// Whether this run has answered a request.
    pub(super) answers: bool,
    /// The time of the last message with the neighbour's id and another identity.
    pub(super) mixed: Option<Time>,
    /// Obstacles to the neighbour's vote, as the neighbour reports them.
    pub(super) condition: Condition,
    /// The last span in which the neighbour was free to endorse a candidate and had no later
    /// electorate.
    pub(super) free: Option<FreeSpan>,
    /// Ended runs of the neighbour, each with the number of its last heartbeat.
    over: Vec<(u128, u64)>,
}

/// The sender of a message, compared with the known voters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meeting {
    Known,
    New,
    Full,
    /// A run that counts as ended: two processes have the id (V10).
    Twice,
}

/// All other voters that this voter has heard of, and the seeds.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct KnownVoters {
    voters: BTreeMap<NodeName, Neighbour>,
    /// The addresses of seeds, each with the voter that has answered there.
    seeds: BTreeMap<VoterUrl, Option<NodeName>>,
}

impl KnownVoters {
    /// Replaces the addresses of seeds. Voters that answered at earlier addresses stay known.
    pub(super) fn seek(&mut self, seeds: impl Iterator<Item = VoterUrl>) {
        let before = core::mem::take(&mut self.seeds);
        let found = |url: &VoterUrl| before.get(url).cloned().flatten();
        self.seeds = seeds.take(SEEDS_MAX).map(|url| (url.clone(), found(&url))).collect();
    }

    pub(super) fn find(&mut self, url: &VoterUrl, voter: &NodeName) {
        if let Some(found) = self.seeds.get_mut(url) {
            *found = Some(voter.clone());
        }
    }

    /// The open seeds: addresses at which neither this voter itself nor another voter with recent
    /// answers was found.
    ///
    /// Several voters may share an address that is no voter's URL, and each request may reach
    /// another of these voters. Such a seed stays open until this voter is `settled`. This voter's
    /// own URL stays open while this voter knows no other voter: by mistake another voter may have
    /// the same URL. The result says whether a voter has answered at the seed.
    pub(super) fn open_seeds(
        &self,
        (me, own): (&NodeName, &VoterUrl),
        settled: bool,
    ) -> impl Iterator<Item = (&VoterUrl, bool)> {
        let answers = move |id: &NodeName| id == me || !self.is_unknown(id);
        let at = move |url: &VoterUrl| self.shown().any(|known| known.url() == url);
        let alone = self.shown().next().is_none();
        let is_own = move |url: &VoterUrl| url == own && !alone;
        let seeds = self.seeds.iter();
        let seeds = seeds.map(move |(url, found)| (url, found.as_ref().is_some_and(answers)));
        seeds.filter(move |(url, is_found)| !at(url) && !(*is_found && (settled || is_own(url))))
    }

    /// Notes a message of a voter, and compares its run and identity with the known ones.
    pub(super) fn meet(&mut self, header: &Header, now: Time, room: usize) -> Meeting {
        let (id, full) = (&header.sender.id, self.voters.len() >= room);
        let Some(known) = self.voters.get_mut(id) else {
            if full {
                return Meeting::Full;
            }
            self.voters.insert(id.clone(), Neighbour::new(header.clone(), now));
            return Meeting::New;
        };
        let (before, run) = (known.header.sender.clone(), &header.sender);
        if before != *run {
            if before.identity != run.identity {
                known.mixed = Some(now);
            }
            if known.over.iter().any(|(over, _)| *over == run.incarnation) {
                return Meeting::Twice;
            }
            let mut over = core::mem::take(&mut known.over);
            over.truncate(RUNS_MAX - 1);
            over.insert(0, (before.incarnation, known.seq));
            let (misses, mixed) = (known.misses, known.mixed);
            *known = Neighbour { over, misses, mixed, ..Neighbour::new(header.clone(), now) };
            return Meeting::Known;
        }
        known.header = header.clone();
        known.heard = now;
        Meeting::Known
    }

    /// Restores a run that counted as ended and has answered. The run that replaced it was known
    /// only from a late message, or belongs to another pod.
    pub(super) fn take_back(&mut self, header: &Header, now: Time) {
        let run = header.sender.incarnation;
        let Some(known) = self.voters.get_mut(&header.sender.id) else { return };
        let Some(place) = known.over.iter().position(|(over, _)| *over == run) else { return };
        let (_, seq) = known.over.remove(place);
        self.meet(header, now, 0);
        if let Some(known) = self.voters.get_mut(&header.sender.id) {
            (known.seq, known.misses, known.doubted, known.answers) = (seq, 0, None, true);
        }
    }

    pub(super) fn get(&self, id: &NodeName) -> Option<&Neighbour> {
        self.voters.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &NodeName) -> Option<&mut Neighbour> {
        self.voters.get_mut(id)
    }

    /// All voters, dropped ones included.
    pub(super) fn all(&self) -> impl Iterator<Item = &Neighbour> {
        self.voters.values()
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = &Neighbour> {
        self.voters.values().filter(|known| known.dropped.is_none())
    }

    pub(super) fn is_unknown(&self, id: &NodeName) -> bool {
        self.voters.get(id).is_none_or(|known| known.dropped.is_some())
    }

    /// Notes that another voter does not reach the voter `id`. Returns whether `id` is known.
    pub(super) fn doubt(&mut self, id: &NodeName, now: Time) -> bool {
        let known = self.voters.get_mut(id);
        known.map(|known| known.doubted = Some(now)).is_some()
    }

    /// Drops a voter that does not answer, if another voter has recently not reached it either.
    /// Returns whether the voter was dropped.
    pub(super) fn drop_if_lost(
        &mut self,
        id: &NodeName,
        tolerance: u32,
        now: Time,
        lately: Duration,
    ) -> bool {
        let known = self.voters.get_mut(id).filter(|known| known.dropped.is_none());
        let lost = known.filter(|known| {
            let doubted = known.doubted.is_some_and(|at| now.since(at) <= lately);
            !known.is_on_line(tolerance) && doubted
        });
        lost.map(|lost| lost.dropped = Some(now)).is_some()
    }

    pub(super) fn answer(&mut self, id: &NodeName, tolerance: u32, now: Time) {
        if let Some(known) = self.voters.get_mut(id) {
            if !known.is_on_line(tolerance) {
                known.uncalled = now;
            }
            (known.misses, known.doubted, known.answers) = (0, None, true);
        }
    }

    pub(super) fn miss(&mut self, id: &NodeName) {
        if let Some(known) = self.voters.get_mut(id) {
            known.misses = known.misses.saturating_add(1);
        }
    }

    /// The electorate of a ballot in mode `available`: this voter, and each known voter that has
    /// answered.
    pub(super) fn region(&self, answered: &BTreeSet<NodeName>, me: &Participant) -> Electorate {
        let known = answered.iter().filter_map(|id| self.get(id));
        let all = known.map(Neighbour::who).chain([me]);
        let mut members: Vec<_> = all.map(Member::of).collect();
        members.sort();
        members.truncate(MEMBERS_MAX);
        let id = ElectorateId { counter: 0, change: 0 };
        Electorate { id, founding: Fingerprint::NONE, members }
    }

    pub(super) fn forget(&mut self, now: Time, after: Duration, keeps: impl Fn(&NodeName) -> bool) {
        let over = |since: Time| now.since(since) >= after;
        self.voters.retain(|id, known| keeps(id) || !known.dropped.is_some_and(over));
    }
}

impl Neighbour {
    const fn new(header: Header, now: Time) -> Self {
        Self {
            header,
            role: Role::None,
            heard: now,
            seq: 0,
            uncalled: now,
            misses: 0,
            doubted: None,
            dropped: None,
            answers: false,
            mixed: None,
            condition: Condition { failing: false, first: None },
            free: None,
            over: Vec::new(),
        }
    }

    pub(super) const fn who(&self) -> &Participant {
        &self.header.sender
    }

    pub(super) const fn url(&self) -> &VoterUrl {
        &self.header.url
    }

    /// Whether the neighbour has missed no more than `tolerance` requests in a row.
    pub(super) const fn is_on_line(&self, tolerance: u32) -> bool {
        self.misses <= tolerance
    }

    /// Whether the neighbour has sent a request within `silence`. A neighbour that is on line again
    /// counts as sending at first: its heartbeats may be late.
    pub(super) fn calls(&self, now: Time, silence: Duration) -> bool {
        now.since(self.uncalled) <= silence
    }

    pub(super) const fn is_there(&self) -> bool {
        self.answers && self.misses == 0 && self.dropped.is_none()
    }

    pub(super) fn is_founded(&self) -> bool {
        self.header.founding.is_some_and(|(_, founded)| founded)
    }

    pub(super) fn dto(&self, tolerance: u32) -> VoterDto {
        VoterDto {
            voter_id: self.who().id.clone(),
            voter_url: self.url().clone(),
            role: self.role,
            on_line: self.is_on_line(tolerance),
        }
    }
}

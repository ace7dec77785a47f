//! The coordinator of a group: sessions, and the assignment of partitions.
//!
//! The coordinator rebalances like Kafka's groups, in two ways. In the newer way each member has a
//! target, gives back surplus partitions, and gets each missing partition of its target once no
//! other member has this partition. In the classic way all members rejoin whenever a member comes,
//! goes or has given partitions back. All members wait until each has joined, or R
//! (`max_poll_interval`) is over. A member that keeps a partition notices nothing in either way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::Time;

use super::frame::{Frame, Member, Place};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Coordinator {
    terms: Terms,
    members: BTreeMap<Place, Seat>,
    /// A partition that two members got by mistake, until each has reported fewer partitions.
    doubled: Option<u32>,
    /// Number of the rebalance, and the end of its wait for missing members (classic).
    generation: u64,
    waits: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seat {
    member: Member,
    /// End of the member's session.
    until: Time,
    /// Partitions of the member's share.
    target: BTreeSet<u32>,
    /// Partitions that the coordinator gave to the member, or that the member reported.
    has: BTreeSet<u32>,
    /// Time by which the member must have given back surplus partitions.
    gives: Option<Time>,
    /// The rebalance that the member has joined (classic).
    joined: u64,
}

/// Settings of a coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Terms {
    /// S (`session_timeout`).
    pub session: Duration,
    /// R (`max_poll_interval`).
    pub rebalance: Duration,
    /// M, the number of partitions.
    pub partitions: u32,
    /// Whether all members answer a rebalance before any continues.
    pub classic: bool,
}

/// Messages to members.
pub type Letters = Vec<(Place, Frame)>;

impl Coordinator {
    pub fn new(terms: Terms) -> Self {
        Self { terms, members: BTreeMap::new(), doubled: None, generation: 0, waits: None }
    }

    /// Adds a member, in place of an earlier member of this client, as with a static id.
    pub fn join(&mut self, place: Place, member: Member, now: Time, out: &mut Letters) {
        let until = now.after(self.terms.session);
        let (target, has) = match self.members.remove(&place) {
            Some(before) => (before.target, BTreeSet::new()),
            None => Default::default(),
        };
        let seat = Seat { member, until, target, has, gives: None, joined: 0 };
        self.members.insert(place, seat);
        self.changed(now);
        self.answer(place, now, out);
    }

    pub fn leave(&mut self, place: Place, member: Member, now: Time) {
        if self.members.get(&place).is_some_and(|seat| seat.member == member) {
            self.members.remove(&place);
            self.changed(now);
        }
    }

    /// Handles a heartbeat of a member with these partitions. Answers with the member's assignment,
    /// or that the coordinator does not know the member.
    pub fn beat(
        &mut self,
        place: Place,
        member: Member,
        has: &[u32],
        now: Time,
        out: &mut Letters,
    ) {
        let until = now.after(self.terms.session);
        match self.members.get_mut(&place).filter(|seat| seat.member == member) {
            Some(seat) => {
                let has: BTreeSet<u32> = has.iter().copied().collect();
                let given = |one: &u32| !has.contains(one) && !seat.target.contains(one);
                let gave = self.terms.classic && seat.has.iter().any(given);
                seat.until = until;
                seat.has = has;
                // The member has given partitions back, and the next rebalance gives them to
                // others.
                if gave && self.waits.is_none() {
                    self.changed(now);
                }
                self.answer(place, now, out);
            }
            None => out.push((place, Frame::Unknown(member))),
        }
    }

    /// Handles a member's rejoin with these partitions.
    pub fn joins(
        &mut self,
        place: Place,
        member: Member,
        generation: u64,
        has: &[u32],
        now: Time,
        out: &mut Letters,
    ) {
        let until = now.after(self.terms.session);
        match self.members.get_mut(&place).filter(|seat| seat.member == member) {
            Some(seat) => {
                seat.has = has.iter().copied().collect();
                seat.until = until;
                seat.joined = generation;
            }
            None => return out.push((place, Frame::Unknown(member))),
        }
        if self.members.values().all(|seat| seat.joined == self.generation) {
            self.complete(now, out);
        }
    }

    /// Ends the rebalance when all members have joined.
    fn complete(&mut self, now: Time, out: &mut Letters) {
        if self.waits.take().is_some() {
            self.assign();
            let places: Vec<Place> = self.members.keys().copied().collect();
            places.into_iter().for_each(|place| self.answer(place, now, out));
        }
    }

    /// Begins a rebalance, because a member has come or gone.
    fn changed(&mut self, now: Time) {
        if self.terms.classic {
            self.generation += 1;
            self.waits = Some(now.after(self.terms.rebalance));
        } else {
            self.assign();
        }
    }

    /// Answers with the assignment of a member, or asks the member to rejoin.
    fn answer(&mut self, place: Place, now: Time, out: &mut Letters) {
        let generation = self.generation;
        let doubled = self.doubled;
        let others: BTreeSet<u32> = {
            let others = self.members.iter().filter(|(other, _)| **other != place);
            let taken = others.flat_map(|(_, seat)| &seat.has).copied();
            taken.filter(|partition| doubled != Some(*partition)).collect()
        };
        let Some(seat) = self.members.get_mut(&place) else { return };
        if self.waits.is_some() {
            return out.push((place, Frame::Rebalance(seat.member, generation)));
        }
        let wanted =
            |partition: &u32| seat.target.contains(partition) || doubled == Some(*partition);
        let may: BTreeSet<u32> = (0..self.terms.partitions)
            .filter(|partition| wanted(partition) && !others.contains(partition))
            .collect();
        let beyond = seat.has.iter().any(|partition| !may.contains(partition));
        seat.gives = beyond.then(|| seat.gives.unwrap_or(now.after(self.terms.rebalance)));
        seat.has.extend(&may);
        let member = seat.member;
        out.push((place, Frame::Assignment(member, may.into_iter().collect())));
    }

    /// Removes members whose session is over, or that did not give back or join in time.
    pub fn work(&mut self, now: Time, out: &mut Letters) {
        let before = self.members.len();
        let generation = self.generation;
        let late = self.waits.is_some_and(|waits| waits <= now);
        self.members.retain(|_, seat| {
            let gives = self.terms.classic || seat.gives.is_none_or(|gives| gives > now);
            seat.until > now && gives && (!late || seat.joined == generation)
        });
        if late {
            self.complete(now, out);
        } else if self.members.len() != before {
            self.changed(now);
        }
    }

    /// The time of the next task.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let gives = |seat: &Seat| seat.gives.filter(|_| !self.terms.classic);
        let dues = self.members.values().flat_map(|seat| [Some(seat.until), gives(seat)]);
        dues.chain([self.waits]).flatten().min()
    }

    /// Makes another coordinator take over: sessions begin again.
    pub fn fail_over(&mut self, now: Time) {
        for seat in self.members.values_mut() {
            seat.until = now.after(self.terms.session);
        }
    }

    /// Declares a member dead; the member learns this with its next heartbeat.
    pub fn evict(&mut self, which: usize, now: Time) {
        let place = self.members.keys().nth(which % self.members.len().max(1)).copied();
        if let Some(place) = place {
            self.members.remove(&place);
            self.changed(now);
        }
    }

    /// Gives a partition to all members that ask; with `None`, to a single member again.
    pub fn double(&mut self, partition: Option<u32>) {
        self.doubled = partition;
    }

    /// Assigns the partitions evenly, with as few moves as possible.
    fn assign(&mut self) {
        let count = self.members.len();
        if count == 0 {
            return;
        }
        let all = usize::try_from(self.terms.partitions).unwrap_or(0);
        let most = all.div_ceil(count);
        let mut free: BTreeSet<u32> = (0..self.terms.partitions).collect();
        for seat in self.members.values_mut() {
            while seat.target.len() > most {
                seat.target.pop_last();
            }
            seat.target.retain(|partition| free.remove(partition));
        }
        for partition in free {
            let least = self.members.values_mut().min_by_key(|seat| seat.target.len());
            if let Some(seat) = least {
                seat.target.insert(partition);
            }
        }
        // Move from the largest shares to the smallest.
        loop {
            let lens = self.members.values().map(|seat| seat.target.len());
            let low = lens.clone().min().unwrap_or(0);
            let high = lens.max().unwrap_or(0);
            if high <= low + 1 {
                return;
            }
            let rich = self.members.values_mut().find(|seat| seat.target.len() == high);
            let Some(moved) = rich.and_then(|seat| seat.target.pop_last()) else { return };
            if let Some(poor) = self.members.values_mut().find(|seat| seat.target.len() == low) {
                poor.target.insert(moved);
            }
        }
    }
}

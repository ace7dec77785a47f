//! A ballot (its votes, its results, its winner), and the memory of earlier ballots (V3, V4, V5).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::config::Config;
use super::electorate::Electorate;
use super::identity::{Ballot, Leadership, Participant};
use super::message::{ElectionDto, PromiseDto, Refusal, VoteDto};
use crate::name::NodeName;
use crate::time::Time;

/// The ballots of one voter: the current one, and the memory of earlier ones.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Ballots {
    pub(super) round: Option<Round>,
    pub(super) last: Option<ElectionDto>,
    joined: Option<Ballot>,
    /// The highest counter that voters have named.
    highest: u64,
    /// Whether this voter has reported that no counter is left.
    used_up: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Cast {
    pub(super) who: Participant,
    pub(super) vote: Option<i64>,
    /// L, the lease that the voter would ask for as the winner.
    pub(super) lease: Duration,
}

/// The ballot in which this voter takes part. Times are on this voter's clock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Round {
    pub(super) ballot: Ballot,
    pub(super) electorate: Electorate,
    /// A time just before this voter's vote was sent.
    pub(super) cast: Time,
    /// The time at which this voter counts the votes, even if some are missing.
    counts: Time,
    pub(super) ends: Time,
    pub(super) votes: BTreeMap<NodeName, Cast>,
    /// Voters that this voter's vote did not reach.
    pub(super) silent: BTreeSet<NodeName>,
    /// The result of each voter, this voter among them.
    pub(super) results: BTreeMap<NodeName, (Participant, ElectionDto)>,
    pub(super) counted: bool,
}

/// The winner by the received votes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Nobody,
    /// At least two voters share the highest vote.
    Tie,
    Winner(Cast),
}

/// The comparison of a message with an earlier message of the same voter in this ballot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    New,
    /// The message is a repetition, or is not needed any more.
    Known,
    Contradiction,
}

impl Ballots {
    /// Notes a counter in a message: this voter's next ballot takes a higher counter.
    pub(super) fn hear_counter(&mut self, counter: u64) {
        self.highest = self.highest.max(counter.min(Ballot::COUNTER_MAX));
    }

    /// The counter of a new ballot: above all counters that were named, joined or endorsed.
    pub(super) fn next_counter(&self, endorsed: u64) -> u64 {
        let joined = self.joined.as_ref().map_or(0, |joined| joined.counter);
        endorsed.max(joined).max(self.highest) + 1
    }

    /// Notes that no counter is left. Returns `true` the first time.
    pub(super) fn use_up(&mut self) -> bool {
        !core::mem::replace(&mut self.used_up, true)
    }

    pub(super) fn has_joined(&self, ballot: &Ballot) -> bool {
        self.joined.as_ref().is_some_and(|joined| joined >= ballot)
    }

    pub(super) fn join(&mut self, ballot: &Ballot) {
        self.joined = self.joined.take().max(Some(ballot.clone()));
        self.hear_counter(ballot.counter);
    }

    pub(super) fn own_vote(&self, me: &NodeName) -> Option<VoteDto> {
        let round = self.round.as_ref()?;
        let own = round.votes.get(me)?;
        Some(VoteDto {
            voter_id: me.clone(),
            vote: own.vote,
            ballot: round.ballot.clone(),
            lease: own.lease,
            electorate: round.electorate.clone(),
        })
    }

    pub(super) fn of(&mut self, ballot: &Ballot) -> Option<&mut Round> {
        self.round.as_mut().filter(|round| round.ballot == *ballot)
    }
}

impl Round {
    pub(super) fn begin(
        ballot: Ballot,
        electorate: Electorate,
        own: Cast,
        now: Time,
        config: &Config,
    ) -> Self {
        let counts = now.after(config.cast_timeout);
        Self {
            ballot,
            electorate,
            cast: now,
            counts,
            ends: counts.after(config.result_timeout),
            votes: BTreeMap::from([(own.who.id.clone(), own)]),
            silent: BTreeSet::new(),
            results: BTreeMap::new(),
            counted: false,
        }
    }

    pub(super) const fn due(&self) -> Time {
        if self.counted { self.ends } else { self.counts }
    }

    /// Adds the vote of a member. A counted vote does not change.
    pub(super) fn add_vote(&mut self, by: &Participant, vote: &VoteDto) -> Result<Entry, Refusal> {
        self.must_have(by)?;
        // All messages of a ballot have the same electorate, unless two runs of its initiator
        // differ.
        if self.electorate != vote.electorate {
            return Err(Refusal::Malformed("the electorate differs from that of this ballot"));
        }
        let cast = Cast { who: by.clone(), vote: vote.vote, lease: vote.lease };
        Ok(match self.votes.get(&by.id) {
            Some(known) if *known == cast => Entry::Known,
            Some(_) => Entry::Contradiction,
            None if self.counted => Entry::Known,
            None => {
                self.votes.insert(by.id.clone(), cast);
                Entry::New
            }
        })
    }

    pub(super) fn add_result(
        &mut self,
        by: &Participant,
        result: ElectionDto,
    ) -> Result<Entry, Refusal> {
        self.must_have(by)?;
        Ok(match self.results.get(&by.id) {
            Some((_, known)) if *known == result => Entry::Known,
            Some(_) => Entry::Contradiction,
            None => {
                self.results.insert(by.id.clone(), (by.clone(), result));
                Entry::New
            }
        })
    }

    fn must_have(&self, who: &Participant) -> Result<(), Refusal> {
        if self.electorate.has(who) {
            Ok(())
        } else {
            Err(Refusal::NotAMember { who: who.id.clone() })
        }
    }

    /// Whether no more votes can come: each member has voted, or this voter's vote did not reach
    /// the member.
    pub(super) fn is_complete(&self) -> bool {
        let mut members = self.electorate.members.iter();
        members
            .all(|member| self.votes.contains_key(&member.id) || self.silent.contains(&member.id))
    }

    /// Finds the highest vote. `Voter::count` draws again after a tie.
    pub(super) fn outcome(&self) -> Outcome {
        let numbers = || self.votes.values().filter(|cast| cast.vote.is_some());
        let Some(highest) = numbers().max_by_key(|cast| cast.vote) else { return Outcome::Nobody };
        match numbers().filter(|cast| cast.vote == highest.vote).count() {
            1 => Outcome::Winner(highest.clone()),
            _ => Outcome::Tie,
        }
    }

    pub(super) fn result(
        &self,
        me: &Participant,
        winner: &Participant,
        promise: PromiseDto,
    ) -> ElectionDto {
        ElectionDto {
            ballot: self.ballot.clone(),
            certified: false,
            votes: self.counted_votes(),
            new_leader: winner.clone(),
            promise: Some(promise),
            endorsed_by: [me.clone()].into(),
        }
    }

    /// The certificate of this winner: the votes, and the voters whose results name the winner.
    pub(super) fn certificate(&self, winner: &Participant) -> ElectionDto {
        ElectionDto {
            ballot: self.ballot.clone(),
            certified: true,
            votes: self.counted_votes(),
            new_leader: winner.clone(),
            promise: None,
            endorsed_by: self.endorsed(winner).map(|(by, _)| by.clone()).collect(),
        }
    }

    pub(super) fn counted_votes(&self) -> Vec<(NodeName, Option<i64>)> {
        self.votes.iter().map(|(id, cast)| (id.clone(), cast.vote)).collect()
    }

    /// The leadership of this participant, if it wins.
    pub(super) fn leadership(&self, leader: &Participant) -> Leadership {
        Leadership { leader: leader.clone(), ballot: self.ballot.clone() }
    }

    pub(super) fn endorsed(
        &self,
        who: &Participant,
    ) -> impl Iterator<Item = (&Participant, PromiseDto)> {
        let named = self.results.values().filter(move |(_, result)| result.new_leader == *who);
        named.filter_map(|(by, result)| Some((by, result.promise?)))
    }

    /// Whether all voters that have cast a vote name this participant as the winner.
    pub(super) fn all_name(&self, who: &Participant) -> bool {
        let names = |id: &NodeName| {
            self.results.get(id).is_some_and(|(_, result)| result.new_leader == *who)
        };
        self.counted && self.votes.keys().all(names)
    }
}

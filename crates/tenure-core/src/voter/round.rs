//! One ballot: the numbers, the results, and who has won (V3, V4, V5).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::electorate::Electorate;
use super::identity::{Ballot, Leadership, Participant};
use super::message::{ElectionDto, PromiseDto};
use crate::name::NodeName;
use crate::time::Time;

/// A number that was cast.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Cast {
    pub(super) who: Participant,
    pub(super) vote: Option<i64>,
    /// L, as its voter would ask for it.
    pub(super) lease: Duration,
}

/// The ballot that a voter takes part in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Round {
    pub(super) ballot: Ballot,
    pub(super) electorate: Electorate,
    /// Before the own cast was sent.
    pub(super) cast: Time,
    /// Then those are counted that are there.
    pub(super) counts: Time,
    /// Then it is over.
    pub(super) ends: Time,
    pub(super) votes: BTreeMap<NodeName, Cast>,
    /// Those that the own cast did not reach.
    pub(super) silent: BTreeSet<NodeName>,
    /// Each voter's result, the own among them.
    pub(super) results: BTreeMap<NodeName, (Participant, ElectionDto)>,
    /// Whether this voter has counted.
    pub(super) counted: bool,
}

/// What the numbers say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// Nobody wants to lead.
    Nobody,
    /// Two or more have the highest.
    Tie,
    /// This one has it.
    Winner(Cast),
}

impl Round {
    /// Whether nothing more is to be expected: each member's number is there, or it did not hear.
    pub(super) fn is_complete(&self) -> bool {
        let mut members = self.electorate.members.iter();
        members
            .all(|member| self.votes.contains_key(&member.id) || self.silent.contains(&member.id))
    }

    /// Who has the highest number.
    pub(super) fn outcome(&self) -> Outcome {
        let numbers = || self.votes.values().filter(|cast| cast.vote.is_some());
        let Some(highest) = numbers().max_by_key(|cast| cast.vote) else { return Outcome::Nobody };
        match numbers().filter(|cast| cast.vote == highest.vote).count() {
            1 => Outcome::Winner(highest.clone()),
            _ => Outcome::Tie,
        }
    }

    /// The votes as they were counted.
    pub(super) fn counted_votes(&self) -> Vec<(NodeName, Option<i64>)> {
        self.votes.iter().map(|(id, cast)| (id.clone(), cast.vote)).collect()
    }

    /// The leadership of this one, if it wins.
    pub(super) fn leadership(&self, leader: &Participant) -> Leadership {
        Leadership { leader: leader.clone(), ballot: self.ballot.clone() }
    }

    /// The results that name this one, and what they promise.
    pub(super) fn endorsed(
        &self,
        who: &Participant,
    ) -> impl Iterator<Item = (&Participant, PromiseDto)> {
        let named = self.results.values().filter(move |(_, result)| result.new_leader == *who);
        named.filter_map(|(by, result)| Some((by, result.promise?)))
    }
}

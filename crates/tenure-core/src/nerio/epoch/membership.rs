//! The membership of an epoch.

use alloc::vec::Vec;

use super::super::quorum::{MemberSet, Quorums};
use super::super::words::To;
use super::EpochId;
use crate::name::NodeName;

/// The members of one epoch and their quorum system. Grantors, candidates and observers count
/// members by positions in this list; a [`MemberSet`] holds such positions.
///
/// A membership is apart from the settings of a node ([`Config`](super::super::Config)) because
/// section 10.6 replaces it while the node runs. Today every node stays in epoch 0, the
/// [membership](super::super::Checked::membership) of its settings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Membership {
    id: EpochId,
    names: Vec<NodeName>,
    /// For each member, the number of names before its own.
    places: Vec<usize>,
    quorums: Quorums,
}

impl Membership {
    /// `quorums` are over the positions of `names`.
    pub(in crate::nerio) fn new(id: EpochId, names: Vec<NodeName>, quorums: Quorums) -> Self {
        let before = |one: &NodeName| names.iter().filter(|other| *other < one).count();
        let places = names.iter().map(before).collect();
        Self { id, names, places, quorums }
    }

    /// The name of the epoch in datagrams.
    #[must_use]
    pub const fn id(&self) -> EpochId {
        self.id
    }

    /// The quorum system of the members.
    #[must_use]
    pub const fn quorums(&self) -> &Quorums {
        &self.quorums
    }

    /// All members.
    #[must_use]
    pub const fn everyone(&self) -> MemberSet {
        self.quorums.everyone()
    }

    /// The names of the members in the order of positions.
    #[must_use]
    pub fn names(&self) -> &[NodeName] {
        &self.names
    }

    /// The name of the member at this position.
    #[must_use]
    pub fn name(&self, position: usize) -> &NodeName {
        &self.names[position]
    }

    /// The names of these members.
    pub(in crate::nerio) fn named<T: From<NodeName>>(&self, set: MemberSet) -> Vec<T> {
        set.iter().map(|member| self.name(member).clone().into()).collect()
    }

    /// The position of the member with this name.
    #[must_use]
    pub fn position(&self, name: &NodeName) -> Option<usize> {
        self.names.iter().position(|member| member == name)
    }

    /// The destination of messages for the member at this position.
    #[must_use]
    pub fn to(&self, position: usize) -> To {
        To::Member(self.name(position).clone())
    }

    /// The place of the member at this position among all names in ascending order: the same on
    /// every node, whatever the order of its list.
    #[must_use]
    pub fn place(&self, position: usize) -> usize {
        self.places[position]
    }

    /// The number by which datagrams name the member at this position: its place, counted from 1;
    /// see [`wire`](super::super::wire). 0 if there is no such member.
    #[must_use]
    pub fn number(&self, position: usize) -> u8 {
        let place = self.places.get(position);
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
    }
}

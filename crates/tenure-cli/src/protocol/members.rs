//! The members of a protocol with a list of members.

use tenure::NodeName;

use crate::failure::Failure;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberChange {
    Add(NodeName),
    Remove(NodeName),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    /// Members in the order of the list, then others by name, then nodes of the list that are no
    /// members.
    pub all: Vec<Member>,
    /// Epoch of the cluster, of protocols with epochs.
    pub epoch: Option<MembersEpoch>,
    /// The failure of the command, if too few members serve for an election.
    pub failure: Option<Failure>,
}

/// An epoch, as members name it in datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MembersEpoch {
    pub number: u64,
    pub digest: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    pub name: NodeName,
    /// Address at which the member was asked.
    pub address: String,
    /// State of the member, one word for programs.
    pub state: &'static str,
    /// State of the member, in words for people.
    pub text: String,
}

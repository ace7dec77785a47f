//! The members of a protocol that has a list of them.

use tenure::NodeName;

use crate::failure::Failure;

/// A change of the members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberChange {
    /// This node becomes a member.
    Add(NodeName),
    /// This node is a member no longer.
    Remove(NodeName),
}

/// The members of a protocol that has a list of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    /// Each member, in the order of the list.
    pub all: Vec<Member>,
    /// The failure of the command, where too few members serve for an election.
    pub failure: Option<Failure>,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Name of the member.
    pub name: NodeName,
    /// Address at which the member was asked.
    pub address: String,
    /// State of the member, one word for programs.
    pub state: &'static str,
    /// State of the member, in words for people.
    pub text: String,
}

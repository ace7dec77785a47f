//! The members of a protocol that has a list of them.

use tenure::NodeName;

use crate::failure::Failure;

/// A change of who the members are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberChange {
    /// This one becomes a member.
    Add(NodeName),
    /// This one is none any more.
    Remove(NodeName),
}

/// The members of a protocol that has a list of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    /// Each of them, in the order of the list.
    pub all: Vec<Member>,
    /// How the command ends where not enough of them serve for an election.
    pub failure: Option<Failure>,
}

/// One member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name.
    pub name: NodeName,
    /// Where it is asked.
    pub address: String,
    /// What it does, in one word for programs.
    pub state: &'static str,
    /// The same for people.
    pub text: String,
}

//! The members of a protocol with a list of members.

use tenure::NodeName;
use tenure_core::nerio::HostPort;
use tenure_http::MemberState;

use crate::failure::Failure;

/// A change of one member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberChange {
    Add(NewMember),
    Remove(NodeName),
    /// Replaces a member whose state directory is lost by the running node of the same name, which
    /// began with an empty directory. Without addresses the member keeps its present addresses.
    Replace(NewMember),
    /// Ends the running change.
    Cancel,
}

/// A node that will be a member, or that takes a member's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMember {
    pub name: NodeName,
    /// Addresses at which other nodes find the node; empty if each member tells them its own
    /// addresses.
    pub hosts: Vec<HostPort>,
}

/// A change that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MadeChange {
    /// Number of the epoch with the change; `None` if the protocol has no epochs.
    pub epoch: Option<u64>,
    /// Number of a later epoch, if the number of the epoch with the change is not known.
    pub by_epoch: Option<u64>,
}

impl MemberChange {
    /// The member that changes; `None` for [`Cancel`](Self::Cancel).
    #[must_use]
    pub const fn name(&self) -> Option<&NodeName> {
        match self {
            Self::Add(NewMember { name, .. })
            | Self::Replace(NewMember { name, .. })
            | Self::Remove(name) => Some(name),
            Self::Cancel => None,
        }
    }

    /// The kind of the change, one word for programs.
    #[must_use]
    pub const fn done(&self) -> &'static str {
        match self {
            Self::Add(_) => "added",
            Self::Remove(_) => "removed",
            Self::Replace(_) => "replaced",
            Self::Cancel => "cancelled",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    /// Members in the order of the list, then other members by name, then nodes of the list that
    /// are no members.
    pub all: Vec<Member>,
    /// Epoch of the cluster; `None` if the protocol has no epochs.
    pub epoch: Option<MembersEpoch>,
    /// The failure of the command, if too few members serve for an election.
    pub failure: Option<Failure>,
    /// A warning if a single member's stop ends all elections.
    pub fragile: Option<Advice>,
    /// A warning if the list of the settings lacks members.
    pub unlisted: Option<Advice>,
}

/// A warning about the members, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    pub text: String,
    pub fix: String,
}

/// An epoch, as members name the epoch in datagrams.
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
    /// Remedy for a state that neither time nor other members mend.
    pub cure: Option<String>,
}

impl Member {
    /// Whether a member in this state does its part in elections.
    pub fn is_up(state: &str) -> bool {
        matches!(state, "follows" | "founding" | "leads" | "serving" | "waits")
    }

    /// The member in the words of answers over HTTP.
    pub fn shown(&self) -> MemberState {
        MemberState {
            name: self.name.to_string(),
            address: Some(self.address.clone()),
            state: self.state.to_owned(),
            up: Some(Self::is_up(self.state)),
            text: Some(self.text.clone()),
        }
    }
}

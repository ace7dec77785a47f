//! Requests to members and leaders over the network, where a protocol has them.

use std::time::Duration;

use tenure::{ElectionName, Fence, LeaderView, NodeName, Time};
use tokio::sync::mpsc;

use super::later::{Later, at_once};
use super::lists::{ListedCandidate, ListedElection, Listing};
use super::members::{MemberChange, Members};
use super::orders::{Ended, Wish};
use crate::control::Call;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Origins;

/// Requests to the members of a protocol: each only where [`can`](super::Protocol::can) says so.
pub trait MemberRequests {
    /// Lists the members, and how each does.
    fn members<'a>(&'a self, origins: &'a Origins) -> Later<'a, Result<Members, Failure>>;

    /// Lists the elections.
    fn elections<'a>(
        &'a self,
        _: &'a Origins,
    ) -> Later<'a, Result<Listing<ListedElection>, Failure>> {
        at_once(Err(unsupported("tenure elections")))
    }

    /// Lists the candidates of `election`.
    fn candidates<'a>(
        &'a self,
        _election: &'a ElectionName,
        _: &'a Origins,
    ) -> Later<'a, Result<Listing<ListedCandidate>, Failure>> {
        at_once(Err(unsupported("tenure candidates")))
    }

    /// Has the leader step down, wherever it is.
    fn end_leadership<'a>(
        &'a self,
        _: &'a Wish,
        _: &'a Origins,
    ) -> Later<'a, Result<Ended, Failure>> {
        at_once(Err(unsupported("orders from elsewhere")))
    }

    /// Adds or removes a member.
    fn change_members<'a>(
        &'a self,
        _: MemberChange,
        _: &'a Origins,
    ) -> Later<'a, Result<(), Failure>> {
        at_once(Err(unsupported("changes of members")))
    }
}

/// Requests to a leader over the network.
pub trait LeaderRequests {
    /// Asks `leader` itself whether it leads `election`.
    fn verify<'a>(
        &'a self,
        election: &'a ElectionName,
        leader: &'a LeaderView,
        patience: Duration,
    ) -> Later<'a, Result<Verified, Failure>>;

    /// Hands orders from the network to the runner of `election`, for as long as the future is
    /// polled.
    fn orders(&self, election: &ElectionName, asked: mpsc::Sender<Call>) -> Later<'static, ()>;
}

/// A leader's own promise that it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Name of the leader.
    pub leader: NodeName,
    /// The fence of its leadership, if there are fences.
    pub fence: Option<Fence>,
    /// Earliest end of the leadership.
    pub until: Time,
}

/// The failure of a protocol that claims a capability and lacks it.
pub(super) fn unsupported(what: &str) -> Failure {
    let what = format!("the protocol says that it has {what}, and does not answer it");
    Failure::new(Exit::Bug, what, "report it")
}

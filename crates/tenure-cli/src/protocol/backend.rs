//! A participant in elections, started with the checked settings of a command.

use std::fmt::Debug;
use std::time::Duration;

use tenure::{
    AtMostOne, Election, ElectionName, Fence, Leader, MayOverlap, NodeName, Observer, SafetyClass,
    View, Waiting,
};
use tokio::sync::{mpsc, watch};

use super::later::{Later, at_once};
use super::requests::{MemberRequests, unsupported};
use super::roles::{Part, RoleHolder, RoleSettings};
use crate::control::Call;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Origins;

/// Upper bound of the wait until others know that this process has given up.
pub(super) const OTHERS_KNOW: Duration = Duration::from_secs(10);

/// The checked settings of a protocol, with which a command elects or asks.
pub trait Backend: Debug {
    /// Span before the end of its lease in which a leader's work is asked to stop.
    fn grace(&self) -> Duration;

    /// Span before the end of its lease in which a leader's work is ended by force.
    fn kill_margin(&self) -> Duration;

    /// How long a process that is asked to end takes at most: CMD ends, and others know.
    fn ends_within(&self) -> Duration {
        self.grace() + self.kill_margin() + OTHERS_KNOW
    }

    /// How long to ask before the leader is unknown.
    fn patience(&self) -> Duration;

    /// Starts a participant that campaigns in `election` under the name `id`. A start does not fail
    /// because others cannot be reached: they may come yet.
    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        election: &'a ElectionName,
        origins: &'a Origins,
    ) -> Started<'a>;

    /// Starts a participant that only asks about `election`.
    fn asker<'a>(
        &'a self,
        election: &'a ElectionName,
        asks: Asks,
        origins: &'a Origins,
    ) -> Started<'a>;

    /// The reason for which a start has no answer of the service yet, where it needs an answer.
    fn silence(&self) -> watch::Receiver<Option<Failure>> {
        watch::channel(None).1
    }

    /// The settings of roles, where elections have roles.
    fn roles(&self) -> Option<&dyn RoleSettings> {
        None
    }

    /// The requests to members, where the protocol has a list of members.
    fn member_requests(&self) -> Option<&dyn MemberRequests> {
        None
    }
}

impl dyn Backend {
    /// The elections that `election` is divided into, as far as these settings are about them:
    /// that one alone where there are no roles.
    #[must_use]
    pub fn parts(&self, election: &ElectionName) -> Vec<Part> {
        match self.roles() {
            Some(roles) => roles.parts(),
            None => vec![Part { election: election.clone(), role: None }],
        }
    }

    /// Whether CMD is run again that has ended by itself while its runner leads.
    #[must_use]
    pub fn runs_again(&self) -> bool {
        self.roles().is_some_and(|roles| roles.runs_again())
    }

    /// The requests to members, for a protocol that [`can`](super::Protocol::can) do them.
    pub fn members(&self) -> Result<&dyn MemberRequests, Failure> {
        self.member_requests().ok_or_else(|| unsupported("members"))
    }
}

/// How long an asker asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// Until it has an answer, or reports why there is none.
    Once,
    /// The asker asks until a signal ends it.
    On,
}

/// A participant that has started, or the reason for which it did not.
pub type Started<'a> = Later<'a, Result<Box<dyn Participant>, Failure>>;

/// The part that a process takes in elections: it campaigns, or only asks.
pub trait Participant {
    /// The election of this name.
    fn election(&self, name: &ElectionName) -> AnyElection;

    /// Whether its driver still runs, once that has answered: it does soon, if it works.
    fn alive(&self) -> Later<'_, bool>;

    /// Resolves when nothing that is asked from now on can ever be answered, with what to do
    /// about it. Meanwhile it warns of what may pass.
    fn permanent_failure(&self) -> Later<'static, Failure>;

    /// The reason for which the leader of `election` is unknown, if that is known.
    fn why_unknown(&self, _: &ElectionName) -> Later<'static, Option<Failure>> {
        Box::pin(async { None })
    }

    /// A better text than [`Protocol::unknown`](super::Protocol::unknown), where more is known.
    fn unknown(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        Box::pin(async { None })
    }

    /// Resolves when no service has been reached for so long that asking on is of no use to a
    /// command that wants an answer now.
    fn unreachable(&self) -> Later<'static, ()> {
        Box::pin(std::future::pending())
    }

    /// By which rank it goes before others or after them, and whether that was drawn.
    fn rank(&self) -> Later<'static, Option<Rank>> {
        Box::pin(async { None })
    }

    /// The reason for which no candidate leads `election`, which is vacant.
    fn why_vacant(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        Box::pin(async { None })
    }

    /// Resolves when this is to be reported: never where its own warnings say it already, and not
    /// while it may end the process.
    fn worth_reporting(&self, _: &Waiting) -> Later<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Another cause of `waiting` than its text says.
    fn may_be(&self, _: &Waiting) -> Option<&'static str> {
        None
    }

    /// The trouble that keeps this process from the others now, and how long it has lasted.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// The troubles that an operator should look at now, for the status of a runner.
    fn worth_a_look(&self) -> Later<'static, Option<String>> {
        at_once(self.trouble())
    }

    /// The failure, with its remedy, of a campaign that was refused for this reason.
    fn refused(&self, why: String) -> Later<'static, Failure> {
        Box::pin(async { refused(why) })
    }

    /// The operations on roles, where elections have roles.
    fn roles(&self) -> Option<&dyn RoleHolder> {
        None
    }

    /// Hands orders from the network to the runner of `election`, for as long as the future is
    /// polled, where leaders take such orders.
    fn orders(&self, _: &ElectionName, _: mpsc::Sender<Call>) -> Option<Later<'static, ()>> {
        None
    }

    /// Resigns all that is held, and waits for a moment until that is done.
    fn close(self: Box<Self>) -> Later<'static, ()>;
}

/// The failure of a campaign that was refused.
#[must_use]
pub fn refused(why: String) -> Failure {
    Failure::new(Exit::Refused, why, "settle that, and start it again")
}

/// An election, in the class of safety that its protocol promises.
#[derive(Debug)]
pub enum AnyElection {
    /// An election of at most one leader, with a fence.
    AtMostOne(Election<AtMostOne>),
    /// Several leaders at times, without fences.
    MayOverlap(Election<MayOverlap>),
}

impl AnyElection {
    /// Observes the leader.
    #[must_use]
    pub fn observe(&self) -> Observer {
        match self {
            Self::AtMostOne(election) => election.observe(),
            Self::MayOverlap(election) => election.observe(),
        }
    }

    /// The leader, as soon as it is known.
    pub async fn leader(&self, patience: Duration) -> View {
        match self {
            Self::AtMostOne(election) => election.leader(patience).await,
            Self::MayOverlap(election) => election.leader(patience).await,
        }
    }
}

/// A class of safety, as `tenure run` needs it.
pub(crate) trait Class: SafetyClass {
    /// The fence of a leadership, if there are fences.
    fn fence_of(leader: &Leader<Self>) -> Option<Fence>
    where
        Self: Sized;
}

impl Class for AtMostOne {
    fn fence_of(leader: &Leader<Self>) -> Option<Fence> {
        Some(leader.fence())
    }
}

impl Class for MayOverlap {
    fn fence_of(_: &Leader<Self>) -> Option<Fence> {
        None
    }
}

/// Which candidate leads: the one with the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rank {
    /// The lower goes first.
    pub number: u64,
    /// Whether the process drew the number, as no setting gives one.
    pub drawn: bool,
}

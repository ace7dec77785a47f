//! A participant in elections, started with the checked settings of a command.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tenure::{
    AtMostOne, Election, ElectionName, Fence, Leader, MayOverlap, NodeName, Observer, SafetyClass,
    View, Waiting,
};
use tenure_http::Health;
use tokio::sync::{mpsc, watch};

use super::later::{Later, at_once};
use super::members::{MadeChange, MemberChange, Members};
use super::roles::{Part, RoleHolder};
use super::weak::WeakObserver;
use crate::control::{Answer, Call};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Origins;

/// The longest wait until other nodes know that this process has given up.
pub(super) const OTHERS_KNOW: Duration = Duration::from_secs(10);

/// The checked settings of a protocol, for commands that elect or ask.
pub trait Backend: Debug {
    /// Span between SIGTERM for CMD and the end of the lease.
    fn grace(&self) -> Duration;

    /// Span between SIGKILL for CMD and the end of the lease.
    fn kill_margin(&self) -> Duration;

    /// The longest time that a process needs to end: CMD ends, and other nodes learn of the
    /// release.
    fn ends_within(&self) -> Duration {
        self.grace() + self.kill_margin() + OTHERS_KNOW
    }

    /// Time to ask before the leader counts as unknown.
    fn patience(&self) -> Duration;

    /// Starts a participant that campaigns in `election` as `id`. Unreachable peers are no failure:
    /// they may come later.
    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        election: &'a ElectionName,
        origins: &'a Origins,
    ) -> StartedParticipant<'a>;

    /// Starts a participant that only asks about `election`.
    fn asker<'a>(
        &'a self,
        election: &'a ElectionName,
        asks: AskMode,
        origins: &'a Origins,
    ) -> StartedParticipant<'a>;

    /// The lease of a leader, if these settings fix it.
    fn lease(&self) -> Option<Duration> {
        None
    }

    /// The address at which these settings listen, if other nodes must know it.
    fn binds(&self) -> Option<(SocketAddr, Transport)> {
        None
    }

    /// Checks that the state directory at `path` belongs to no other member, as far as the protocol
    /// can tell while a process uses the directory.
    fn check_owner(&self, _: &Path, _: &Origins) -> Result<(), Failure> {
        Ok(())
    }

    /// The reason why the service has not answered the start yet; `None` if the start needs no
    /// answer.
    fn silence(&self) -> watch::Receiver<Option<Failure>> {
        watch::channel(None).1
    }

    /// The parts of `election` that these settings name. Without roles this is only `election`
    /// itself.
    fn parts(&self, election: &ElectionName) -> Vec<Part> {
        vec![Part { election: election.clone(), role: None }]
    }

    /// Whether the command asks about all roles of the election, as a table.
    fn asks_for_all(&self) -> bool {
        false
    }

    /// Whether the answer is a table even for one role.
    fn has_sides(&self) -> bool {
        false
    }

    /// Whether a CMD that ended by itself runs again while its runner leads.
    fn runs_again(&self) -> bool {
        false
    }

    /// Starts to watch the weak leaders of partitions, if the protocol
    /// [`can`](super::Protocol::can) name them.
    fn weak_leaders<'a>(
        &'a self,
        _: &'a Origins,
    ) -> Later<'a, Result<Box<dyn WeakObserver>, Failure>> {
        at_once(Err(unsupported("weak leaders")))
    }

    /// Asks the members for their states, if the protocol [`can`](super::Protocol::can) do that.
    fn members<'a>(&'a self, _: &'a Origins) -> Later<'a, Result<Members, Failure>> {
        at_once(Err(unsupported("members")))
    }

    /// Refuses a change that the protocol cannot make with these settings. Asks no member.
    fn check_change(&self, _: &MemberChange, _: &Origins) -> Result<(), Failure> {
        Ok(())
    }

    /// Changes a member, if the protocol [`can`](super::Protocol::can) do that, within a limit of
    /// time; `None` for the limit of the protocol.
    fn change_members<'a>(
        &'a self,
        _: MemberChange,
        _: Option<Duration>,
        _: &'a Origins,
    ) -> Later<'a, Result<MadeChange, Failure>> {
        at_once(Err(unsupported("changes of members")))
    }

    /// Asks for an election, if the protocol [`can`](super::Protocol::can) do that.
    fn start_election<'a>(&'a self, _: &'a Origins) -> Later<'a, Result<AskedElection, Failure>> {
        at_once(Err(unsupported("elections that an operator starts")))
    }
}

/// The transport of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    Udp,
    Tcp,
}

/// An election that an operator has asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskedElection {
    /// The leader renews its lease no more, and the election follows the end of that lease.
    After { leader: NodeName, remaining: Duration },
    /// This node begins the election now: no lease of a leader delays the election.
    Now { by: NodeName },
}

/// The failure of a protocol that claims a capability, and does not implement it.
fn unsupported(what: &str) -> Failure {
    let what = format!("the protocol claims to have {what}, but does not carry it out");
    Failure::new(Exit::Bug, what, "report it")
}

/// The time for which an asker repeats its question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AskMode {
    /// Until the first answer, or a reason for no answer.
    Once,
    /// Until a signal ends the asker.
    On,
}

pub type StartedParticipant<'a> = Later<'a, Result<Box<dyn Participant>, Failure>>;

/// A process's part in elections: it campaigns, or only asks.
pub trait Participant {
    fn election(&self, name: &ElectionName) -> AnyElection;

    /// Whether the driver still runs. A working driver answers soon.
    fn alive(&self) -> Later<'_, bool>;

    /// Resolves, with a remedy, when the participant can answer no more questions. Until then the
    /// future warns of passing troubles.
    fn permanent_failure(&self) -> Later<'static, Failure>;

    /// The reason for the unknown leader of `election`, if the reason is known.
    fn why_unknown(&self, _: &ElectionName) -> Later<'static, Option<Failure>> {
        Box::pin(async { None })
    }

    /// A better text than [`Protocol::unknown`](super::Protocol::unknown), if more is known.
    fn unknown(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        Box::pin(async { None })
    }

    /// Resolves when the participant has reached no service for some time. A command that wants an
    /// answer at once can then give up.
    fn unreachable(&self) -> Later<'static, ()> {
        Box::pin(std::future::pending())
    }

    /// The rank that decides whether the candidate leads before other candidates.
    fn rank(&self) -> Later<'static, Option<Rank>> {
        Box::pin(async { None })
    }

    fn why_vacant(&self, _: &ElectionName) -> Later<'static, Option<String>> {
        Box::pin(async { None })
    }

    /// Resolves when the command should report this wait. Never resolves for a wait that other
    /// warnings cover, or whose cause may still end the process.
    fn worth_reporting(&self, _: &Waiting) -> Later<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Another possible cause of `waiting`.
    fn may_be(&self, _: &Waiting) -> Option<&'static str> {
        None
    }

    /// The addresses at which this process asks the silent peers that `waiting` names, as the end
    /// of a line.
    fn asked_at(&self, _: &Waiting) -> String {
        String::new()
    }

    /// The trouble that cuts this process off from its peers, with its duration.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// The health of the process, for answers over HTTP. A candidate is ready while it is
    /// connected.
    fn health(&self) -> Later<'_, Health> {
        Box::pin(async {
            let unready = self.trouble();
            Health { alive: self.alive().await, unready, ..Health::default() }
        })
    }

    /// The present troubles that an operator should look at, for the status of a runner.
    fn worth_a_look(&self) -> Later<'static, Option<String>> {
        at_once(self.trouble())
    }

    /// The failure, with its remedy, of a campaign that was refused for this reason.
    fn refused(&self, why: String) -> Later<'static, Failure> {
        Box::pin(async { refused(why) })
    }

    fn roles(&self) -> Option<&dyn RoleHolder> {
        None
    }

    /// A future that passes orders from the network to the runner of `election`; `None` if leaders
    /// take no such orders.
    fn orders(&self, _: &ElectionName, _: mpsc::Sender<Call>) -> Option<Later<'static, ()>> {
        None
    }

    /// Creates an edict of this leadership, as text; `None` if the protocol has no edicts.
    fn edict(&self, _: &Leader<AtMostOne>) -> Option<Result<String, Failure>> {
        None
    }

    /// Announces a CMD to the process that watches this process, before CMD starts; `None` if no
    /// process watches.
    fn work(&self) -> Result<Option<AnnouncedWork>, Failure> {
        Ok(None)
    }

    /// The clocks of other nodes compared with this process's clock, for the status of a runner;
    /// `None` if the protocol compares no clocks.
    fn clocks(&self) -> Later<'static, Option<Value>> {
        at_once(None)
    }

    /// Compares all clocks anew, because an operator says that the clocks are right; `None` if the
    /// protocol compares no clocks.
    fn clear_breach(&self) -> Option<Later<'static, Answer>> {
        None
    }

    /// The users of keys that a member in this process has heard; `None` without a member.
    fn keys(&self) -> Option<Later<'static, Answer>> {
        None
    }

    /// Resigns from all leaderships, and waits a moment for the release.
    fn close(self: Box<Self>) -> Later<'static, ()>;
}

/// A CMD that this process has announced to the process that watches it.
pub struct AnnouncedWork {
    /// Unix socket to which the guard sends `packet` when no process of CMD is left.
    pub socket: PathBuf,
    pub packet: Vec<u8>,
    /// Reports the end of CMD to the watching process, if this process lives until then.
    pub over: Box<dyn FnOnce()>,
}

#[must_use]
pub fn refused(why: String) -> Failure {
    Failure::new(Exit::Refused, why, "remove the cause, and start this process again")
}

/// An election, with the safety class of its protocol.
#[derive(Debug)]
pub enum AnyElection {
    AtMostOne(Election<AtMostOne>),
    MayOverlap(Election<MayOverlap>),
}

impl AnyElection {
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

/// A safety class, with the functions that `tenure run` needs.
pub(crate) trait Class: SafetyClass {
    fn fence_of(leader: &Leader<Self>) -> Option<Fence>
    where
        Self: Sized;

    /// The leader itself, if its class has at most one leader.
    fn sole(leader: &Leader<Self>) -> Option<&Leader<AtMostOne>>
    where
        Self: Sized;
}

impl Class for AtMostOne {
    fn fence_of(leader: &Leader<Self>) -> Option<Fence> {
        Some(leader.fence())
    }

    fn sole(leader: &Leader<Self>) -> Option<&Leader<AtMostOne>> {
        Some(leader)
    }
}

impl Class for MayOverlap {
    fn fence_of(_: &Leader<Self>) -> Option<Fence> {
        None
    }

    fn sole(_: &Leader<Self>) -> Option<&Leader<AtMostOne>> {
        None
    }
}

/// The rank of a candidate: the candidate with the lowest rank leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rank {
    /// A lower number precedes a higher one.
    pub number: u64,
    /// Whether the process drew the number, because no setting gives it.
    pub drawn: bool,
}

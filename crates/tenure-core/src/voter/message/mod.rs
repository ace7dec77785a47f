//! The messages of voters, operators and drivers. The driver sends them as JSON, each kind on its
//! path. The types define the fields, and refuse whatever exceeds their bounds.
//!
//! An HTTP exchange is two messages: a [`Request`](Message::Request) goes out with a [`Call`], and
//! the answer comes back with the same call. The core waits for an answer no longer than `within`,
//! and counts and drops a later answer. A voter may have carried out a request whose answer is
//! lost. For an incoming request the driver chooses the `Call`, and the answer goes back with it to
//! the asking [`Peer`](super::Peer).

mod leader;
mod print;
mod refusal;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

pub use leader::LeaderDto;
pub use refusal::{Refusal, Unchanged};

use serde::{Deserialize, Serialize};

use super::config::Mode;
use super::electorate::{Change, Electorate, ElectorateId, Fingerprint};
use super::identity::{Ballot, Leadership, Participant, VoterUrl};
use super::json::{self, nanos, nanos_if_any};
use crate::drift::Drift;
use crate::name::{ElectionName, NodeName, Value};

/// The maximum number of entries of a list of known voters.
pub const KNOWN_MAX: usize = 256;
/// The maximum number of URLs that discovery can report at once.
pub const SEEDS_MAX: usize = 256;

/// The number of an exchange, unique in the life of the process that asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Call(pub u64);

/// A message of an HTTP exchange, or of the driver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A request: outgoing to a voter, or incoming from any caller.
    Request {
        call: Call,
        caller: Caller,
        /// The core's wait for an answer. The driver may end the request after this time. In an
        /// incoming request this field has no meaning.
        within: Duration,
        ask: Ask,
    },
    Answer {
        call: Call,
        header: Header,
        answer: Answer,
    },
    /// Incoming only: a request has failed before `within` was over. The other voter may have
    /// carried it out.
    Failed {
        call: Call,
    },
    /// Incoming only: the URLs to which the seeds' name resolves now; they replace the earlier
    /// ones.
    Seeds(Vec<VoterUrl>),
}

/// The caller, as far as the driver has authenticated it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Caller {
    Voter(Header),
    Operator,
    /// A caller that has not authenticated.
    Anybody,
}

/// The beginning of each message of a voter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// The election of the sender's network. A voter refuses requests of other networks.
    pub election: ElectionName,
    pub mode: Mode,
    pub sender: Participant,
    pub url: VoterUrl,
    /// The founding that the sender has accepted, and whether all members have accepted it. The
    /// recipient refuses and reports another founding (V2).
    pub founding: Option<(Fingerprint, bool)>,
}

/// A request. Each kind has its path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// `POST /register`: the caller is a voter. If an operator calls, the body names a voter; that
    /// voter counts once it has answered a question of the recipient.
    Register(VoterDto),
    /// `POST /remove`: the caller could not reach the named voter.
    Remove {
        voter: NodeName,
        reason: Value,
    },
    /// `GET /status`: the recipient's state. With a suspect, the recipient first asks the suspect
    /// for its status.
    Status {
        suspect: Option<NodeName>,
    },
    /// `POST /heartbeat`, or with a certificate `POST /election/certify`.
    Heartbeat(Box<HeartbeatDto>),
    /// `POST /reconcile`: all voters that the caller knows.
    Reconcile(Vec<VoterDto>),
    Start,
    Cast(VoteDto),
    /// `POST /election/result`: the caller's result.
    Result(ElectionDto),
    /// `GET /election/result`: the last result that the recipient knows.
    LastResult,
    /// `POST /election/certify` of a voter that does not lead: asks whether the recipient knows
    /// this result.
    Certify(ElectionDto),
    /// `POST /election/release`: this leadership is over, or will never begin.
    Release(Leadership),
    /// `POST /electorate`: a change that an operator asks for.
    Change(Change),
}

/// An answer to an [`Ask`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// To `register` and `status`.
    Status(StatusDto),
    Heartbeat(BeatenDto),
    /// To `remove`, `reconcile`, `release` and `electorate`: done.
    Done,
    /// To `election/start`: a ballot begins, or has begun already. The answer names a ballot only
    /// if it has begun already.
    Started(Option<Ballot>),
    /// To `election/cast`: the vote was counted. The answer has the recipient's own vote in the
    /// same ballot.
    Cast(VoteDto),
    /// To `election/result`: whether the ballot goes on. `false` from the named winner means that
    /// it has given the ballot up for ever.
    Counted {
        open: bool,
    },
    /// To `GET election/result` and `election/certify`.
    Election(ElectionDto),
    Refused(Refusal),
}

/// A voter in the text's form.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VoterDto {
    pub voter_id: NodeName,
    pub voter_url: VoterUrl,
    #[serde(default)]
    pub role: Role,
    /// A voter that registers is on line.
    #[serde(default = "on_line")]
    pub on_line: bool,
}

const fn on_line() -> bool {
    true
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Role {
    Leader,
    Follower,
    #[default]
    None,
}

/// The state of the election as one voter knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDto {
    /// At most [`KNOWN_MAX`], the sender included.
    #[serde(deserialize_with = "json::known_voters")]
    pub known_voters: Vec<VoterDto>,
    pub sender: VoterDto,
    /// The leader, and the rest of its lease.
    pub leader: Option<LeaderDto>,
    /// The electorate, once there is one.
    pub electorate: Option<Electorate>,
    /// The highest counter that the sender has endorsed or acknowledged.
    #[serde(deserialize_with = "json::counter")]
    pub endorsed: u64,
    /// The time for which the sender was free to endorse a candidate without a break; `None` if the
    /// sender is not free now.
    #[serde(default, rename = "freeNs", with = "nanos_if_any")]
    pub free: Option<Duration>,
    /// Whether the suspect has answered the sender.
    pub reached: Option<bool>,
    #[serde(flatten)]
    pub condition: Condition,
}

/// Obstacles to a voter's vote, as the voter reports them, for operators and candidates.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Condition {
    /// Whether the voter cannot write its state directory. Such a voter endorses no candidate, and
    /// acknowledges only the leader that it has endorsed.
    #[serde(default)]
    pub failing: bool,
    /// The first voters by the sender's settings; `None` once the network is founded.
    #[serde(
        default,
        rename = "firstVoters",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "json::first_voters"
    )]
    pub first: Option<FirstVoters>,
}

/// The first voters by a voter's settings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FirstVoters {
    /// These voters, the voter itself among them, in order. At most
    /// [`MEMBERS_MAX`](super::MEMBERS_MAX).
    Listed(Vec<NodeName>),
    Number(u16),
}

impl FirstVoters {
    /// Whether voters with these two settings can accept the same set.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Listed(ids), Self::Number(number))
            | (Self::Number(number), Self::Listed(ids)) => ids.len() == usize::from(*number),
            (one, other) => one == other,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VoteDto {
    pub voter_id: NodeName,
    /// Any 64-bit signed number; `None` if the voter does not want to lead.
    #[serde(default, deserialize_with = "json::vote")]
    pub vote: Option<i64>,
    pub ballot: Ballot,
    /// L, the lease that the sender would ask for as the winner.
    #[serde(rename = "leaseNs", with = "nanos")]
    pub lease: Duration,
    pub electorate: Electorate,
}

/// A voter's result of one ballot.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElectionDto {
    pub ballot: Ballot,
    /// Whether the winner has received the results of a quorum.
    pub certified: bool,
    /// The votes as the sender has counted them. At most [`MEMBERS_MAX`](super::MEMBERS_MAX).
    #[serde(with = "json::votes")]
    pub votes: Vec<(NodeName, Option<i64>)>,
    pub new_leader: Participant,
    /// The sender's promise to the winner; in a certified result, its promise at the certification.
    pub promise: Option<PromiseDto>,
    /// In a certified result: the voters that have sent this result. At most
    /// [`MEMBERS_MAX`](super::MEMBERS_MAX).
    #[serde(default, deserialize_with = "json::endorsed_by")]
    pub endorsed_by: Vec<Participant>,
}

/// *For this span after I received the request, I endorse and acknowledge no other leader* (V6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PromiseDto {
    #[serde(rename = "spanNs", with = "nanos")]
    pub span: Duration,
    #[serde(rename = "driftPpb", deserialize_with = "json::drift")]
    pub drift: Drift,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatDto {
    /// The number of the heartbeat. The recipient ignores a number that is not above the last one.
    pub seq: u64,
    /// The sender, as others should list it.
    pub sender: VoterDto,
    /// At most [`KNOWN_MAX`].
    #[serde(deserialize_with = "json::known_voters")]
    pub known_voters: Vec<VoterDto>,
    pub lease: Option<LeaseDto>,
    /// The certificate of a leader that the recipient has not acknowledged yet.
    pub certificate: Option<ElectionDto>,
    #[serde(flatten)]
    pub condition: Condition,
}

/// A leader's request for a lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseDto {
    pub leadership: Leadership,
    pub value: Value,
    /// L; zero in mode `available`.
    #[serde(rename = "spanNs", with = "nanos")]
    pub span: Duration,
    pub electorate: Electorate,
}

/// The answer to a heartbeat: the sender's status, and its promise to a leader.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct BeatenDto {
    pub seq: u64,
    /// The sender's promise to the leader that asked.
    pub promise: Option<AckDto>,
    /// The reason why the sender does not promise.
    pub refused: Option<Refusal>,
    /// `None` if a voter of an earlier version has answered without a complete status.
    #[serde(flatten)]
    pub status: Option<Box<StatusDto>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct AckDto {
    pub leadership: Leadership,
    pub promise: PromiseDto,
    /// The document that the sender has stored durably.
    pub stored: ElectorateId,
}

impl Message {
    /// The kind of the message in a short word: usually its path.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Request { ask, .. } => ask.label(),
            Self::Answer { .. } => "answer",
            Self::Failed { .. } => "failed",
            Self::Seeds(_) => "seeds",
        }
    }
}

impl Ask {
    /// The path, without its root.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Register(_) => "register",
            Self::Remove { .. } => "remove",
            Self::Status { .. } => "status",
            Self::Heartbeat(heartbeat) if heartbeat.certificate.is_none() => "heartbeat",
            Self::Heartbeat(_) | Self::Certify(_) => "election/certify",
            Self::Reconcile(_) => "reconcile",
            Self::Start => "election/start",
            Self::Cast(_) => "election/cast",
            Self::Result(_) | Self::LastResult => "election/result",
            Self::Release(_) => "election/release",
            Self::Change(_) => "electorate",
        }
    }
}

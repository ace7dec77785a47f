//! What voters, operators and drivers say to each other. How it is written as JSON, and on which
//! path, is the driver's.
//!
//! An HTTP exchange is two messages: a [`Request`](Message::Request) goes out with a [`Call`], and
//! its answer comes back with the same one. The core waits for it no longer than `within`; an
//! answer after that is counted and dropped. Of a request that was carried out and whose answer was
//! lost nothing comes. A request that comes in has a `Call` of the driver's own, which its answer
//! carries back to the [`Peer`](super::Peer) that it came from.

mod leader;
mod print;
mod refusal;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

pub use leader::LeaderDto;
pub use refusal::{Refusal, Unchanged};

use super::config::Mode;
use super::electorate::{Change, Electorate, ElectorateId, Fingerprint};
use super::identity::{Ballot, Leadership, Participant, VoterUrl};
use crate::drift::Drift;
use crate::name::{ElectionName, NodeName, Value};

/// The most entries of a list of known voters.
pub const KNOWN_MAX: usize = 256;
/// The most URLs that discovery hands in at once.
pub const SEEDS_MAX: usize = 256;
/// The most bytes of a `remove`'s reason.
pub const REASON_BYTES_MAX: usize = 256;

/// Names an exchange until it is over. Given once in the life of a process by whoever asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Call(pub u64);

/// What comes in, and goes out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A request: out to a voter, or in from anybody.
    Request {
        /// Which one.
        call: Call,
        /// Who asks.
        caller: Caller,
        /// Out: nobody waits longer than this, and the driver may give the request up then. In: of
        /// no meaning.
        within: Duration,
        /// What is asked.
        ask: Ask,
    },
    /// Its answer.
    Answer {
        /// Of which request.
        call: Call,
        /// Who answers.
        header: Header,
        /// What is answered.
        answer: Answer,
    },
    /// In only: a request has failed before its time was over. It may have been carried out.
    Failed {
        /// Which one.
        call: Call,
    },
    /// In only: the URLs that the seeds' name resolves to now. They replace the earlier ones.
    Seeds(Vec<VoterUrl>),
}

/// Who asks, as far as the driver has made sure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Caller {
    /// A voter, which has authenticated itself where that is asked for.
    Voter(Header),
    /// Somebody else who has.
    Operator,
    /// Somebody else who has not.
    Anybody,
}

/// What each message of a voter begins with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// The network: one that asks about another is refused.
    pub election: ElectionName,
    /// What its sender promises.
    pub mode: Mode,
    /// Who sends it.
    pub sender: Participant,
    /// Where the sender is called.
    pub url: VoterUrl,
    /// The founding that the sender has accepted, and whether it knows that all have. A mismatch
    /// is refused and reported (V2).
    pub founding: Option<(Fingerprint, bool)>,
}

/// What is asked. Each has its path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// `POST /register`: the caller is a voter. An operator's body is a voter, too; it is called
    /// before it is believed.
    Register(VoterDto),
    /// `POST /remove`: this voter did not answer the caller.
    Remove {
        /// Which.
        voter: NodeName,
        /// Why.
        reason: Value,
    },
    /// `GET /status`; with a suspect: after asking that one the same.
    Status {
        /// Whose health is in question.
        suspect: Option<NodeName>,
    },
    /// `POST /heartbeat`; with a certificate `POST /election/certify`.
    Heartbeat(Box<HeartbeatDto>),
    /// `POST /reconcile`: all that the caller knows.
    Reconcile(Vec<VoterDto>),
    /// `POST /election/start`.
    Start,
    /// `POST /election/cast`.
    Cast(VoteDto),
    /// `POST /election/result`: the caller's result.
    Result(ElectionDto),
    /// `GET /election/result`: the last result that this voter knows.
    LastResult,
    /// `POST /election/certify` of one that does not lead: whether this voter knows of this
    /// result.
    Certify(ElectionDto),
    /// `POST /election/release`: this leadership is over, or will never be.
    Release(Leadership),
    /// `POST /electorate`: an operator's wish.
    Change(Change),
}

/// What is answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// To `register` and `status`.
    Status(StatusDto),
    /// To a heartbeat.
    Heartbeat(BeatenDto),
    /// To `remove`, `reconcile`, `release` and `electorate`: it was taken.
    Done,
    /// To `election/start`: it begins, with this ballot if it has begun.
    Started(Option<Ballot>),
    /// To `election/cast`: the number was counted, and this one's own in the same ballot.
    Cast(VoteDto),
    /// To `election/result`: whether the ballot goes on. One that is named as the winner and says
    /// that it does not has given it up for ever.
    Counted {
        /// Whether.
        open: bool,
    },
    /// To `GET election/result` and `election/certify`.
    Election(ElectionDto),
    /// None of it.
    Refused(Refusal),
}

/// A voter as the text shows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VoterDto {
    /// `voterId`.
    pub voter_id: NodeName,
    /// `voterUrl`.
    pub voter_url: VoterUrl,
    /// `role`.
    pub role: Role,
    /// `onLine`.
    pub on_line: bool,
}

/// `LEADER`, `FOLLOWER` or `NONE`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// It leads.
    Leader,
    /// It knows of a leader.
    Follower,
    /// It knows of none.
    None,
}

/// What a voter knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StatusDto {
    /// `knownVoters`, the sender among them. At most [`KNOWN_MAX`].
    pub known_voters: Vec<VoterDto>,
    /// `sender`.
    pub sender: VoterDto,
    /// Who leads, and for how long at least.
    pub leader: Option<LeaderDto>,
    /// The electorate, once there is one.
    pub electorate: Option<Electorate>,
    /// The highest counter that the sender has endorsed or acknowledged.
    pub endorsed: u64,
    /// For how long it could have endorsed somebody all the time; `None`: it could not now.
    pub free: Option<Duration>,
    /// Whether the suspect that was asked about has answered the sender.
    pub reached: Option<bool>,
    /// What keeps it from voting.
    pub condition: Condition,
}

/// What keeps a voter from voting, by its own word: for operators and candidates to be told.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Condition {
    /// It cannot write its state directory: it endorses nobody, and acknowledges only the leader
    /// that it has endorsed.
    pub failing: bool,
    /// Until the founding, with whom it begins.
    pub first: Option<FirstVoters>,
}

/// With whom a voter begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FirstVoters {
    /// These, itself among them, in order. At most [`MEMBERS_MAX`](super::MEMBERS_MAX).
    Listed(Vec<NodeName>),
    /// So many.
    Number(u16),
}

impl FirstVoters {
    /// Whether voters that begin so can accept the same set.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Listed(ids), Self::Number(number))
            | (Self::Number(number), Self::Listed(ids)) => ids.len() == usize::from(*number),
            (one, other) => one == other,
        }
    }
}

/// One voter's number in one ballot.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VoteDto {
    /// `voterId`, the sender's.
    pub voter_id: NodeName,
    /// `vote`: any 64-bit signed number; `None` of one that does not want to lead.
    pub vote: Option<i64>,
    /// Which ballot.
    pub ballot: Ballot,
    /// L, as the sender would ask for it.
    pub lease: Duration,
    /// Under which electorate the ballot is counted.
    pub electorate: Electorate,
}

/// One voter's result of one ballot.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ElectionDto {
    /// Which ballot.
    pub ballot: Ballot,
    /// `certified`: its winner held the results of a quorum.
    pub certified: bool,
    /// `votes`, as the sender has counted them. At most [`MEMBERS_MAX`](super::MEMBERS_MAX).
    pub votes: Vec<(NodeName, Option<i64>)>,
    /// `newLeader`.
    pub new_leader: Participant,
    /// What the sender promises to the new leader, or promised when it was certified.
    pub promise: Option<PromiseDto>,
    /// Who has sent such a result, of a certified one. At most
    /// [`MEMBERS_MAX`](super::MEMBERS_MAX).
    pub endorsed_by: Vec<Participant>,
}

/// *Until this long after I received what I answer I endorse and acknowledge nobody else* (V6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PromiseDto {
    /// p.
    pub span: Duration,
    /// ρ of the one that promises.
    pub drift: Drift,
}

/// A heartbeat.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HeartbeatDto {
    /// Grows with each heartbeat of a process; one that is not above the last is ignored.
    pub seq: u64,
    /// The sender as others should know it.
    pub sender: VoterDto,
    /// `knownVoters`. At most [`KNOWN_MAX`].
    pub known_voters: Vec<VoterDto>,
    /// Of a leader: what it asks for.
    pub lease: Option<LeaseDto>,
    /// Of a leader whom the recipient has not acknowledged yet: what it has won by.
    pub certificate: Option<ElectionDto>,
    /// What keeps the sender from voting.
    pub condition: Condition,
}

/// What a leader asks of the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaseDto {
    /// Its leadership.
    pub leadership: Leadership,
    /// `value`.
    pub value: Value,
    /// L; zero with `available`.
    pub span: Duration,
    /// Its current document.
    pub electorate: Electorate,
}

/// The answer to a heartbeat.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct BeatenDto {
    /// Of which heartbeat.
    pub seq: u64,
    /// What the sender promises to the leader that asked.
    pub promise: Option<AckDto>,
    /// Why it does not.
    pub refused: Option<Refusal>,
    /// Of a leader: that it leads, and for how long.
    pub leader: Option<LeaderDto>,
    /// For how long it could have endorsed somebody all the time; `None`: it could not now.
    pub free: Option<Duration>,
    /// Which document the sender has, once it is founded.
    pub electorate: Option<ElectorateId>,
}

/// An acknowledgement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AckDto {
    /// Of which leadership.
    pub leadership: Leadership,
    /// The promise.
    pub promise: PromiseDto,
    /// The document that the sender has stored durably.
    pub stored: ElectorateId,
}

impl Message {
    /// A short word for what it is: its path, mostly.
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
    /// The path, without what it begins with.
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

//! Packets of the bus, field by field. A driver encodes them.
//!
//! Every packet stands alone. Each part of a split batch repeats the [`Header`]; an entry that no
//! received part contains is unknown, not absent (ruling 9). A list longer than its bound makes the
//! whole packet malformed.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::identity::{Participant, Rank};
use crate::name::{ClusterName, ElectionName, Value};
use crate::time::WallTime;

/// The field `version` of a packet. Packets of another version are dropped and counted.
pub const VERSION: u32 = 1;
/// The maximum number of entries of a packet, and the maximum number of elections of an [`Ask`].
pub const ENTRIES_MAX: usize = 512;
/// The maximum number of calls that one reply answers.
pub const ANSWERS_MAX: usize = 32;
/// The maximum number of tombstones of one entry.
pub const TOMBSTONES_MAX: usize = 4;
/// The maximum number of parts of a batch.
pub const PARTS_MAX: u16 = 1_024;
/// The largest packet, unless the server's `max_payload` is less.
pub const PACKET_BYTES_MAX: usize = 65_536;
/// The smallest `max_payload` of a usable server.
pub const MAX_PAYLOAD_MIN: usize = 16_384;

/// The size of each part of a packet, for splitting a batch. A codec must never write more bytes,
/// and its tests check that.
pub mod bytes {
    /// A packet without its lists.
    pub const HEADER: usize = 1_024;
    /// An [`Answered`](super::Answered).
    pub const ANSWER: usize = 192;
    /// The name of an election in a list.
    pub const NAME: usize = 72;
    /// An [`Entry`](super::Entry) without claim and tombstones.
    pub const ENTRY: usize = 192;
    /// A [`LeaderClaim`](super::LeaderClaim) without its value. Each byte of the value counts as if
    /// escaped.
    pub const CLAIM: usize = 448;
    /// A [`Tombstone`](super::Tombstone).
    pub const TOMBSTONE: usize = 448;
}

/// A packet, as each subscriber hears it, the sender included.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Packet {
    pub header: Header,
    pub body: Body,
}

/// The beginning of every packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Cluster of the sender. A receiver in another cluster drops and counts the packet.
    pub cluster: ClusterName,
    pub sender: Participant,
    pub rank: Rank,
    /// The sender's wall clock at the send. Receivers compare this time with their clocks, and
    /// never wait for it.
    pub sent: WallTime,
    pub times: Times,
    /// Whether the sender has finished its first initial wait. A newcomer refuses to start if it
    /// has other times than such a participant (ruling 6).
    pub established: bool,
}

/// The times on which all participants of a cluster must agree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Times {
    /// H.
    pub heartbeat: Duration,
    /// L.
    pub lease: Duration,
    /// K.
    pub max_clock_skew: Duration,
}

/// The kind of a packet. Each kind has its own subject, so that permissions can differ.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// An observer's question for leaders, which changes nothing at its receivers.
    Ask(Ask),
    Call(Call),
    /// The answer to questions and calls. All participants hear the answer.
    Reply(Reply),
    Resign(Resign),
}

/// The number of a round, which grows by one for each round of a participant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Round(pub u64);

/// The place of a packet in its batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// From zero, below `of`.
    pub number: u16,
    /// The number of parts, from one to [`PARTS_MAX`].
    pub of: u16,
}

/// A question for the leaders of these elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ask {
    pub round: Round,
    pub part: Part,
    /// At least one, at most [`ENTRIES_MAX`], each once.
    pub elections: Vec<ElectionName>,
}

/// The allcall: the caller's state of its elections, and a request for the states of others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    pub round: Round,
    pub part: Part,
    /// At least one, at most [`ENTRIES_MAX`], each election once.
    pub entries: Vec<Entry>,
}

/// The sender's views on elections that it was asked about and takes part in. The reply omits a
/// view that the sender's own call has already shown, if the callers follow the same claim.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reply {
    /// The questions and calls that this reply answers: at least one, at most [`ANSWERS_MAX`].
    pub answers: Vec<Answered>,
    /// At most [`ENTRIES_MAX`], each election once. Without entries a reply shows that its sender
    /// is alive, and shows its clock.
    pub entries: Vec<Entry>,
}

/// A question or a call that is answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Answered {
    pub caller: Participant,
    pub round: Round,
}

/// The end of these leaderships of the sender. Calls and replies carry its tombstones as well.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Resign {
    /// At least one, at most [`ENTRIES_MAX`].
    pub ended: Vec<(ElectionName, Tombstone)>,
}

/// The view of a participant on one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    pub election: ElectionName,
    /// Whether the sender is a candidate that could lead now (ruling 1). Its application campaigns,
    /// its initial wait is over, its last round was valid, its clock is right, and it is not held
    /// off.
    pub eligible: bool,
    /// The hash of the claim that the sender follows. A receiver that follows another claim then
    /// sends the claim that it follows. Zero together with a claim of the sender means that the
    /// sender stands. The sender then has not heard its claim yet, may have to resign it, and beats
    /// no leader.
    pub digest: Digest,
    /// First-hand if its leader is the sender of the packet, otherwise relayed.
    pub claim: Option<LeaderClaim>,
    /// At most [`TOMBSTONES_MAX`].
    pub tombstones: Vec<Tombstone>,
}

/// A short hash of the claim that a participant follows; zero without one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Digest(pub u32);

/// A claim to lead one election until a time.
///
/// Leader and term identify the claim. A renewal is the same claim with a later `until`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaderClaim {
    pub leader: Participant,
    pub rank: Rank,
    /// The number of this leadership, which grows by one for each leadership of a process.
    pub term: u64,
    /// E: the leader stops K (`max_clock_skew`) before E by its own wall clock, and all others wait
    /// until K after E by theirs (ruling 3).
    pub until: WallTime,
    pub value: Value,
}

/// The end of a leadership before its lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tombstone {
    pub leader: Participant,
    /// The term. All earlier terms of the leader have ended as well.
    pub term: u64,
    /// E of the ended claim. Others repeat the tombstone until E + 2K (ruling 7).
    pub until: WallTime,
    /// The successor that the leader names, if any (ruling 2).
    pub successor: Option<Participant>,
}

/// Messages to the core: packets from the bus, and the state of the client's connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A packet that was received, or is to be published. A process receives its own packets, too.
    Packet(Packet),
    /// The connection has changed. The driver reports the change; no packet carries it.
    Link(Link),
}

/// A change of the client's connection to the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// The client is connected, and has written its subscriptions ahead of all packets of this
    /// process. The server may not have confirmed the subscriptions yet: the first packet that
    /// comes back to its sender proves the confirmation. Also reported after each reconnection.
    Up { max_payload: usize },
    /// The client is disconnected. The driver drops packets that are published meanwhile.
    Down,
}

impl LeaderClaim {
    /// Size in bytes, by which packets are split.
    #[must_use]
    pub fn bytes(&self) -> usize {
        bytes::CLAIM + 2 * self.value.as_str().len()
    }
}

impl Entry {
    /// Size in bytes, by which packets are split.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let claim = self.claim.as_ref().map_or(0, LeaderClaim::bytes);
        bytes::ENTRY + claim + self.tombstones.len() * bytes::TOMBSTONE
    }
}

impl Packet {
    /// Size in bytes, by which packets are split: never less than a codec writes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let entries = |entries: &[Entry]| entries.iter().map(Entry::bytes).sum::<usize>();
        bytes::HEADER
            + match &self.body {
                Body::Ask(ask) => ask.elections.len() * bytes::NAME,
                Body::Call(call) => entries(&call.entries),
                Body::Reply(reply) => reply.answers.len() * bytes::ANSWER + entries(&reply.entries),
                Body::Resign(resign) => resign.ended.len() * (bytes::NAME + bytes::TOMBSTONE),
            }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(packet) => packet.fmt(f),
            Self::Link(Link::Up { max_payload }) => write!(f, "link up, {max_payload} bytes"),
            Self::Link(Link::Down) => f.write_str("link down"),
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { sender, rank, .. } = &self.header;
        write!(f, "{sender} rank {rank}")?;
        match &self.body {
            Body::Ask(Ask { round, part, elections }) => {
                write!(f, " asks {round}{part}")?;
                elections.iter().try_for_each(|election| write!(f, "; {election}"))
            }
            Body::Call(Call { round, part, entries }) => {
                write!(f, " calls {round}{part}")?;
                entries.iter().try_for_each(|entry| write!(f, "; {entry}"))
            }
            Body::Reply(Reply { answers, entries }) => {
                f.write_str(" replies to")?;
                for Answered { caller, round } in answers {
                    write!(f, " {caller} {round}")?;
                }
                entries.iter().try_for_each(|entry| write!(f, "; {entry}"))
            }
            Body::Resign(Resign { ended }) => {
                f.write_str(" resigns")?;
                ended.iter().try_for_each(|(election, dead)| write!(f, "; {election}: {dead}"))
            }
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { election, eligible, digest, claim, tombstones } = self;
        write!(f, "{election}:")?;
        if *eligible {
            f.write_str(" eligible")?;
        }
        match claim {
            Some(claim) if *digest == Digest::default() => write!(f, " if heard, {claim}")?,
            Some(claim) => write!(f, " {claim}")?,
            None if *digest == Digest::default() => f.write_str(" nobody leads")?,
            None => f.write_str(" as known")?,
        }
        tombstones.iter().try_for_each(|dead| write!(f, ", {dead}"))
    }
}

impl fmt::Display for LeaderClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leader, rank: _, term, until, value } = self;
        write!(f, "{leader} leads in term {term} until {until}")?;
        if value.as_str().is_empty() { Ok(()) } else { write!(f, " {:?}", value.as_str()) }
    }
}

impl fmt::Display for Tombstone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leader, term, until: _, successor } = self;
        write!(f, "{leader} has ended term {term}")?;
        match successor {
            Some(successor) => write!(f, " for {successor}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            1 => Ok(()),
            of => write!(f, " part {} of {of}", u32::from(self.number) + 1),
        }
    }
}

//! Packets of the bus, field by field. A driver writes them in bytes.
//!
//! Every packet stands alone: of a batch that is split into parts each has the whole [`Header`],
//! and what is not in a part that arrived is unknown, not absent (ruling 9). A list that is longer
//! than the bound beside it makes the whole packet malformed.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::identity::{Participant, Rank};
use crate::name::{ClusterName, ElectionName, Value};
use crate::time::WallTime;

/// The field `version` of a packet. Packets of another version are dropped and counted.
pub const VERSION: u32 = 1;
/// The most entries of a packet, and the most elections of an [`Ask`].
pub const ENTRIES_MAX: usize = 512;
/// The most calls that one reply answers.
pub const ANSWERS_MAX: usize = 32;
/// The most tombstones of one entry.
pub const TOMBSTONES_MAX: usize = 4;
/// The most parts of a batch.
pub const PARTS_MAX: u16 = 1_024;
/// No packet is larger than this, or than the server's `max_payload` if that is less.
pub const PACKET_BYTES_MAX: usize = 65_536;
/// A server whose `max_payload` is less than this cannot be used.
pub const MAX_PAYLOAD_MIN: usize = 16_384;

/// The size of the parts of a packet when a batch is split. A codec must never write more bytes;
/// its tests compare.
pub mod bytes {
    /// A packet without its lists.
    pub const HEADER: usize = 1_024;
    /// An [`Answered`](super::Answered).
    pub const ANSWER: usize = 192;
    /// The name of an election in a list.
    pub const NAME: usize = 72;
    /// An [`Entry`](super::Entry) without claim and tombstones.
    pub const ENTRY: usize = 192;
    /// A [`LeaderClaim`](super::LeaderClaim), and a byte for each of its value, counted as if
    /// escaped.
    pub const CLAIM: usize = 448;
    /// A [`Tombstone`](super::Tombstone).
    pub const TOMBSTONE: usize = 448;
}

/// A packet, as each subscriber hears it, its sender included.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Packet {
    pub header: Header,
    pub body: Body,
}

/// The beginning of every packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// The cluster: a packet of another one is dropped and counted.
    pub cluster: ClusterName,
    pub sender: Participant,
    pub rank: Rank,
    /// The sender's wall clock when it sent this. Compared, never waited for.
    pub sent: WallTime,
    /// The times by which the sender goes.
    pub times: Times,
    /// Whether the sender has taken part for longer than its first initial wait: a newcomer whose
    /// times differ from those of one that has refuses to start (ruling 6).
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

/// Which kind of packet it is. Each has a subject of its own, so that permissions can tell them
/// apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// A question who leads, of one that is no candidate: changes nothing at those that hear it.
    Ask(Ask),
    Call(Call),
    /// The answer to questions and calls, heard by all.
    Reply(Reply),
    Resign(Resign),
}

/// A number that a participant gives each of its rounds, in increasing order, from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Round(pub u64);

/// Which part of a batch a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// From zero, below `of`.
    pub number: u16,
    /// How many there are, from one to [`PARTS_MAX`].
    pub of: u16,
}

/// A question for the leaders of these elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ask {
    pub round: Round,
    /// Which part of what it asks in this round.
    pub part: Part,
    /// At least one, at most [`ENTRIES_MAX`], each once.
    pub elections: Vec<ElectionName>,
}

/// The allcall: what the caller knows of its elections, and a request for the same of others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    pub round: Round,
    /// Which part of what it calls in this round.
    pub part: Part,
    /// At least one, at most [`ENTRIES_MAX`], each election once.
    pub entries: Vec<Entry>,
}

/// The views of the sender on the elections that it was asked about and takes part in, unless its
/// own call has said so already and the callers follow the same claims.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reply {
    /// Which questions and calls this answers: at least one, at most [`ANSWERS_MAX`].
    pub answers: Vec<Answered>,
    /// At most [`ENTRIES_MAX`], each election once. A reply without any says that its sender is
    /// there, and what its clock shows.
    pub entries: Vec<Entry>,
}

/// A question or call that is answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Answered {
    pub caller: Participant,
    pub round: Round,
}

/// The sender leads these elections no more. Calls and replies carry its tombstones as well.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Resign {
    /// At least one, at most [`ENTRIES_MAX`].
    pub ended: Vec<(ElectionName, Tombstone)>,
}

/// The view of a participant on one election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    pub election: ElectionName,
    /// Whether the sender is a candidate that could lead now: its initial wait is over, its last
    /// round was valid, it is not held off, its clock is right, and it wants to (ruling 1).
    pub eligible: bool,
    /// Stands for the leader by the view of the sender: a participant with another view repeats the
    /// claim that it knows. Zero beside an own claim says that the sender stands: it has not heard
    /// that claim itself yet, and may have to resign it. Such a claim beats no leader.
    pub digest: Digest,
    /// First-hand if its leader is the sender of the packet, otherwise relayed.
    pub claim: Option<LeaderClaim>,
    /// At most [`TOMBSTONES_MAX`].
    pub tombstones: Vec<Tombstone>,
}

/// A short hash of the claim that a participant follows; zero if it knows none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Digest(pub u32);

/// A claim to lead one election until a time.
///
/// The claim is named by (leader, term). A later `until` of the same is a renewal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaderClaim {
    pub leader: Participant,
    pub rank: Rank,
    /// A number that the leader gives each of its leaderships, in increasing order, from one.
    pub term: u64,
    /// E: the leader stops K before this by its own wall clock, all others wait until K after it by
    /// theirs (ruling 3).
    pub until: WallTime,
    /// The value that the leader shows to others.
    pub value: Value,
}

/// The end of a leadership before its lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tombstone {
    pub leader: Participant,
    /// The term. Earlier terms of the leader have ended as well.
    pub term: u64,
    /// E of the claim that has ended. The tombstone is carried until E + 2 K (ruling 7).
    pub until: WallTime,
    /// Whom it hands over to, if it does (ruling 2).
    pub successor: Option<Participant>,
}

/// Messages to the core: packets from the bus, and the state of the client's connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A packet that was heard, or is to be published. Own packets are heard like all others.
    Packet(Packet),
    /// The connection changed. Never travels, and is never sent.
    Link(Link),
}

/// The connection to the bus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// The connection is there, and the server has confirmed the subscriptions. Also sent for each
    /// reconnection.
    Up {
        /// The most bytes of a packet that the server takes.
        max_payload: usize,
    },
    /// The connection is gone. The driver drops packets that are published meanwhile, and keeps
    /// none.
    Down,
}

impl LeaderClaim {
    /// How many bytes it is counted as.
    #[must_use]
    pub fn bytes(&self) -> usize {
        bytes::CLAIM + 2 * self.value.as_str().len()
    }
}

impl Entry {
    /// How many bytes it is counted as.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let claim = self.claim.as_ref().map_or(0, LeaderClaim::bytes);
        bytes::ENTRY + claim + self.tombstones.len() * bytes::TOMBSTONE
    }
}

impl Packet {
    /// How many bytes it is counted as: never fewer than a codec writes.
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

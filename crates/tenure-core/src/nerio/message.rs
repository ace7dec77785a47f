//! Messages between candidates, grantors and observers, by their recipient.

use alloc::boxed::Box;
use core::fmt;
use core::net::SocketAddr;

use super::body::{
    FenceRead, FenceSeen, Granted, Leaving, List, Listed, Query, Refused, Release, Released,
    Remainder, Request, State, Verify, WordAndName, fmt_fence,
};
use super::epoch::{
    Accept, Accepted, Admission, Admit, Change, Changed, Current, Decided, DocumentPart,
    DocumentRead, EpochId, Found, Prepare, Promise, Ready, ReadyRead, Rests, RestsRead, Where,
};
use super::gone::{Gone, Supervisor};
use super::identity::Who;
use super::inventory::{Candidates, CandidatesHere, Elections, ElectionsHere};
use super::order::{Order, Ordered, StepDown};
use super::ring::{Ping, Pong};
use crate::time::Time;

/// The sender of a message, and its address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sender {
    /// Incarnation of the participant that the datagram names.
    pub who: Who,
    /// Address that the transport saw.
    pub address: SocketAddr,
    /// Whether the driver recognized the sender as the node with this name: by its key or, without
    /// keys, by its address. The core looks up whether this node is a member.
    pub proved: bool,
    /// Epoch for which the message is meant, as the envelope names it. Nothing proves that this
    /// epoch has begun.
    pub epoch: EpochId,
}

/// A message, typed by its recipient. Many messages share a datagram; none depends on another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// For a grantor, from any sender.
    Grantor(ToGrantor),
    /// For the candidate of its election.
    Candidate(ToCandidate),
    /// For the asker of a question.
    Asker(ToAsker),
}

/// A message for a grantor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ToGrantor {
    /// Candidate to grantor: grant me the lease (section 3, step 3).
    Request(Request),
    /// Candidate to grantor: I give the grant up (section 6).
    Release(Release),
    /// Leader to grantor: I no longer lead, and release when a promise is over (erratum 2).
    Leaving(Leaving),
    /// Observer to grantor: who holds this election (section 10.4)?
    Query(Query),
    /// Tool to grantor: which elections are there?
    List(List),
    /// Tool to grantor: which elections are there, who holds them, how many wait?
    Elections(Elections),
    /// Tool to grantor: who wants to lead this election?
    Candidates(Candidates),
    /// Authorized sender to grantor: the leadership with this fence is to end.
    Order(Order),
    /// Grantor without memory to grantor: how high are the fences?
    FenceRead(FenceRead),
    /// Any sender to grantor: which epoch have you entered?
    Where(Where),
    /// Any sender to grantor: a part of the document of this epoch, please.
    DocumentRead(DocumentRead),
    /// Proposer to grantor: promise to accept no earlier ballot (section 10.6).
    Prepare(Prepare),
    /// Proposer to grantor: accept this successor of your epoch.
    Accept(Accept),
    /// Grantor that enters an epoch to grantor: which leases may last?
    RestsRead(RestsRead),
    /// Grantor to grantors and holders of grants: the successor of an epoch is decided.
    Decided(Decided),
    /// Proposer to a seat of the successor: can you serve in that epoch?
    ReadyRead(ReadyRead),
    /// Operator to grantor: change the members.
    Change(Change),
    /// Grantor without memory, or member for it, to grantor: let this memory in.
    Admit(Admit),
    /// Member or observer to grantor: do you live (section 9)?
    Ping(Ping),
    /// Candidate to grantor: this member watches my process.
    Supervisor(Supervisor),
    /// Watching member to grantor: the process of this candidate has ended.
    Gone(Gone),
    /// Blank to grantor: promise to accept no earlier founding.
    Found(Found),
}

/// A message for a candidate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ToCandidate {
    /// Grantor to candidate: granted (section 3, step 6.2, with section 7's `T_q`).
    Granted(Granted),
    /// Grantor to candidate: not granted, and why (section 10.2).
    Refused(Refused),
    /// Grantor to candidate: the release arrived; no need to repeat it.
    Released(Released),
    /// Grantor to the holder of its grant: you are ordered to end your leadership.
    StepDown(StepDown),
    /// Verifier to leader: do you lead (section 10.5)?
    Verify(Verify),
}

/// An answer to an observer, a verifier, a grantor without memory, or a tool.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ToAsker {
    /// Leader to asker: for at least this much longer (section 10.5).
    Remainder(Remainder),
    /// Grantor to asker: the state of an election here.
    State(State),
    /// Grantor to grantor: no fence that I saw is above this.
    FenceSeen(FenceSeen),
    /// Grantor to asker: names of elections, a page of them.
    Listed(Listed),
    /// Grantor to asker: elections with their holders, a page of them.
    ElectionsHere(ElectionsHere),
    /// Grantor to asker: the holder of an election, a page of its waiting candidates.
    CandidatesHere(CandidatesHere),
    /// Grantor to the sender of an order: the outcome here.
    Ordered(Ordered),
    /// Grantor to asker: the epoch that I have entered.
    Current(Current),
    /// Grantor to asker: a part of a document.
    DocumentPart(DocumentPart),
    /// Grantor to proposer: a promise, or a refusal.
    Promise(Promise),
    /// Grantor to proposer: accepted.
    Accepted(Accepted),
    /// Grantor to asker: a page of the leases that may last. Boxed, because every message, also of
    /// a renewal, takes as much memory as the largest variant.
    Rests(Box<Rests>),
    /// Seat of a successor to proposer: ready, or not.
    Ready(Ready),
    /// Grantor to operator: the state of the change of members.
    Changed(Changed),
    /// Grantor to grantor: whether the memory may be let in.
    Admission(Admission),
    /// Grantor to asker: I live, and this is my weak leader.
    Pong(Pong),
}

/// Converts each body into its message.
macro_rules! carried {
    ($($taker:ident($to:ident): $($body:ident)+;)+) => {$($(
        impl From<$body> for Message {
            fn from(body: $body) -> Self {
                Self::$taker($to::$body(body))
            }
        }
    )+)+};
}

carried! {
    Grantor(ToGrantor): Request Release Leaving Query List Elections Candidates Order FenceRead
        Where DocumentRead Prepare Accept RestsRead Decided ReadyRead Change Admit Supervisor Gone
        Ping Found;
    Candidate(ToCandidate): Granted Refused Released StepDown Verify;
    Asker(ToAsker): Remainder State FenceSeen Listed ElectionsHere CandidatesHere Ordered
        Current DocumentPart Promise Accepted Ready Changed Admission Pong;
}

impl From<Rests> for Message {
    fn from(body: Rests) -> Self {
        Self::Asker(ToAsker::Rests(body.into()))
    }
}

impl Message {
    /// Whether the message counts only in its epoch, `epoch`. A verification may ask about a leader
    /// of any epoch, so from epoch 1 on it counts in every epoch. In epoch 0 a verification is
    /// bound, because another epoch 0 is of another cluster.
    #[must_use]
    pub const fn is_bound(&self, epoch: EpochId) -> bool {
        match self {
            Self::Candidate(ToCandidate::Verify(_)) | Self::Asker(ToAsker::Remainder(_)) => {
                epoch.number == 0
            }
            Self::Grantor(
                ToGrantor::Where(_)
                | ToGrantor::DocumentRead(_)
                | ToGrantor::Prepare(_)
                | ToGrantor::Accept(_)
                | ToGrantor::RestsRead(_)
                | ToGrantor::Decided(_)
                | ToGrantor::ReadyRead(_)
                | ToGrantor::Change(_)
                | ToGrantor::Admit(_)
                | ToGrantor::Found(_),
            )
            | Self::Asker(
                ToAsker::Current(_)
                | ToAsker::DocumentPart(_)
                | ToAsker::Promise(_)
                | ToAsker::Accepted(_)
                | ToAsker::Rests(_)
                | ToAsker::Ready(_)
                | ToAsker::Changed(_)
                | ToAsker::Admission(_),
            ) => false,
            Self::Grantor(_) | Self::Candidate(_) | Self::Asker(_) => true,
        }
    }
}

impl ToGrantor {
    /// The Start that an answer to this message names; zero if the answer names none.
    pub(super) const fn start(&self) -> Time {
        match self {
            Self::Request(m) => m.start,
            Self::Release(m) => m.start,
            Self::Leaving(m) => m.start,
            Self::Query(m) => m.start,
            Self::List(m) => m.start,
            Self::Elections(m) => m.start,
            Self::Candidates(m) => m.start,
            Self::Order(m) => m.start,
            Self::FenceRead(m) => m.start,
            Self::Where(m) => m.start,
            Self::DocumentRead(m) => m.start,
            Self::Change(m) => m.start,
            Self::Admit(m) => m.start,
            Self::Ping(m) => m.start,
            Self::Prepare(_)
            | Self::Accept(_)
            | Self::RestsRead(_)
            | Self::Decided(_)
            | Self::ReadyRead(_)
            | Self::Supervisor(_)
            | Self::Gone(_)
            | Self::Found(_) => Time::ZERO,
        }
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who, self.address)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grantor(message) => message.fmt(f),
            Self::Candidate(message) => message.fmt(f),
            Self::Asker(message) => message.fmt(f),
        }
    }
}

impl fmt::Display for ToGrantor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(m) => fmt_request(m, f),
            Self::Release(m) => {
                let next = WordAndName("next", m.next.as_ref());
                write!(f, "release {} start {}{next}", m.election, m.start)
            }
            Self::Leaving(m) => {
                write!(f, "leaving {} start {} in {:?}", m.election, m.start, m.held)
            }
            Self::Query(m) => write!(f, "query {} start {}", m.election, m.start),
            Self::List(m) => write!(f, "list start {}", m.start),
            Self::Elections(m) => write!(f, "{m}"),
            Self::Candidates(m) => write!(f, "{m}"),
            Self::Order(m) => write!(f, "{m}"),
            Self::FenceRead(m) => write!(f, "fence read start {}", m.start),
            Self::Where(m) => write!(f, "{m}"),
            Self::DocumentRead(m) => write!(f, "{m}"),
            Self::Prepare(m) => write!(f, "{m}"),
            Self::Accept(m) => write!(f, "{m}"),
            Self::RestsRead(m) => write!(f, "{m}"),
            Self::Decided(m) => write!(f, "{m}"),
            Self::ReadyRead(m) => write!(f, "{m}"),
            Self::Change(m) => write!(f, "{m}"),
            Self::Admit(m) => write!(f, "{m}"),
            Self::Ping(m) => write!(f, "{m}"),
            Self::Supervisor(m) => write!(f, "{m}"),
            Self::Gone(m) => write!(f, "{m}"),
            Self::Found(m) => write!(f, "{m}"),
        }
    }
}

impl fmt::Display for ToCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted(m) => {
                let accepted = if m.accepted { "accepted" } else { "not accepted" };
                let waited = if m.waited { " waited" } else { "" };
                let next_waits = if m.next_waits { " next waits" } else { "" };
                let waiting = WordAndName("waiting", m.waiting.as_ref());
                write!(f, "granted {} start {} stamp {} ", m.election, m.start, m.stamp)?;
                write!(f, "fence {accepted} seen {}{waited}{next_waits}{waiting}", m.seen)?;
                match m.wall {
                    Some(wall) => write!(f, " rest {:?}", wall.rest),
                    None => Ok(()),
                }
            }
            Self::Refused(m) => {
                write!(f, "refused {} start {} {} ", m.election, m.start, m.refusal)?;
                write!(
                    f,
                    "seen {}{}",
                    m.seen,
                    if m.name_shared.is_some() { " name shared" } else { "" }
                )
            }
            Self::Released(m) => write!(f, "released {} start {}", m.election, m.start),
            Self::StepDown(m) => write!(f, "{m}"),
            Self::Verify(m) => write!(f, "verify {} start {}", m.election, m.start),
        }
    }
}

impl fmt::Display for ToAsker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remainder(m) => {
                write!(f, "remainder {} start {} {:?}", m.election, m.start, m.remaining)?;
                fmt_fence(m.fence, f)
            }
            Self::State(m) => {
                write!(f, "state {} {} ", m.election, m.service)?;
                match &m.holder {
                    Some(holder) => write!(f, "held by {holder}")?,
                    None => f.write_str("free")?,
                }
                write!(f, ", {} waiting, seen {}", m.waiting, m.seen)
            }
            Self::FenceSeen(m) => write!(
                f,
                "fence seen {} delta_max {:?} {} start {}",
                m.seen,
                m.delta_max,
                if m.whole { "whole" } else { "empty" },
                m.start
            ),
            Self::Listed(m) => write!(f, "listed {} {} names", m.service, m.names.len()),
            Self::ElectionsHere(m) => write!(f, "{m}"),
            Self::CandidatesHere(m) => write!(f, "{m}"),
            Self::Ordered(m) => write!(f, "{m}"),
            Self::Current(m) => write!(f, "{m}"),
            Self::DocumentPart(m) => write!(f, "{m}"),
            Self::Promise(m) => write!(f, "{m}"),
            Self::Accepted(m) => write!(f, "{m}"),
            Self::Rests(m) => write!(f, "{m}"),
            Self::Ready(m) => write!(f, "{m}"),
            Self::Changed(m) => write!(f, "{m}"),
            Self::Admission(m) => write!(f, "{m}"),
            Self::Pong(m) => write!(f, "{m}"),
        }
    }
}

fn fmt_request(m: &Request, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let leading = if m.leading { " leading" } else { "" };
    let next = WordAndName("next", m.next.as_ref());
    let (election, start, delta, fence) = (&m.election, m.start, m.delta, m.fence);
    write!(f, "request {election} start {start} for {delta:?} ")?;
    if m.lease != delta {
        write!(f, "then {:?} ", m.lease)?;
    }
    write!(f, "fence {fence} first {} priority {}{leading}", m.first, m.priority)?;
    if let Some(fence) = m.announced {
        write!(f, " announced {fence}")?;
    }
    if let Some(wall) = m.wall {
        write!(f, " wall {}", wall.start)?;
    }
    write!(f, "{next}")
}

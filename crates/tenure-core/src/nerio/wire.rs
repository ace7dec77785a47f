//! The format of datagrams: an envelope, by which a reader decides whether to read on, and messages
//! that do not depend on each other.
//!
//! ```text
//! magic "TNRE" | version 8 | digest u64 LE | to u8 | epoch, inc, name (postcard) | message*
//! message = kind u8 | length u16 LE | body (postcard)
//! ```
//!
//! Epoch and digest are the [`EpochId`] for which the messages are meant (section 10.6); the digest
//! of epoch 0 covers the settings that all participants must share. An id in an envelope proves
//! nothing about its epoch. Datagrams for a member have its [number](super::Membership::number) in
//! `to`, and no other node handles them. Otherwise a host name might lead to another member, which
//! would end its own grant by a release for the member that was meant. Other datagrams have 0 in
//! `to`. A reader skips and counts messages of an unknown kind, so that kinds can be added. With a
//! bound on skew, requests and oks have the kinds 48 and 49, and begin with their wall times.
//!
//! Any sender can ask in any name, so questions must not be much shorter than their answers. A
//! datagram must have [`REQUEST_BYTES`] for each request and each decision (kind 35) in it, and
//! [`QUESTION_BYTES`] for each other question. The other questions are a verification, a query, a
//! fence read, a question for a list (kinds 9, 17, 19), an order (21), a ping (14), a question for
//! the epoch or its document (25, 27), or about the next epoch (29, 31, 33, 36, 38, 40, 43). Zeros
//! of kind 255 fill the datagram up. A reader ignores a question in a datagram that is too short.

mod of_skew;

use alloc::vec::Vec;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::body::{Granted, Request};
use super::epoch::EpochId;
use super::identity::{Inc, Who};
use super::message::{Message, ToAsker, ToCandidate, ToGrantor};
use crate::name::NodeName;

const MAGIC: [u8; 4] = *b"TNRE";
const TO: usize = MAGIC.len() + 1 + 8;
const FIXED: usize = TO + 1;
const FRAME: usize = 3;

/// The version of datagrams, the byte behind the magic. Readers drop other versions. Sealed
/// datagrams have the versions 5 to 7, and the driver opens them.
pub const VERSION: u8 = 8;

/// The maximum number of bytes in a datagram.
pub const DATAGRAM_MAX: usize = 1_200;

/// Bytes of a datagram for each question, with its filler. The answer is at most four times as
/// long. For an order this bound holds for the answer and the message to the holder together.
pub const QUESTION_BYTES: usize = 280;

/// Bytes of a datagram for each request, which bound the size of the refusal or the ok.
pub const REQUEST_BYTES: usize = 144;

/// Zeros behind a question or a request.
const FILLER: u8 = u8::MAX;

/// The part of an envelope that names the sender and the membership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub epoch: EpochId,
    pub who: Who,
}

#[derive(Serialize, Deserialize)]
struct Head {
    epoch: u64,
    inc: [u8; 16],
    name: NodeName,
}

/// The reason why a datagram, or a message in it, was dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Shorter than an envelope, or longer than [`DATAGRAM_MAX`].
    Size,
    /// No datagram of Tenure.
    Magic,
    /// A datagram of another version.
    Version(u8),
    /// An envelope or a message that does not decode.
    Malformed,
    /// A message of a kind that this version does not know.
    Kind(u8),
    /// A question or a request in a datagram that is too short for it.
    Question,
}

impl Dropped {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Magic => "magic",
            Self::Version(_) => "version",
            Self::Malformed => "malformed",
            Self::Kind(_) => "kind",
            Self::Question => "question",
        }
    }
}

/// A builder of datagrams of one sender.
#[derive(Clone, Debug)]
pub struct Packer {
    head: Vec<u8>,
}

impl Packer {
    /// Builds datagrams with this envelope.
    #[must_use]
    pub fn new(envelope: &Envelope) -> Self {
        let Envelope { epoch, who } = envelope;
        let mut head = Vec::with_capacity(128);
        head.extend_from_slice(&MAGIC);
        head.push(VERSION);
        head.extend_from_slice(&epoch.digest.to_le_bytes());
        head.push(0);
        let (inc, name) = (who.inc.0.to_le_bytes(), who.name.clone());
        push(&mut head, &Head { epoch: epoch.number, inc, name });
        Self { head }
    }

    /// A datagram without messages, whose envelope shows a peer the digest of this node's settings.
    #[must_use]
    pub fn start(&self) -> Vec<u8> {
        let mut datagram = Vec::with_capacity(DATAGRAM_MAX);
        datagram.extend_from_slice(&self.head);
        datagram
    }

    /// Resets `datagram` to a datagram without messages.
    pub fn restart(&self, datagram: &mut Vec<u8>) {
        datagram.clear();
        datagram.extend_from_slice(&self.head);
    }

    /// Addresses `datagram` to the member with this [number](super::Membership::number) alone; 0 is
    /// any node.
    pub fn address(datagram: &mut [u8], number: u8) {
        if let Some(to) = datagram.get_mut(TO) {
            *to = number;
        }
    }

    /// Appends `message`; false if it does not fit. Every message fits into a new datagram.
    /// Questions are filled up to [`QUESTION_BYTES`], requests to [`REQUEST_BYTES`].
    pub fn push(&self, datagram: &mut Vec<u8>, message: &Message) -> bool {
        let before = datagram.len();
        let full = before + least(kind(message));
        if full > DATAGRAM_MAX {
            return false;
        }
        datagram.extend_from_slice(&[kind(message), 0, 0]);
        push_body(datagram, message);
        let length = datagram.len() - before - FRAME;
        if datagram.len() < full {
            let zeros = full.saturating_sub(datagram.len() + FRAME);
            let [low, high] = u16::try_from(zeros).unwrap_or_default().to_le_bytes();
            datagram.extend_from_slice(&[FILLER, low, high]);
            datagram.resize(datagram.len() + zeros, 0);
        }
        let (true, Ok(length)) = (datagram.len() <= DATAGRAM_MAX, u16::try_from(length)) else {
            datagram.truncate(before);
            return false;
        };
        datagram[before + 1..before + FRAME].copy_from_slice(&length.to_le_bytes());
        true
    }
}

/// The [number](super::Membership::number) of the member that a datagram is for; 0 is any node.
#[must_use]
pub fn recipient(datagram: &[u8]) -> u8 {
    datagram.get(TO).copied().unwrap_or(0)
}

/// Reads the envelope of a datagram of any epoch, and returns its messages.
pub fn open(datagram: &[u8]) -> Result<(Envelope, Messages<'_>), Dropped> {
    if datagram.len() < FIXED || datagram.len() > DATAGRAM_MAX {
        return Err(Dropped::Size);
    }
    let (fixed, rest) = datagram.split_at(FIXED);
    let (magic, fixed) = fixed.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(Dropped::Magic);
    }
    if fixed[0] != VERSION {
        return Err(Dropped::Version(fixed[0]));
    }
    let mut digest = [0; 8];
    digest.copy_from_slice(&fixed[1..=8]);
    let (head, rest) = postcard::take_from_bytes::<Head>(rest).map_err(|_| Dropped::Malformed)?;
    let epoch = EpochId { number: head.epoch, digest: u64::from_le_bytes(digest) };
    let who = Who { name: head.name, inc: Inc(u128::from_le_bytes(head.inc)) };
    Ok((Envelope { epoch, who }, Messages { rest, room: datagram.len() }))
}

/// The messages of a datagram, one after the other. The iterator reports a bad message, and ends
/// there or skips it by its frame.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    /// Bytes of the datagram that its further questions and requests may use.
    room: usize,
}

impl Iterator for Messages<'_> {
    type Item = Result<Message, Dropped>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some((kind, body)) = self.take_frame() else {
                self.rest = &[];
                return Some(Err(Dropped::Malformed));
            };
            if kind == FILLER {
                continue;
            }
            let Some(less) = self.room.checked_sub(least(kind)) else {
                return Some(Err(Dropped::Question));
            };
            self.room = less;
            return Some(decode(kind, body));
        }
    }
}

impl<'a> Messages<'a> {
    fn take_frame(&mut self) -> Option<(u8, &'a [u8])> {
        let (frame, rest) = self.rest.split_at_checked(FRAME)?;
        let length = usize::from(u16::from_le_bytes([frame[1], frame[2]]));
        let (body, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some((frame[0], body))
    }
}

/// The minimum size in bytes of a datagram with a message of this kind: any sender may ask, and may
/// forge the address to which the answer goes.
const fn least(kind: u8) -> usize {
    match kind {
        // The recipient of a decision answers with a question for the document.
        REQUEST | WALL_REQUEST | DECIDED => REQUEST_BYTES,
        VERIFY | QUERY | LIST | FENCE_READ | ELECTIONS | CANDIDATES | ORDER | WHERE
        | DOCUMENT_READ | PREPARE | ACCEPT | RESTS_READ | READY_READ | CHANGE | ADMIT | FOUND
        | PING => QUESTION_BYTES,
        _ => 0,
    }
}

/// Whether messages of this kind have filler, so that their answers may be longer.
pub(super) const fn is_padded(message: &Message) -> bool {
    least(kind(message)) > 0
}

/// The bytes of `part` in a message.
pub(super) fn length(part: &impl Serialize) -> usize {
    // Cannot fail, because every type here serializes. A failure would count as too long.
    postcard::serialize_with_flavor(part, postcard::ser_flavors::Size::default())
        .unwrap_or(DATAGRAM_MAX)
}

fn push<T: Serialize>(into: &mut Vec<u8>, part: &T) {
    // Cannot fail: the output grows, and every type here serializes.
    let taken = core::mem::take(into);
    *into = postcard::to_extend(part, taken).unwrap_or_default();
}

fn pull<T: DeserializeOwned>(body: &[u8], wrap: fn(T) -> Message) -> Result<Message, Dropped> {
    match postcard::take_from_bytes::<T>(body) {
        Ok((part, [])) => Ok(wrap(part)),
        _ => Err(Dropped::Malformed),
    }
}

macro_rules! kinds {
    ($($number:tt => $taker:ident($to:ident::$body:ident),)+) => {
        const fn kind(message: &Message) -> u8 {
            match message {
                Message::Grantor(ToGrantor::Request(Request { wall: Some(_), .. })) => {
                    WALL_REQUEST
                }
                Message::Candidate(ToCandidate::Granted(Granted { wall: Some(_), .. })) => {
                    WALL_GRANTED
                }
                $(Message::$taker($to::$body(_)) => $number,)+
            }
        }

        fn push_body(into: &mut Vec<u8>, message: &Message) {
            of_skew::push_wall(into, message);
            match message {
                $(Message::$taker($to::$body(part)) => push(into, part),)+
            }
        }

        fn decode(kind: u8, body: &[u8]) -> Result<Message, Dropped> {
            match kind {
                WALL_REQUEST => pull(body, of_skew::request),
                WALL_GRANTED => pull(body, of_skew::granted),
                $($number => pull(body, |part| Message::$taker($to::$body(part))),)+
                unknown => Err(Dropped::Kind(unknown)),
            }
        }
    };
}

const REQUEST: u8 = 0;
const VERIFY: u8 = 5;
const QUERY: u8 = 7;
const LIST: u8 = 9;
const FENCE_READ: u8 = 11;
const PING: u8 = 14;
const ELECTIONS: u8 = 17;
const CANDIDATES: u8 = 19;
const ORDER: u8 = 21;
const WHERE: u8 = 25;
const DOCUMENT_READ: u8 = 27;
const PREPARE: u8 = 29;
const ACCEPT: u8 = 31;
const RESTS_READ: u8 = 33;
const DECIDED: u8 = 35;
const READY_READ: u8 = 36;
const CHANGE: u8 = 38;
const ADMIT: u8 = 40;
const FOUND: u8 = 43;
const WALL_REQUEST: u8 = 48;
const WALL_GRANTED: u8 = 49;

kinds! {
    REQUEST => Grantor(ToGrantor::Request),
    1 => Candidate(ToCandidate::Granted),
    2 => Candidate(ToCandidate::Refused),
    3 => Grantor(ToGrantor::Release),
    4 => Candidate(ToCandidate::Released),
    VERIFY => Candidate(ToCandidate::Verify),
    6 => Asker(ToAsker::Remainder),
    QUERY => Grantor(ToGrantor::Query),
    8 => Asker(ToAsker::State),
    LIST => Grantor(ToGrantor::List),
    10 => Asker(ToAsker::Listed),
    FENCE_READ => Grantor(ToGrantor::FenceRead),
    12 => Asker(ToAsker::FenceSeen),
    PING => Grantor(ToGrantor::Ping),
    15 => Asker(ToAsker::Pong),
    13 => Grantor(ToGrantor::Gone),
    16 => Grantor(ToGrantor::Leaving),
    ELECTIONS => Grantor(ToGrantor::Elections),
    18 => Asker(ToAsker::ElectionsHere),
    CANDIDATES => Grantor(ToGrantor::Candidates),
    20 => Asker(ToAsker::CandidatesHere),
    ORDER => Grantor(ToGrantor::Order),
    22 => Asker(ToAsker::Ordered),
    23 => Candidate(ToCandidate::StepDown),
    WHERE => Grantor(ToGrantor::Where),
    26 => Asker(ToAsker::Current),
    DOCUMENT_READ => Grantor(ToGrantor::DocumentRead),
    28 => Asker(ToAsker::DocumentPart),
    PREPARE => Grantor(ToGrantor::Prepare),
    30 => Asker(ToAsker::Promise),
    ACCEPT => Grantor(ToGrantor::Accept),
    32 => Asker(ToAsker::Accepted),
    RESTS_READ => Grantor(ToGrantor::RestsRead),
    34 => Asker(ToAsker::Rests),
    DECIDED => Grantor(ToGrantor::Decided),
    READY_READ => Grantor(ToGrantor::ReadyRead),
    37 => Asker(ToAsker::Ready),
    CHANGE => Grantor(ToGrantor::Change),
    39 => Asker(ToAsker::Changed),
    ADMIT => Grantor(ToGrantor::Admit),
    41 => Asker(ToAsker::Admission),
    42 => Grantor(ToGrantor::Supervisor),
    FOUND => Grantor(ToGrantor::Found),
}

#[cfg(test)]
mod of_epochs;

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::String;
    use core::net::SocketAddr;
    use core::time::Duration;

    use super::super::body::{
        FenceRead, FenceSeen, Holder, List, Listed, Query, Raising, Refusal, Refused, Release,
        Released, Service, State, Verify,
    };
    use super::super::config::Config;
    use super::super::epoch::{Current, DocumentPart, DocumentRead, Where};
    use super::super::gone::{Gone, Supervisor};
    use super::super::grantor::inventory::{CANDIDATES_BYTES, ELECTIONS_BYTES};
    use super::super::grantor::listing::PAGE_BYTES;
    use super::super::identity::{Boot, Instance, Mark, Stamp};
    use super::super::inventory::{
        CandidateHere, Candidates, CandidatesHere, ElectionHere, Elections, ElectionsHere,
        HolderHere, Which,
    };
    use super::super::order::{Order, Ordered, Passed, StepDown};
    use super::super::ring::{Ping, Pong};
    use super::super::roster::{Entry, Roster};
    use super::*;
    use crate::fence::Fence;
    use crate::name::{ElectionName, Value};
    use crate::time::Time;

    fn full(byte: &str, length: usize) -> String {
        byte.repeat(length)
    }

    fn who() -> Who {
        let name = NodeName::new(&full("n", NodeName::MAX_BYTES)).unwrap();
        Who { name, inc: Inc(u128::MAX) }
    }

    const fn epoch(digest: u64) -> EpochId {
        EpochId { number: 0, digest }
    }

    fn packer(digest: u64) -> Packer {
        Packer::new(&Envelope { epoch: epoch(digest), who: who() })
    }

    fn holder() -> Holder {
        Holder {
            who: who(),
            address: SocketAddr::new([u16::MAX; 8].into(), u16::MAX),
            value: Value::new(&full("v", Value::MAX_BYTES)).unwrap(),
            remaining: Duration::MAX,
            start: Time::MAX,
            priority: u8::MAX,
            leading: true,
            next: true,
            fence: Some(Fence::new(u64::MAX)),
            leaving: Some(Duration::MAX),
            lease: Duration::MAX,
        }
    }

    /// A holder as a refusal names it.
    fn rival() -> Holder {
        Holder { value: Value::new("").unwrap(), lease: Duration::ZERO, ..holder() }
    }

    fn pong() -> Message {
        let weak = Some(who().name);
        let (asker, start, instance) = (Inc(u128::MAX), Time::MAX, Instance(u128::MAX));
        Message::from(Pong { asker, start, instance, weak })
    }

    fn fence_seen() -> FenceSeen {
        let entry = Some(Entry { instance: Instance(u128::MAX), founder: true });
        FenceSeen {
            asker: Inc(u128::MAX),
            start: Time::MAX,
            seen: Fence::new(u64::MAX),
            delta_max: Duration::MAX,
            whole: true,
            leader: Duration::MAX,
            roster: Roster::new(alloc::vec![entry; Config::MEMBERS_MAX]),
        }
    }

    fn elections_here() -> Message {
        let election = ElectionName::new(&full("e", ElectionName::MAX_BYTES)).unwrap();
        let service = Service::Quarantine { remaining: Duration::MAX };
        let here = ElectionHere {
            election: election.clone(),
            holder: Some(HolderHere {
                who: who(),
                fence: Some(Fence::new(u64::MAX)),
                remaining: Duration::MAX,
                leaving: Some(Duration::MAX),
            }),
            waiting: u16::MAX,
        };
        let elections = alloc::vec![here.clone(); ELECTIONS_BYTES / length(&here)];
        let (asker, start, more_after) = (Inc(u128::MAX), Time::MAX, Some(election));
        Message::from(ElectionsHere { asker, start, service, elections, more_after })
    }

    fn candidates_here() -> Message {
        let election = ElectionName::new(&full("e", ElectionName::MAX_BYTES)).unwrap();
        let service = Service::Quarantine { remaining: Duration::MAX };
        let here =
            CandidateHere { who: who(), priority: u8::MAX, leading: true, waited: Duration::MAX };
        Message::from(CandidatesHere {
            election,
            asker: Inc(u128::MAX),
            start: Time::MAX,
            service,
            holder: Some(Box::new(Holder { lease: Duration::MAX, ..rival() })),
            waiting: alloc::vec![here.clone(); CANDIDATES_BYTES / length(&here)],
            more: true,
        })
    }

    fn step_down() -> Message {
        Message::from(StepDown {
            election: ElectionName::new(&full("e", ElectionName::MAX_BYTES)).unwrap(),
            holder: Inc(u128::MAX),
            fence: Fence::new(u64::MAX),
            next: Some(who().name),
            number: u64::MAX,
            from: holder().address,
        })
    }

    fn current() -> Message {
        let last = EpochId { number: u64::MAX, digest: u64::MAX };
        Message::from(Current {
            asker: Inc(u128::MAX),
            start: Time::MAX,
            epoch: last,
            founding: u64::MAX,
            before: last,
            instance: Instance(u128::MAX),
            entered: true,
            service: Service::Quarantine { remaining: Duration::MAX },
            length: u32::MAX,
        })
    }

    fn document_part() -> Message {
        Message::from(DocumentPart {
            asker: Inc(u128::MAX),
            start: Time::MAX,
            epoch: EpochId { number: u64::MAX, digest: u64::MAX },
            offset: u32::MAX,
            total: u32::MAX,
            bytes: alloc::vec![u8::MAX; DocumentPart::BYTES_MAX],
        })
    }

    fn ordered() -> Message {
        Message::from(Ordered {
            election: ElectionName::new(&full("e", ElectionName::MAX_BYTES)).unwrap(),
            asker: Inc(u128::MAX),
            start: Time::MAX,
            passed: Passed::Unsealed,
        })
    }

    /// Each kind whose size depends on names, with the longest names.
    fn largest() -> Vec<Message> {
        let election = ElectionName::new(&full("e", ElectionName::MAX_BYTES)).unwrap();
        let (start, asker, seen) = (Time::MAX, Inc(u128::MAX), Fence::new(u64::MAX));
        let value = Value::new(&full("v", Value::MAX_BYTES)).unwrap();
        let service = Service::Quarantine { remaining: Duration::MAX };
        // The names of a grantor's page, and one name more.
        let names = alloc::vec![election.clone(); PAGE_BYTES / (ElectionName::MAX_BYTES + 2) + 1];
        alloc::vec![
            Message::from(Request {
                election: election.clone(),
                start,
                delta: Duration::MAX,
                lease: Duration::MAX,
                first: start,
                fence: seen,
                announced: Some(seen),
                priority: u8::MAX,
                leading: true,
                next: Some(who().name),
                value,
                wall: None,
            }),
            Message::from(Granted {
                election: election.clone(),
                asker,
                start,
                instance: Instance(u128::MAX),
                memories: alloc::vec![Mark([u8::MAX; 8]); Config::MEMBERS_MAX],
                stamp: Stamp { boot: Boot(u64::MAX), clock: start, counter: u32::MAX },
                accepted: true,
                seen,
                waited: true,
                next_waits: true,
                waiting: Some(who().name),
                wall: None,
            }),
            Message::from(Refused {
                election: election.clone(),
                asker,
                start,
                refusal: Refusal::Held { holder: Box::new(rival()), parked: true },
                seen,
                name_shared: Some(holder().address),
            }),
            Message::from(Release { election: election.clone(), start, next: Some(who().name) }),
            Message::from(State {
                election,
                asker,
                start,
                service,
                instance: Instance(u128::MAX),
                memories: alloc::vec![Mark([u8::MAX; 8]); Config::MEMBERS_MAX],
                holder: Some(Box::new(holder())),
                free_for: Duration::MAX,
                waiting: u16::MAX,
                seen,
                delta_max: Duration::MAX,
                raise: Some(Box::new(Raising { before: Duration::MAX, remaining: Duration::MAX })),
            }),
            Message::from(Listed { start, service, names, more: true }),
            Message::from(fence_seen()),
            elections_here(),
            candidates_here(),
            step_down(),
            ordered(),
            current(),
            document_part(),
        ]
        .into_iter()
        .chain([Gone { who: who() }.into(), Supervisor { name: who().name }.into()])
        .chain(of_epochs::largest())
        .collect()
    }

    #[test]
    fn longest_message_fits() {
        let epoch = EpochId { number: u64::MAX, digest: u64::MAX };
        let packer = Packer::new(&Envelope { epoch, who: who() });
        for message in largest() {
            let mut datagram = packer.start();
            assert!(packer.push(&mut datagram, &message), "{message}");
            let (envelope, mut messages) = open(&datagram).unwrap();
            assert_eq!(envelope.epoch, epoch);
            assert_eq!(messages.next(), Some(Ok(message)));
        }
    }

    /// Every message that any sender may send, as short as possible, and the possible answers to
    /// each.
    fn asks() -> Vec<(Message, Vec<Message>)> {
        let election = ElectionName::new("x").unwrap();
        let start = Time::ZERO;
        let answers = |is_it: fn(&Message) -> bool| -> Vec<Message> {
            largest().into_iter().filter(is_it).collect()
        };
        let told =
            || answers(|m| matches!(m, Message::Asker(ToAsker::State(_) | ToAsker::Listed(_))));
        let elections = Elections { start, which: Which::All, after: None };
        let candidates = Candidates { election: election.clone(), start, after: None };
        let request = Request {
            election: election.clone(),
            start,
            delta: Duration::ZERO,
            lease: Duration::ZERO,
            first: start,
            fence: Fence::NONE,
            announced: None,
            priority: 0,
            leading: false,
            next: None,
            value: Value::new("").unwrap(),
            wall: None,
        };
        let decided = answers(|m| {
            matches!(m, Message::Candidate(ToCandidate::Granted(_) | ToCandidate::Refused(_)))
        });
        let order =
            Order { election: election.clone(), start, number: 0, fence: Fence::NONE, next: None };
        let release = Release { election: election.clone(), start, next: None };
        let released = Released { election: election.clone(), asker: Inc(u128::MAX), start };
        let read = DocumentRead { start, epoch: EpochId::NONE, offset: 0 };
        alloc::vec![
            (Message::from(Verify { election: election.clone(), start }), told()),
            (Message::from(Query { election, start }), told()),
            (Message::from(List { start, after: None }), told()),
            (Message::from(elections), alloc::vec![elections_here()]),
            (Message::from(candidates), alloc::vec![candidates_here()]),
            (
                Message::from(FenceRead { start, instance: Instance(0), record: false }),
                alloc::vec![Message::from(fence_seen())],
            ),
            (Message::from(order), alloc::vec![ordered(), step_down()]),
            (Message::from(request), decided),
            (Message::from(release), alloc::vec![Message::from(released)]),
            (Message::from(Where { start }), alloc::vec![current()]),
            (Message::from(Ping { start }), alloc::vec![pong()]),
            (Message::from(read), alloc::vec![document_part()]),
        ]
        .into_iter()
        .chain(of_epochs::asks())
        .collect()
    }

    /// Fills one datagram with questions from a sender with a name of one byte. Each question gets
    /// an answer with the longest names.
    #[test]
    fn answers_amplify_at_most_four_times() {
        let who_asks = Who { name: NodeName::new("n").unwrap(), inc: Inc(0) };
        let asker = Packer::new(&Envelope { epoch: epoch(7), who: who_asks });
        let last = EpochId { number: u64::MAX, digest: 7 };
        let grantor = Packer::new(&Envelope { epoch: last, who: who() });
        for (question, mut answers) in asks() {
            // A grantor in another epoch answers with its own epoch.
            if is_padded(&question) && !matches!(question, Message::Grantor(ToGrantor::Order(_))) {
                answers.push(current());
            }
            let mut datagram = asker.start();
            let (mut asked, mut most) = (0, 0);
            while asker.push(&mut datagram, &question) {
                asked += 1;
                let each = answers.iter().map(|answer| together(&grantor, answer, asked));
                // The grantor answers an order, and also passes it on: count both messages.
                let all = match &question {
                    Message::Grantor(ToGrantor::Order(_)) => each.sum(),
                    _ => each.max().unwrap(),
                };
                most = most.max(all);
                assert!(most <= 4 * datagram.len(), "{asked} {question}: {most}");
            }
            let (_, messages) = open(&datagram).unwrap();
            assert!(asked > 1 && messages.flatten().count() == asked, "{question}");
        }
    }

    /// The bytes of `count` answers of one kind. Only confirmations of releases share datagrams.
    fn together(grantor: &Packer, answer: &Message, count: usize) -> usize {
        let mut reply = grantor.start();
        let head = reply.len();
        assert!(grantor.push(&mut reply, answer));
        match answer {
            Message::Candidate(ToCandidate::Released(_)) => head + count * (reply.len() - head),
            _ => count * reply.len(),
        }
    }

    /// An asker leaves out the filler: a reader takes only as many questions as the datagram has
    /// room for.
    #[test]
    fn short_questions_are_dropped() {
        let packer = packer(7);
        let padded = asks().into_iter().filter(|(question, _)| least(kind(question)) > 0);
        for (question, _) in padded {
            let least = least(kind(&question));
            let mut one = packer.start();
            let head = one.len();
            assert!(packer.push(&mut one, &question));
            let filler = one.iter().rposition(|byte| *byte == FILLER).unwrap();
            let mut datagram = one[..head].to_vec();
            let mut pushed = 0;
            while datagram.len() + filler - head <= DATAGRAM_MAX {
                pushed += 1;
                datagram.extend_from_slice(&one[head..filler]);
                let (_, messages) = open(&datagram).unwrap();
                let (asked, dropped): (Vec<_>, Vec<_>) = messages.partition(Result::is_ok);
                assert_eq!(asked.len(), pushed.min(datagram.len() / least));
                assert!(dropped.iter().all(|dropped| *dropped == Err(Dropped::Question)));
            }
            assert!(pushed > DATAGRAM_MAX / least, "{question}");
        }
    }

    #[test]
    fn datagram_names_its_member() {
        let packer = packer(7);
        let mut datagram = packer.start();
        assert_eq!(recipient(&datagram), 0);
        Packer::address(&mut datagram, 3);
        assert_eq!(recipient(&datagram), 3);
        assert!(open(&datagram).is_ok(), "the driver judges the recipient");
        packer.restart(&mut datagram);
        assert_eq!(recipient(&datagram), 0);
        Packer::address(&mut [], 3);
        assert_eq!(recipient(&[]), 0);
    }

    #[test]
    fn envelope_names_epoch_and_sender() {
        let packer = packer(8);
        let mut datagram = packer.start();
        assert!(packer.push(&mut datagram, &step_down()));
        let (envelope, messages) = open(&datagram).unwrap();
        assert_eq!(envelope, Envelope { epoch: epoch(8), who: who() });
        assert_eq!(messages.count(), 1);
        datagram.truncate(FIXED + 1);
        assert_eq!(open(&datagram).unwrap_err(), Dropped::Malformed);
    }

    #[test]
    fn drop_names_the_other_version() {
        let packer = packer(7);
        let mut datagram = packer.start();
        datagram[MAGIC.len()] = VERSION - 1;
        assert_eq!(open(&datagram).unwrap_err(), Dropped::Version(VERSION - 1));
    }
}

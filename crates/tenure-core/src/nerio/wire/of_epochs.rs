//! Messages about epochs for the tests of datagrams: the longest ones, and questions with answers.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::super::config::{Config, HostPort};
use super::super::epoch::{
    Accept, Accepted, Acceptor, AcceptorState, Admission, Admit, Ballot, Change, ChangeError,
    ChangeState, Changed, Decided, EpochId, HeldRest, Hindrance, Missing, Prepare, Promise,
    PromiseOutcome, Ready, ReadyRead, RestBounds, Rests, RestsRead, SeatChange, Unready,
};
use super::super::identity::{Inc, Instance, Mark, Who};
use super::super::message::Message;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName, Text};
use crate::time::Time;

const EPOCH: EpochId = EpochId { number: u64::MAX, digest: u64::MAX };
const BALLOT: Ballot = Ballot { counter: u64::MAX, inc: Inc(u128::MAX) };
const ASKER: Inc = Inc(u128::MAX);

fn full(byte: &str, length: usize) -> String {
    byte.repeat(length)
}

fn name() -> NodeName {
    NodeName::new(&full("n", NodeName::MAX_BYTES)).unwrap()
}

fn acceptor() -> Acceptor {
    let memories = alloc::vec![Mark([u8::MAX; 8]); Config::MEMBERS_MAX];
    Acceptor { instance: Instance(u128::MAX), memories }
}

fn promise() -> Message {
    let accepted = Some((BALLOT, EPOCH));
    let outcome = PromiseOutcome::Promised { accepted };
    Message::from(Promise {
        asker: ASKER,
        epoch: EPOCH,
        ballot: BALLOT,
        acceptor: acceptor(),
        outcome,
    })
}

fn accepted() -> Message {
    let (epoch, successor, acceptor) = (EPOCH, EPOCH, acceptor());
    Message::from(Accepted { asker: ASKER, epoch, ballot: BALLOT, successor, acceptor })
}

/// The page of a grantor with the longest names.
fn rests() -> Message {
    let election = ElectionName::new(&full("e", ElectionName::MAX_BYTES)).unwrap();
    let rest = HeldRest {
        election: election.clone(),
        who: Who { name: name(), inc: Inc(u128::MAX) },
        address: SocketAddr::new([u16::MAX; 8].into(), u16::MAX),
        start: Time::MAX,
        rest: Duration::MAX,
    };
    let mut page = Rests {
        asker: ASKER,
        into: EPOCH,
        acceptor: acceptor(),
        state: AcceptorState::Wedged { epoch: EPOCH, ballot: BALLOT, into: EPOCH },
        bounds: RestBounds {
            rest: Duration::MAX,
            unknown: Duration::MAX,
            floor: Fence::new(u64::MAX),
        },
        after: Some(election),
        rests: Vec::new(),
        more: true,
    };
    while super::length(&page) + super::length(&rest) <= Rests::BYTES_MAX {
        page.rests.push(rest.clone());
    }
    assert!(!page.rests.is_empty(), "a page has room for the longest rest");
    Message::from(page)
}

fn decided() -> Message {
    Message::from(Decided { ballot: Some(BALLOT), before: EPOCH, successor: EPOCH })
}

fn ready() -> Message {
    let (instance, unready) = (Instance(u128::MAX), Some(Unready::Disk));
    Message::from(Ready { asker: ASKER, successor: EPOCH, instance, unready })
}

fn changed() -> Message {
    let missing = Missing { name: name(), why: Some(Unready::OtherSettings) };
    let error = ChangeError::NotReady { who: alloc::vec![missing; Changed::NAMES_MAX] };
    let state = ChangeState::Refused(error);
    Message::from(Changed { asker: ASKER, start: Time::MAX, number: u64::MAX, state })
}

/// The longest question of an operator.
fn change() -> Message {
    let (start, number) = (Time::MAX, u64::MAX);
    let what = SeatChange::Add { name: name(), hosts: Vec::new() };
    let mut change = Change { start, number, what, quorums: None };
    let spare = Change::BYTES_MAX - super::length(&change) - 2;
    change.quorums = Some(Text::new(&full("q", spare)).unwrap());
    assert!(change.fits());
    Message::from(change)
}

/// The question of a blank at a host with this name.
fn admit(host: &str, name: NodeName) -> Message {
    let (start, instance) = (Time::MAX, Instance(u128::MAX));
    let host: HostPort = alloc::format!("{host}:65535").parse().unwrap();
    Message::from(Admit { start, name, instance, host })
}

fn admission() -> Message {
    let without = alloc::vec![name(); Changed::NAMES_MAX];
    let hindrance = Some(Hindrance::Few { without });
    let (start, instance) = (Time::MAX, Instance(u128::MAX));
    Message::from(Admission { asker: ASKER, start, name: name(), instance, hindrance })
}

/// Each kind, with the longest names.
pub(super) fn largest() -> Vec<Message> {
    alloc::vec![
        Message::from(Prepare { epoch: EPOCH, ballot: BALLOT }),
        promise(),
        Message::from(Accept { epoch: EPOCH, ballot: BALLOT, successor: EPOCH }),
        accepted(),
        rests(),
        decided(),
        Message::from(ReadyRead { successor: EPOCH }),
        ready(),
        change(),
        changed(),
        admit(&full("h.", 126), name()),
        admission(),
    ]
}

/// Each question, as short as possible, and the possible answers.
pub(super) fn asks() -> Vec<(Message, Vec<Message>)> {
    let (epoch, successor) = (EpochId::NONE, EpochId::NONE);
    let (ballot, into) = (Ballot::NONE, EpochId::NONE);
    let change = Change { start: Time::ZERO, number: 0, what: SeatChange::Cancel, quorums: None };
    alloc::vec![
        (Message::from(Prepare { epoch, ballot }), alloc::vec![promise(), decided()]),
        (
            Message::from(Accept { epoch, ballot, successor }),
            alloc::vec![accepted(), promise(), decided()],
        ),
        (Message::from(RestsRead { into, after: None }), alloc::vec![rests(), decided()]),
        (Message::from(ReadyRead { successor }), alloc::vec![ready()]),
        (Message::from(change), alloc::vec![changed()]),
        (admit("h", NodeName::new("n").unwrap()), alloc::vec![admission()]),
    ]
}

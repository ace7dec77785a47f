//! Messages about epochs, with drawn contents.

use tenure_core::nerio::epoch::{Ballot, HeldRest, RestBounds};
use tenure_core::nerio::{
    Accept, Accepted, Acceptor, AcceptorState, Admission, Admit, Change, ChangeError, ChangePhase,
    ChangeState, Changed, Decided, EpochId, Hindrance, HostPort, Instance, Message, Ping, Pong,
    Prepare, Promise, PromiseOutcome, Ready, ReadyRead, Rests, RestsRead, SeatChange, Unready,
};
use tenure_testkit::Rng;

use super::{
    any_address, any_document, any_election, any_epoch, any_name, any_who, asker, fence, flag,
    instance, number, span, time,
};

fn ballot(rng: &mut Rng) -> Ballot {
    Ballot { counter: number(rng), inc: asker(rng) }
}

fn acceptor(rng: &mut Rng) -> Acceptor {
    let memories = (0..rng.within(0..5)).map(|_| instance(rng).mark()).collect();
    Acceptor { instance: Instance(u128::from(rng.within(0..4))), memories }
}

/// The epoch of a known document, or a drawn epoch.
fn some_epoch(rng: &mut Rng) -> EpochId {
    if flag(rng) { any_document(rng).id() } else { any_epoch(rng) }
}

fn seat_change(rng: &mut Rng) -> SeatChange {
    let name = any_name(rng);
    match rng.within(0..4) {
        0 => SeatChange::Add { name, hosts: vec![HostPort::from(any_address(rng))] },
        1 => SeatChange::Remove { name },
        2 => {
            let hosts = (0..rng.within(0..3)).map(|_| HostPort::from(any_address(rng))).collect();
            SeatChange::Replace { name, hosts, instance: flag(rng).then(|| instance(rng)) }
        }
        _ => SeatChange::Cancel,
    }
}

fn change_state(rng: &mut Rng) -> ChangeState {
    match rng.within(0..4) {
        0 => ChangeState::Done { epoch: some_epoch(rng) },
        1 => {
            let waits_for = vec![any_name(rng)];
            ChangeState::Working { phase: ChangePhase::Asking, waits_for }
        }
        2 => ChangeState::Cancelled,
        _ => ChangeState::Refused(ChangeError::Outside),
    }
}

fn rests(rng: &mut Rng) -> Rests {
    let rest = |rng: &mut Rng| HeldRest {
        election: any_election(rng),
        who: any_who(rng),
        address: any_address(rng),
        start: time(rng),
        rest: span(rng),
    };
    let (epoch, ballot, into) = (some_epoch(rng), ballot(rng), some_epoch(rng));
    let wedged = AcceptorState::Wedged { epoch, ballot, into };
    Rests {
        asker: asker(rng),
        into: some_epoch(rng),
        acceptor: acceptor(rng),
        state: if flag(rng) { wedged } else { AcceptorState::Entered },
        bounds: RestBounds { rest: span(rng), unknown: span(rng), floor: fence(rng) },
        after: flag(rng).then(|| any_election(rng)),
        rests: (0..rng.within(0..3)).map(|_| rest(rng)).collect(),
        more: flag(rng),
    }
}

fn hindrance(rng: &mut Rng) -> Hindrance {
    let (span, needed, address) = (span(rng), span(rng), any_address(rng));
    match rng.within(0..6) {
        0 => Hindrance::Manual,
        1 => Hindrance::Two { addresses: [address, any_address(rng)] },
        2 => Hindrance::Lately { rest: span },
        3 => Hindrance::Heard { ago: span, needed },
        4 => Hindrance::Few { without: vec![any_name(rng)] },
        _ => Hindrance::Elsewhere { address },
    }
}

/// A message about the next epoch, or of the ring.
pub(super) fn anything(rng: &mut Rng) -> Message {
    let (asker, epoch, successor) = (asker(rng), some_epoch(rng), some_epoch(rng));
    let ballot = ballot(rng);
    match rng.within(0..15) {
        0 => Message::from(Prepare { epoch, ballot }),
        1 => {
            let outcome = match rng.within(0..3) {
                0 => PromiseOutcome::Promised { accepted: Some((ballot, successor)) },
                1 => PromiseOutcome::Refused { above: ballot },
                _ => PromiseOutcome::Later { rest: span(rng) },
            };
            Message::from(Promise { asker, epoch, ballot, acceptor: acceptor(rng), outcome })
        }
        2 => Message::from(Accept { epoch, ballot, successor }),
        3 => Message::from(Accepted { asker, epoch, ballot, successor, acceptor: acceptor(rng) }),
        4 => Message::from(RestsRead { into: epoch, after: None }),
        5 => Message::from(rests(rng)),
        6 => {
            let ballot = flag(rng).then_some(ballot);
            Message::from(Decided { ballot, before: epoch, successor })
        }
        7 => Message::from(ReadyRead { successor }),
        8 => {
            let unready = flag(rng).then_some(Unready::Disk);
            Message::from(Ready { asker, successor, instance: instance(rng), unready })
        }
        9 => {
            let (start, number, what) = (time(rng), number(rng), seat_change(rng));
            Message::from(Change { start, number, what, quorums: None })
        }
        10 => {
            let (start, number, state) = (time(rng), number(rng), change_state(rng));
            Message::from(Changed { asker, start, number, state })
        }
        11 => Message::from(Ping { start: time(rng) }),
        12 => {
            let (start, weak) = (time(rng), flag(rng).then(|| any_name(rng)));
            Message::from(Pong { asker, start, instance: instance(rng), weak })
        }
        13 => {
            let (start, name, instance) = (time(rng), any_name(rng), instance(rng));
            Message::from(Admit { start, name, instance, host: any_address(rng).into() })
        }
        _ => {
            let (start, name, instance) = (time(rng), any_name(rng), instance(rng));
            let hindrance = flag(rng).then(|| hindrance(rng));
            Message::from(Admission { asker, start, name, instance, hindrance })
        }
    }
}

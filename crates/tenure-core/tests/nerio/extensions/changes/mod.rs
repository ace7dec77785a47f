//! Changes of members (section 10.6): a test for each rule, under the number that the comments of
//! the core cite.
//!
//! The cluster is a, b, c in epoch 0, whose document is that of the settings. The node d is a
//! blank: it has an empty directory, and a list of all four.

mod admissions;
mod answers;
mod candidates;
mod entering;
mod grants;
mod replacements;
mod requests;
mod successive;
mod survivors;
mod votes;

use tenure_core::Fence;
use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{
    Accept, Change, ChangeState, Changed, Current, Decided, Document, DocumentPart, Effect,
    EpochId, Event, HostPort, Inc, Instance, Message, Origin, OwnEvent, Prepare, Promise, Request,
    Rests, RestsRead, Seat, SeatChange, Sender, Service, ToAsker, Where, Who,
};

use crate::story::*;

/// A recognized sender, whose messages are meant for this epoch. A name without a node has a
/// made-up incarnation.
fn sender_in(s: &Story, who: &str, epoch: EpochId) -> Sender {
    let inc = s.actors.get(who).map_or(Inc(1), |actor| actor.core.who().inc);
    Sender { who: Who { name: name(who), inc }, address: address(who), proved: true, epoch }
}

/// Hands over a made-up message of a recognized sender, meant for this epoch.
fn tell_in(
    s: &mut Story,
    epoch: EpochId,
    from: &str,
    to: &'static str,
    message: impl Into<Message>,
) -> Vec<Effect> {
    let from = sender_in(s, from, epoch);
    s.tell_as(&from, to, message.into())
}

/// Epoch 0.
fn zero(s: &Story) -> EpochId {
    s.config.membership().id()
}

/// The document of the present epoch of a node's candidates.
fn document(s: &Story, who: &str) -> Document {
    s.actors[who].core.membership().document().clone()
}

/// A document that follows epoch 0, with these seats.
fn successor(s: &mut Story, names: &[&'static str]) -> Document {
    let before = s.config.membership().document().clone();
    let seat = |who: &&'static str| Seat {
        name: name(who),
        instance: Some(instance(s, who)),
        hosts: vec![HostPort::from(address(who))],
    };
    let seats = names.iter().map(seat).collect();
    let (id, origin) = (before.id(), Origin::Changed);
    Document { number: 1, before: id, founding: id.digest, origin, seats, ..before }
}

/// The memory of a node, or a made-up one if there is no such node.
fn instance(s: &mut Story, who: &'static str) -> Instance {
    match s.actors.contains_key(who) {
        true => s.instance(who),
        false => Instance(u128::from(who.as_bytes()[0])),
    }
}

fn ballot(counter: u64) -> Ballot {
    Ballot { counter, inc: Inc(counter.into()) }
}

/// The only part of a document, for `who`.
fn part(s: &Story, who: &str, document: &Document) -> DocumentPart {
    let bytes = document.encode().unwrap();
    let (asker, total) = (s.who(who).inc, bytes.len() as u32);
    let start = s.now(who);
    DocumentPart { asker, start, epoch: document.id(), offset: 0, total, bytes }
}

fn prepare(s: &mut Story, from: &str, to: &'static str, ballot: Ballot) -> Vec<Effect> {
    let epoch = zero(s);
    tell_in(s, epoch, from, to, Prepare { epoch, ballot })
}

/// Member `from` asks `to` to accept the successor, and sends its document.
fn accept(
    s: &mut Story,
    from: &str,
    to: &'static str,
    ballot: Ballot,
    document: &Document,
) -> Vec<Effect> {
    let (epoch, successor) = (zero(s), document.id());
    let mut effects = tell_in(s, epoch, from, to, Accept { epoch, ballot, successor });
    let part = part(s, to, document);
    effects.extend(tell_in(s, epoch, from, to, part));
    effects
}

/// Member `from` tells `to` that the successor is decided, and sends its document.
fn decide(
    s: &mut Story,
    from: &str,
    to: &'static str,
    ballot: Option<Ballot>,
    document: &Document,
) -> Vec<Effect> {
    let epoch = zero(s);
    let decided = Decided { ballot, before: document.before, successor: document.id() };
    let mut effects = tell_in(s, epoch, from, to, decided);
    let part = part(s, to, document);
    effects.extend(tell_in(s, epoch, from, to, part));
    effects
}

/// The question of a node for rests, and the answer.
fn rests(s: &mut Story, from: &str, to: &'static str, read: RestsRead) -> Option<Rests> {
    let epoch = zero(s);
    let effects = tell_in(s, epoch, from, to, read);
    sent(&effects).find_map(|message| match message {
        Message::Asker(ToAsker::Rests(rests)) => Some((**rests).clone()),
        _ => None,
    })
}

fn promises(effects: &[Effect]) -> Vec<Promise> {
    let promise = |message: &Message| match message {
        Message::Asker(ToAsker::Promise(promise)) => Some(promise.clone()),
        _ => None,
    };
    sent(effects).filter_map(promise).collect()
}

fn has_accepted(effects: &[Effect]) -> bool {
    sent(effects).any(|message| matches!(message, Message::Asker(ToAsker::Accepted(_))))
}

fn has_told(effects: &[Effect], is_it: impl Fn(&OwnEvent) -> bool) -> bool {
    emitted(effects).iter().any(|event| matches!(event, Event::Own(event) if is_it(event)))
}

/// Whether a node has emitted an event of this kind since its start.
fn emitted_by(s: &Story, who: &str, is_it: impl Fn(&OwnEvent) -> bool) -> bool {
    s.events(who).iter().any(|event| matches!(event, Event::Own(event) if is_it(event)))
}

fn has_entered(s: &Story, who: &str, number: u64) -> bool {
    emitted_by(s, who, |event| matches!(event, OwnEvent::Entered { epoch, .. } if *epoch == number))
}

/// Starts a node with an empty directory and a list of a, b, c and itself. The members hear of it.
fn blank(s: &mut Story, who: &'static str) {
    let whole = config(&["a", "b", "c", who]).check().unwrap();
    let line = std::mem::replace(&mut s.config, whole);
    s.start_empty(who);
    s.config = line;
    s.run(ms(300));
}

/// The answer of a blank with memory 5 to a member that asks for its memory.
fn blank_memory(s: &Story, to: &str) -> Current {
    Current {
        asker: s.who(to).inc,
        start: at(1),
        epoch: EpochId { number: 0, digest: 7 },
        founding: 7,
        before: EpochId::NONE,
        instance: Instance(5),
        entered: false,
        service: Service::Starting,
        length: 0,
    }
}

fn add(who: &str) -> SeatChange {
    let hosts = vec![HostPort::from(address(who))];
    SeatChange::Add { name: name(who), hosts }
}

fn remove(who: &str) -> SeatChange {
    SeatChange::Remove { name: name(who) }
}

fn replace(who: &str) -> SeatChange {
    SeatChange::Replace { name: name(who), hosts: Vec::new(), instance: None }
}

/// An operator at r asks a member for a change.
fn ask(s: &mut Story, to: &'static str, number: u64, what: SeatChange) -> Vec<Effect> {
    let (epoch, start) = (zero(s), s.now("r"));
    tell_in(s, epoch, "r", to, Change { start, number, what, quorums: None })
}

/// The answers to an operator.
fn states(effects: &[Effect]) -> Vec<ChangeState> {
    let state = |message: &Message| match message {
        Message::Asker(ToAsker::Changed(Changed { state, .. })) => Some(state.clone()),
        _ => None,
    };
    sent(effects).filter_map(state).collect()
}

/// The state of a change, for an operator that asks again.
fn state(s: &mut Story, to: &'static str, number: u64, what: SeatChange) -> ChangeState {
    states(&ask(s, to, number, what)).pop().unwrap()
}

/// Changes the members by a, and lets time pass until all have entered the next epoch.
fn change(s: &mut Story, what: SeatChange) {
    change_by(s, "a", 7, what);
}

fn change_by(s: &mut Story, member: &'static str, number: u64, what: SeatChange) {
    ask(s, member, number, what.clone());
    s.run(ms(400));
    let done = state(s, member, number, what);
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
    s.run(ms(100));
}

/// A cluster of a, b, c and d in epoch 1, where p leads on.
fn grown() -> Story {
    let mut s = Story::new();
    s.elect("p");
    blank(&mut s, "d");
    change(&mut s, add("d"));
    s
}

/// A request in this epoch.
fn ask_in(
    s: &mut Story,
    epoch: EpochId,
    from: &str,
    to: &'static str,
    request: Request,
) -> Vec<Effect> {
    tell_in(s, epoch, from, to, request)
}

/// A question for the epoch of a node.
fn asked(start: u64) -> Where {
    Where { start: at(start) }
}

/// A fence of this number.
fn fence(number: u64) -> Fence {
    Fence::new(number)
}

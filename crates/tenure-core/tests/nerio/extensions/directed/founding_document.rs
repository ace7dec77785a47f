//! The founding of a cluster by a document that names the memories of all members.

use std::time::Duration;

use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{
    Accept, Change, ChangeState, Changed, Document, DocumentPart, Effect, Entry, EpochId, Event,
    FenceSeen, Found, FoundingTrouble, Inc, Instance, Message, Origin, OwnEvent, PromiseOutcome,
    Request, Roster, SeatChange, Sender, Service, ToAsker, ToGrantor, Who,
};
use tenure_core::{Fence, NodeName};

use crate::story::*;

/// Clock of all machines, in milliseconds since 1970.
pub(super) const WALL: u64 = 1_800_000_000_000;

/// Members that have started with empty directories.
pub(super) fn begun(members: &[&'static str]) -> Story {
    let mut s = Story::empty(config(&GRANTORS));
    s.wall = Some(WALL);
    for member in members {
        s.start_empty(member);
    }
    for candidate in CANDIDATES {
        s.start(candidate, None);
    }
    s
}

fn founded() -> Story {
    let mut s = begun(&GRANTORS);
    s.run(ms(3_500));
    s
}

pub(super) fn told(s: &Story, who: &str, is_it: impl Fn(&OwnEvent) -> bool) -> bool {
    s.events(who).iter().any(|event| matches!(event, Event::Own(event) if is_it(event)))
}

pub(super) fn serves(s: &Story, who: &str) -> bool {
    told(s, who, |event| *event == OwnEvent::Serving)
}

/// The document that a member has entered.
pub(super) fn entered(s: &Story, who: &str) -> Option<Document> {
    let document = s.actors[who].disk.as_ref()?.durable().standing.document()?;
    Some(Document::clone(document))
}

fn operator(s: &Story, to: &str) -> Sender {
    let who = Who { name: name("r"), inc: Inc(99) };
    let epoch = s.actors[to].core.membership().id();
    Sender { who, address: address("r"), proved: true, epoch }
}

/// The state of a change that an operator asks of a member.
fn change(s: &mut Story, to: &'static str, number: u64, what: SeatChange) -> Option<ChangeState> {
    let from = operator(s, to);
    let start = s.now("r");
    let effects = s.tell_as(&from, to, Change { start, number, what, quorums: None }.into());
    sent(&effects).find_map(|message| match message {
        Message::Asker(ToAsker::Changed(Changed { state, .. })) => Some(state.clone()),
        _ => None,
    })
}

fn replace(who: &str) -> SeatChange {
    SeatChange::Replace { name: name(who), hosts: Vec::new(), instance: None }
}

#[test]
fn document_names_all_memories() {
    let mut s = founded();
    let document = entered(&s, "a").unwrap();
    assert_eq!((document.origin, document.number), (Origin::Founded, 0));
    for (seat, member) in document.seats.iter().zip(GRANTORS) {
        assert_eq!(seat.instance, Some(s.instance(member)), "{member}");
        assert_eq!(entered(&s, member).as_ref(), Some(&document), "{member}");
        assert!(serves(&s, member) && told(&s, member, |event| *event == OwnEvent::Founded));
    }
    assert!(document.floor.number() >= WALL, "{}", document.floor);
    s.campaign("p");
    s.run(ms(1_500));
    assert_eq!(s.leader(), Some("p"));
    assert!(s.fence("p") > document.floor.number());
}

/// A candidate that has asked members before the founding goes on in the founded epoch.
#[test]
fn early_candidate_leads() {
    let mut s = begun(&GRANTORS);
    s.campaign("p");
    s.run(ms(6_000));
    assert_eq!(s.leader(), Some("p"));
    assert_eq!(s.actors["p"].core.membership().document(), &entered(&s, "a").unwrap());
}

#[test]
fn all_members_are_needed() {
    let mut s = begun(&["a", "b"]);
    s.run(ms(20_000));
    let waits = |event: &OwnEvent| match event {
        OwnEvent::RecoveryWaits { silent, .. } => *silent == [name("c")],
        _ => false,
    };
    for member in ["a", "b"] {
        assert!(!serves(&s, member) && told(&s, member, waits), "{:?}", s.events(member));
    }
    s.start_empty("c");
    s.run(ms(4_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// The list of b has a wrong address of c. Every member names the two, and founds the cluster once
/// the list is right.
#[test]
fn wrong_list_is_named() {
    let mut s = begun(&GRANTORS);
    for _ in 0..400 {
        s.pass(ms(10));
        for letter in s.take("b", "c").iter().filter(|letter| !is_read(&letter.message)) {
            s.put(letter);
        }
        s.deliver_all();
    }
    let waits = |lists: [&[&str]; 3]| {
        let [silent, deaf, unasked] = lists.map(|list| list.iter().map(|of| name(of)).collect());
        let is_it: [Vec<NodeName>; 3] = [silent, deaf, unasked];
        move |event: &OwnEvent| match event {
            OwnEvent::RecoveryWaits { silent, deaf, unasked, .. } => {
                is_it.iter().eq([silent, deaf, unasked])
            }
            _ => false,
        }
    };
    let alone: [(&str, [&[&str]; 3]); 3] =
        [("a", [&[], &["b"], &[]]), ("b", [&["c"], &[], &[]]), ("c", [&[], &[], &["b"]])];
    for (member, lists) in alone {
        assert!(!serves(&s, member) && told(&s, member, waits(lists)), "{:?}", s.events(member));
    }
    s.run(ms(4_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

fn is_read(message: &Message) -> bool {
    matches!(message, Message::Grantor(ToGrantor::FenceRead(_)))
}

/// Members that found a cluster without a fault name no member as deaf.
#[test]
fn ordinary_founding_blames_nobody() {
    let mut s = begun(&["a", "b"]);
    s.run(ms(3_000));
    s.start_empty("c");
    s.run(ms(4_000));
    let blames = |event: &OwnEvent| match event {
        OwnEvent::RecoveryWaits { deaf, unasked, .. } => !(deaf.is_empty() && unasked.is_empty()),
        _ => false,
    };
    for member in GRANTORS {
        assert!(serves(&s, member) && !told(&s, member, blames), "{:?}", s.events(member));
    }
}

#[test]
fn lost_memory_stays_outside() {
    let mut s = founded();
    s.lose_disk("c");
    s.run(ms(10_000));
    assert!(!serves(&s, "c"), "{:?}", s.events("c"));
    let manual =
        |event: &OwnEvent| matches!(event, OwnEvent::Awaited { name: of, .. } if *of == name("c"));
    assert!(told(&s, "c", manual), "{:?}", s.events("c"));
    assert!(matches!(s.actors["c"].core.service(s.now("c")), Some(Service::Recovering { .. })));
    change(&mut s, "a", 7, replace("c"));
    s.run(ms(1_000));
    let state = change(&mut s, "a", 7, replace("c"));
    assert!(matches!(state, Some(ChangeState::Done { .. })), "{state:?}");
    s.run(ms(500));
    assert!(serves(&s, "c"));
    let document = entered(&s, "c").unwrap();
    assert_eq!((document.number, document.founding), (1, entered_founding(&s)));
}

/// The digest that the members' documents name as the founding.
fn entered_founding(s: &Story) -> u64 {
    s.actors["a"].core.membership().founding()
}

#[test]
fn restart_needs_no_answer() {
    let mut s = founded();
    s.elect("p");
    for member in GRANTORS {
        s.restart(member);
        s.drop_all();
        s.pass(ms(100));
        assert!(serves(&s, member), "{:?}", s.events(member));
    }
    s.run(ms(2_000));
    assert_eq!(s.leader(), Some("p"));
}

/// Waits until a member has accepted a document, and then drops all messages under way.
fn accepted_by_one(s: &mut Story) -> &'static str {
    for _ in 0..10_000 {
        s.pass(ms(1));
        while !s.letters.is_empty() {
            let letter = s.letters.remove(0);
            s.put(&letter);
            let has_accepted = |who: &&'static str| {
                let vote = s.actors[*who].disk.as_ref().unwrap().durable().standing.vote().clone();
                vote.accepted.is_some()
            };
            if let Some(one) = GRANTORS.into_iter().find(has_accepted) {
                s.drop_all();
                return one;
            }
        }
    }
    panic!("no member accepts");
}

/// A member that has accepted carries the document on, without its proposer.
#[test]
fn accepted_document_is_carried_on() {
    let mut s = begun(&GRANTORS);
    let one = accepted_by_one(&mut s);
    let named: Vec<_> = GRANTORS.map(|member| Some(s.instance(member))).to_vec();
    let other = if one == "a" { "b" } else { "a" };
    for member in GRANTORS {
        s.restart(member);
        s.drop_all();
    }
    s.lose_disk(other);
    s.run(ms(20_000));
    let document = entered(&s, one).unwrap();
    let seats: Vec<_> = document.seats.iter().map(|seat| seat.instance).collect();
    assert_eq!(seats, named, "the document of before");
    assert!(serves(&s, one) && !serves(&s, other), "{:?}", s.events(other));
}

/// A directory that is lost before any member has accepted is no seat: the directory in its place
/// is the seat.
#[test]
fn new_memory_is_named_instead() {
    let mut s = begun(&GRANTORS);
    s.run(ms(1_500));
    s.lose_disk("b");
    s.run(ms(8_000));
    let document = entered(&s, "a").unwrap();
    assert_eq!(document.seats[1].instance, Some(s.instance("b")));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

#[test]
fn clocks_far_apart_found_nothing() {
    let mut s = begun(&["a", "b"]);
    s.wall = Some(WALL - 3_600_000);
    s.start_empty("c");
    s.run(ms(20_000));
    assert!(GRANTORS.iter().all(|member| !serves(&s, member)));
    let apart = |event: &OwnEvent| {
        matches!(event, OwnEvent::Founding(FoundingTrouble::Apart { member, theirs, own })
            if *member == name("c") && own - theirs > 3_590_000)
    };
    assert!(told(&s, "a", apart), "{:?}", s.events("a"));
    s.wall = Some(WALL + 20_000);
    s.restart("c");
    s.run(ms(20_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// No document names a memory that ends with its process: such a cluster is founded without a
/// document.
#[test]
fn memory_without_disk_needs_no_document() {
    let mut s = begun(&["a", "b"]);
    s.wall = None;
    s.start_empty("c");
    s.run(ms(8_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
    assert_eq!(entered(&s, "a").unwrap().origin, Origin::Upgraded);
}

/// A cluster that ran before there were documents founds none, and a member with a lost directory
/// reads from the others.
#[test]
fn earlier_cluster_stays_as_it_is() {
    let mut s = Story::new();
    s.elect("p");
    s.wall = Some(WALL);
    s.lose_disk("c");
    s.run(ms(8_000));
    assert!(serves(&s, "c"));
    assert_eq!(entered(&s, "c").unwrap().origin, Origin::Upgraded);
}

/// A member that serves promises nothing, and its epoch ends the founding.
#[test]
fn running_member_ends_founding() {
    let mut s = founded();
    s.drop_all();
    let line = s.config.membership().id();
    let from = Sender { epoch: line, ..s.sender("b") };
    let ballot = Ballot { counter: 9, inc: Inc(9) };
    let (instance, wall) = (s.instance("b"), WALL);
    let answer = s.tell_as(&from, "a", Found { ballot, instance, wall }.into());
    let shows = |message: &Message| matches!(message, Message::Asker(ToAsker::Current(_)));
    assert!(sent(&answer).any(shows) && sent(&answer).count() == 1, "{:?}", lines(&answer));
}

/// A process whose member has another memory by now gets no promise.
#[test]
fn replaced_memory_gets_no_promise() {
    let mut s = begun(&GRANTORS);
    let old = s.sender("b");
    let instance = s.instance("b");
    s.run(ms(500));
    s.lose_disk("b");
    s.run(ms(500));
    s.drop_all();
    let ballot = Ballot { counter: 9, inc: Inc(9) };
    let asked = Found { ballot, instance, wall: WALL };
    let answer = s.tell_as(&old, "a", asked.into());
    assert_eq!(sent(&answer).count(), 0, "{:?}", lines(&answer));
    let promised = s.actors["a"].disk.as_ref().unwrap().durable().standing.vote().promised;
    assert_eq!(promised, Ballot::NONE);
}

/// A leader that a member hears delays the founding until its lease has ended.
#[test]
fn founding_waits_for_heard_leader() {
    let mut s = begun(&GRANTORS);
    s.run(ms(2_000));
    for _ in 0..40 {
        let from = Sender { epoch: EpochId { number: 0, digest: 9 }, ..s.sender("p") };
        let start = s.now("p");
        s.tell_as(&from, "a", Message::from(renewal(start, 5)));
        s.run(ms(100));
    }
    assert!(GRANTORS.iter().all(|member| !serves(&s, member)), "{:?}", s.events("a"));
    s.run(ms(4_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
    let asked = |letter: &Letter| matches!(letter.message, Message::Grantor(ToGrantor::Found(_)));
    assert!(!s.letters.iter().any(asked));
}

/// Lets time pass until `asker` asks another member for a promise; nothing else is under way then.
pub(super) fn until_asked(s: &mut Story, asker: &str, other: &str) {
    for _ in 0..20_000 {
        s.pass(ms(1));
        while !s.letters.is_empty() {
            let is_asked = |letter: &Letter| {
                let asks = matches!(letter.message, Message::Grantor(ToGrantor::Found(_)));
                asks && letter.by == asker && letter.to == address(other)
            };
            if let Some(nth) = s.letters.iter().position(is_asked) {
                s.letters = vec![s.letters.remove(nth)];
                return;
            }
            let letter = s.letters.remove(0);
            if !matches!(letter.message, Message::Grantor(ToGrantor::Found(_))) {
                s.put(&letter);
            }
        }
    }
    panic!("{asker} does not ask {other}");
}

fn promises(effects: &[Effect]) -> Vec<PromiseOutcome> {
    let outcome = |message: &Message| match message {
        Message::Asker(ToAsker::Promise(promise)) => Some(promise.outcome),
        _ => None,
    };
    sent(effects).filter_map(outcome).collect()
}

/// A member whose directory is lost between the question for a promise and the answer is a seat
/// with its new memory.
#[test]
fn promising_memory_is_the_seat() {
    let mut s = begun(&GRANTORS);
    until_asked(&mut s, "a", "b");
    s.drop_all();
    s.lose_disk("b");
    s.run(ms(8_000));
    let document = entered(&s, "a").unwrap();
    assert_eq!(document.seats[1].instance, Some(s.instance("b")));
    assert!(serves(&s, "b"));
}

/// A memory that began during the wait may have forgotten a lease: the wait begins anew.
#[test]
fn new_memory_begins_another_wait() {
    let mut s = begun(&GRANTORS);
    s.run(ms(1_500));
    s.lose_disk("b");
    s.run(ms(2_100));
    assert!(GRANTORS.iter().all(|member| !serves(&s, member)), "{:?}", s.events("a"));
    s.run(ms(3_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// b hears nothing of c's memory, and has not written that memory down. All other messages arrive.
#[test]
fn all_write_all_memories_down() {
    let mut s = begun(&GRANTORS);
    for _ in 0..1_000 {
        s.pass(ms(10));
        s.letters.retain(|letter| {
            let tells = match &letter.message {
                Message::Grantor(ToGrantor::FenceRead(read)) => read.record && letter.by == "c",
                Message::Asker(ToAsker::FenceSeen(seen)) => {
                    letter.by == "a" && seen.roster.at(2).is_some()
                }
                _ => false,
            };
            !(tells && letter.to == address("b"))
        });
        let letters = std::mem::take(&mut s.letters);
        letters.iter().for_each(|letter| drop(s.put(letter)));
    }
    assert!(entered(&s, "a").is_none(), "{:?}", s.events("a"));
    s.run(ms(8_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// A proposer refuses an earlier ballot before it has received its own question.
#[test]
fn own_ballot_is_promised_first() {
    let mut s = begun(&GRANTORS);
    until_asked(&mut s, "a", "b");
    s.drop_all();
    let (ballot, instance) = (Ballot { counter: 1, inc: Inc(1) }, s.instance("b"));
    let from = Sender { epoch: s.config.membership().id(), ..s.sender("b") };
    let answer = s.tell_as(&from, "a", Found { ballot, instance, wall: WALL }.into());
    let outcomes = promises(&answer);
    assert!(matches!(outcomes[..], [PromiseOutcome::Refused { .. }]), "{:?}", lines(&answer));
}

/// Hands a document to a, which b asks a to accept. Returns whether a accepts.
pub(super) fn accepts(s: &mut Story, document: &Document) -> bool {
    let from = Sender { epoch: s.config.membership().id(), ..s.sender("b") };
    let ballot = Ballot { counter: 9, inc: Inc(9) };
    let (epoch, successor) = (EpochId::NONE, document.id());
    let mut effects = s.tell_as(&from, "a", Accept { epoch, ballot, successor }.into());
    let (bytes, start) = (document.encode().unwrap(), s.now("a"));
    let (asker, total, offset) = (s.who("a").inc, bytes.len() as u32, 0);
    let part = DocumentPart { asker, start, epoch: successor, offset, total, bytes };
    effects.extend(s.tell_as(&from, "a", part.into()));
    sent(&effects).any(|message| matches!(message, Message::Asker(ToAsker::Accepted(_))))
}

/// The document of a founding by the present memories.
pub(super) fn document(s: &mut Story) -> Document {
    let line = s.config.membership().document().clone();
    let mut document = Document { origin: Origin::Founded, floor: Fence::new(WALL), ..line };
    for (seat, member) in document.seats.iter_mut().zip(GRANTORS) {
        seat.instance = Some(s.instance(member));
    }
    document
}

#[test]
fn only_named_memories_accept() {
    let mut s = begun(&GRANTORS);
    s.run(ms(1_000));
    s.drop_all();
    let good = document(&mut s);
    let mut other = good.clone();
    other.seats[0].instance = Some(Instance::new(1, 77));
    assert!(!accepts(&mut s, &other));
    assert!(accepts(&mut s, &good));
}

/// Member a asks as if its directory were lost, but has accepted a founding: the answers of the
/// others do not let a serve.
#[test]
fn accepted_founding_bars_others() {
    let mut s = begun(&GRANTORS);
    s.run(ms(2_150));
    s.drop_all();
    let good = document(&mut s);
    assert!(accepts(&mut s, &good));
    let line = s.config.membership().id();
    for _ in 0..60 {
        s.pass(ms(100));
        let asked = s.letters.iter().rev().find_map(|letter| match &letter.message {
            Message::Grantor(ToGrantor::FenceRead(read)) if letter.by == "a" => Some(read.start),
            _ => None,
        });
        s.drop_all();
        let Some(start) = asked else { continue };
        let entry = |member: &'static str, s: &mut Story| Some(Entry::new(s.instance(member)));
        let roster = Roster::new(GRANTORS.map(|member| entry(member, &mut s)).to_vec());
        for member in ["b", "c"] {
            let (asker, seen) = (s.who("a").inc, Fence::NONE);
            let (delta_max, whole, leader) = (ms(1_000), true, ms(0));
            let roster = roster.clone();
            let answer = FenceSeen { asker, start, seen, delta_max, whole, leader, roster };
            let from = Sender { epoch: line, ..s.sender(member) };
            s.tell_as(&from, "a", answer.into());
        }
    }
    assert!(!serves(&s, "a") && entered(&s, "a").is_none(), "{:?}", s.events("a"));
}

/// A request of a leader that has another list.
fn hear_leader(s: &mut Story, member: &'static str) {
    let epoch = EpochId { number: 0, digest: 9 };
    let (from, start) = (Sender { epoch, ..s.sender("p") }, s.now("p"));
    s.tell_as(&from, member, Message::from(Request { leading: true, ..renewal(start, 5) }));
}

#[test]
fn heard_leader_delays_promises() {
    let mut s = begun(&GRANTORS);
    until_asked(&mut s, "a", "b");
    hear_leader(&mut s, "b");
    let answer = s.deliver("a", "b");
    assert_eq!(promises(&answer), [], "{:?}", lines(&answer));
}

/// Runs on while no word of a decision reaches this member.
pub(super) fn run_untold(s: &mut Story, member: &str, span: Duration) {
    let step = ms(10);
    for _ in 0..span.as_millis() / step.as_millis() {
        s.pass(step);
        s.letters.retain(|letter| {
            let tells = matches!(
                letter.message,
                Message::Grantor(ToGrantor::Decided(_)) | Message::Asker(ToAsker::Current(_))
            );
            !(tells && letter.to == address(member))
        });
        let letters = std::mem::take(&mut s.letters);
        letters.iter().for_each(|letter| drop(s.put(letter)));
    }
}

/// A leader that is heard after the decision delays the entry.
#[test]
fn heard_leader_delays_entry() {
    let mut s = begun(&GRANTORS);
    run_untold(&mut s, "a", ms(4_000));
    assert!(serves(&s, "b") && !serves(&s, "a"), "{:?}", s.events("a"));
    hear_leader(&mut s, "a");
    s.run(ms(900));
    assert!(!serves(&s, "a"), "{:?}", s.events("a"));
    s.run(ms(1_500));
    assert!(serves(&s, "a"), "{:?}", s.events("a"));
}

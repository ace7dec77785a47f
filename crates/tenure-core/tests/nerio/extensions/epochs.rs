//! Epochs (section 10.6): a message is meant for one epoch, and counts in no other. A node without
//! a document learns one from the members of its list.

use tenure_core::nerio::{
    Command, Config, Current, Document, DocumentError, DocumentPart, DocumentRead, DocumentReader,
    Effect, EpochId, Event, Ignored, Instance, Leaving, List, Message, Origin, OwnEvent, Query,
    ReadOutcome, Released, Seat, Sender, Service, ToAsker, ToGrantor, Where,
};
use tenure_core::{Drift, Fence, Input, Protocol};

use crate::story::*;

/// A sender whose messages are meant for another epoch.
fn elsewhere(s: &Story, who: &str, number: u64) -> Sender {
    Sender { epoch: EpochId { number, digest: 7 }, ..s.sender(who) }
}

fn ignored() -> Event {
    ignored_for(Ignored::OtherEpoch)
}

fn ignored_for(reason: Ignored) -> Event {
    Event::Own(OwnEvent::Ignored(reason))
}

#[test]
fn messages_count_in_their_epoch() {
    let mut s = Story::new();
    s.elect("p");
    s.drop_all();
    let start = s.now("p");
    let election = x();
    let asker = s.who("p").inc;
    let bound = [
        ("a", Message::from(renewal(start, 1))),
        ("a", release(start)),
        ("a", Message::from(Leaving { election: x(), start, held: ms(0) })),
        ("a", Message::from(Query { election: x(), start })),
        ("a", Message::from(List { start, after: None })),
        ("p", Message::from(Released { election, asker, start })),
        ("p", verify(start)),
    ];
    for (to, message) in bound {
        let from = elsewhere(&s, if to == "p" { "a" } else { "p" }, 0);
        // After the first message the node remembers only that it has told the sender its epoch.
        s.tell_as(&from, to, message.clone());
        let before = s.actors[to].core.clone();
        let effects = s.tell_as(&from, to, message.clone());
        assert_eq!(emitted(&effects), [ignored()], "{message}");
        assert_eq!(effects.len(), 1, "{message}");
        assert!(s.actors[to].core == before, "{message}");
    }
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    assert!(s.leads("p"));
}

/// An ok from a member of another epoch does not count.
#[test]
fn ok_of_other_epoch_is_dropped() {
    let mut s = Story::new();
    s.campaign("p");
    for grantor in GRANTORS {
        s.deliver("p", grantor);
        for mut letter in s.take(grantor, "p") {
            letter.from.epoch.number = 1;
            assert_eq!(emitted(&s.put(&letter)), [ignored()]);
        }
    }
    assert!(!s.leads("p"));
}

#[test]
fn datagram_is_told_epoch_once() {
    let mut s = Story::new();
    let from = elsewhere(&s, "p", 0);
    let question = || Message::from(Query { election: x(), start: at(7) });
    let effects = s.tell_as(&from, "a", question());
    let membership = s.config.membership().clone();
    let expected = Current {
        asker: s.who("p").inc,
        start: at(7),
        epoch: membership.id(),
        founding: membership.id().digest,
        before: EpochId::NONE,
        instance: s.instance("a"),
        entered: true,
        service: Service::Serving,
        length: shown(&effects)[0].length,
    };
    assert_eq!(shown(&effects), [expected]);
    let Some(Effect::Send { to, .. }) = effects.last() else { panic!("{effects:?}") };
    assert_eq!(to.epoch, membership.id(), "members of earlier versions compare digests");
    assert!(shown(&s.tell_as(&from, "a", question())).is_empty(), "a second one in the datagram");
    let other = elsewhere(&s, "q", 0);
    assert_eq!(shown(&s.tell_as(&other, "a", question())).len(), 1);
    s.slip(ms(1));
    assert_eq!(shown(&s.tell_as(&other, "a", question())).len(), 1);
    s.slip(ms(1));
    assert!(shown(&s.tell_as(&other, "a", release(at(7)))).is_empty(), "a release has no filler");
    assert!(shown(&s.tell_as(&other, "p", question())).is_empty(), "p is no member");
}

#[test]
fn anybody_may_ask_for_epoch() {
    let mut s = Story::new();
    for number in [0, 1] {
        let from = elsewhere(&s, "q", number);
        let told = shown(&s.tell_as(&from, "a", Message::from(Where { start: at(3) })));
        assert_eq!((told[0].start, told[0].epoch), (at(3), s.config.membership().id()));
    }
}

/// The parts of documents in these effects.
fn parts(effects: &[Effect]) -> Vec<DocumentPart> {
    let part = |message: &Message| match message {
        Message::Asker(ToAsker::DocumentPart(part)) => Some(part.clone()),
        _ => None,
    };
    sent(effects).filter_map(part).collect()
}

#[test]
fn anybody_may_read_the_document() {
    let mut s = Story::new();
    let membership = s.config.membership().clone();
    let from = elsewhere(&s, "q", 0);
    let mut reader = DocumentReader::new(membership.id());
    let effects = s.tell_as(&from, "a", reader.question(at(3)).into());
    let parts = parts(&effects);
    let [part] = &parts[..] else { panic!("{effects:?}") };
    assert_eq!((part.asker, part.start), (s.who("q").inc, at(3)));
    let Some(Effect::Send { to, .. }) = effects.last() else { panic!("{effects:?}") };
    assert_eq!(to.epoch, membership.id());
    let ReadOutcome::Finished(document) = reader.on_part(part) else { panic!("{part}") };
    assert_eq!(*document, *membership.document());
    let other = EpochId { number: 1, ..membership.id() };
    for (epoch, offset) in [(other, 0), (membership.id(), part.total)] {
        let read = DocumentRead { start: at(3), epoch, offset };
        assert_eq!(emitted(&s.tell_as(&from, "a", read.into())), [ignored()]);
    }
}

/// A cluster has one epoch 0: a question in another epoch 0 is about a leader of another cluster.
#[test]
fn verification_crosses_epochs_not_clusters() {
    let mut s = Story::new();
    s.elect("p");
    let verify = |number: u64, s: &mut Story| {
        let from = elsewhere(s, "q", number);
        let now = s.now("p");
        let message = verify(at(5));
        let mut effects = Vec::new();
        s.actor("p").core.handle(now.into(), Input::Message { from, message }, &mut effects);
        remainder(&effects).map(|remainder| remainder.fence)
    };
    assert_eq!(verify(0, &mut s), None);
    assert_eq!(verify(1, &mut s), Some(Some(Fence::new(s.fence("p")))));
}

/// Starts a candidate with other settings than the members.
fn start_with(s: &mut Story, who: &'static str, line: Config) {
    let whole = std::mem::replace(&mut s.config, line.check().unwrap());
    s.start(who, None);
    s.config = whole;
}

/// The epoch after that of the members, with the same members.
fn successor(s: &Story) -> Document {
    let before = s.config.membership().document().clone();
    let id = before.id();
    let mut seats = before.seats.clone();
    for (nth, seat) in seats.iter_mut().enumerate() {
        *seat = Seat { instance: Some(Instance(nth as u128 + 1)), ..seat.clone() };
    }
    let origin = Origin::Changed;
    Document { number: 1, before: id, founding: id.digest, origin, seats, ..before }
}

/// Lets `who` ask the members for their epoch, and drops its questions.
fn ask(s: &mut Story, who: &'static str) {
    let before = s.letters.len();
    for command in [Command::Observe { every: ms(1_000) }, Command::Unobserve] {
        let election = "asks".parse().unwrap();
        s.step(who, Input::Command { election, command });
    }
    s.letters.truncate(before);
}

/// A member's answer that it has entered the epoch of `document`, to a question that `who` has
/// just asked.
fn current(s: &Story, who: &str, document: &Document) -> Current {
    let epoch = document.id();
    Current {
        asker: s.who(who).inc,
        start: s.now(who),
        epoch,
        founding: if epoch.number == 0 { epoch.digest } else { document.founding },
        before: document.before,
        instance: Instance(1),
        entered: true,
        service: Service::Serving,
        length: 0,
    }
}

fn part(s: &Story, who: &str, document: &Document) -> DocumentPart {
    let bytes = document.encode().unwrap();
    let (asker, total) = (s.who(who).inc, bytes.len() as u32);
    let start = s.now(who);
    DocumentPart { asker, start, epoch: document.id(), offset: 0, total, bytes }
}

/// Member a names an epoch to `who`, and sends its document.
fn teach(s: &mut Story, who: &'static str, document: &Document) -> Vec<Effect> {
    teach_by(s, "a", who, document)
}

fn teach_by(s: &mut Story, by: &str, who: &'static str, document: &Document) -> Vec<Effect> {
    ask(s, who);
    let current = current(s, who, document);
    let mut effects = s.tell(by, who, current.into());
    let part = part(s, who, document);
    effects.extend(s.tell(by, who, part.into()));
    effects
}

/// The report that `who` cannot read the document of `by`.
fn unreadable(by: &str) -> Event {
    Event::Own(OwnEvent::UnreadableDocument { by: name(by), address: address(by) })
}

fn has_switched(effects: &[Effect]) -> bool {
    emitted(effects).iter().any(|event| matches!(event, Event::Own(OwnEvent::Epochs(_))))
}

fn reads(s: &Story) -> usize {
    let is_read =
        |letter: &&Letter| matches!(letter.message, Message::Grantor(ToGrantor::DocumentRead(_)));
    s.letters.iter().filter(is_read).count()
}

#[test]
fn candidate_learns_members() {
    for line in [&["a", "c"][..], &["b"], &["a", "c", "x"]] {
        let mut s = Story::new();
        start_with(&mut s, "p", config(line));
        s.elect("p");
        s.deliver_all();
        for grantor in GRANTORS {
            assert_eq!(s.holder(grantor).as_deref(), Some("p"), "{line:?}");
        }
        assert_eq!(s.actors["p"].core.membership(), &**s.config.membership());
    }
}

#[test]
fn observer_learns_members() {
    let mut s = Story::new();
    s.elect("p");
    start_with(&mut s, "r", config(&["b"]));
    s.command("r", Command::Observe { every: ms(100) });
    s.run(ms(300));
    let is_p = |event: &Event| match event {
        Event::View(view) => view.leader().is_some_and(|leader| &*leader.id == "p"),
        _ => false,
    };
    assert!(s.events("r").iter().any(is_p), "{:?}", s.events("r"));
}

/// An observer keeps its view while the members of another epoch may not have answered yet.
#[test]
fn observer_keeps_its_view_over_switch() {
    let mut s = Story::new();
    s.elect("p");
    s.command("r", Command::Observe { every: ms(50) });
    s.run(ms(200));
    let views =
        |s: &Story| s.events("r").iter().filter(|event| matches!(event, Event::View(_))).count();
    let before = views(&s);
    assert!(before > 0);
    let document = successor(&s);
    assert!(has_switched(&teach(&mut s, "r", &document)));
    s.drop_all();
    s.pass(ms(100));
    assert_eq!(views(&s), before);
    s.pass(ms(1_500));
    assert_eq!(views(&s), before + 1, "nobody has answered");
}

#[test]
fn lost_part_is_asked_again() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "c"]));
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    let mut asked = 0;
    for _ in 0..100 {
        asked += reads(&s);
        s.drop_all();
        s.pass(ms(10));
    }
    assert_eq!(asked, 5, "then it gives up");
    assert!(s.events("p").contains(&unreadable("a")), "{:?}", s.events("p"));
    s.run(ms(1_000));
    assert!(s.leads("p"), "later answers of members begin anew");
}

#[test]
fn other_cluster_teaches_nothing() {
    let mut other = config(&GRANTORS);
    other.cluster = "other".parse().unwrap();
    let mut fast = config(&GRANTORS);
    fast.drift = "0.05".parse().unwrap();
    let cases = [
        (other, "the members are of cluster story, and this process is of cluster other"),
        (fast, "the members have drift 0.1, and this process has drift 0.05"),
    ];
    for (line, why) in cases {
        let mut s = Story::new();
        start_with(&mut s, "p", line);
        s.campaign("p");
        s.run(ms(300));
        assert!(!s.leads("p"), "{why}");
        let told: Vec<_> = s.events("p").iter().map(ToString::to_string).collect();
        let said = format!("a has another members document: {why}");
        assert!(told.contains(&said), "{told:?}");
        let is_switch = |event: &Event| matches!(event, Event::Own(OwnEvent::Epochs(_)));
        assert!(!s.events("p").iter().any(is_switch));
    }
}

/// The digest of an upgraded document does not cover hosts: a forger changes the hosts of b.
#[test]
fn host_of_no_process_teaches_nothing() {
    let document = config(&GRANTORS).check().unwrap().membership().document().clone();
    for host in ["0.0.0.0:7101", "[ff02::1]:7101", "255.255.255.255:7101", "10.0.0.1:0", "b:0"] {
        let mut s = Story::new();
        start_with(&mut s, "p", config(&["a", "c"]));
        let mut forged = document.clone();
        forged.seats[1].hosts = vec![host.parse().unwrap()];
        assert_eq!(forged.id(), document.id());
        let effects = teach(&mut s, "p", &forged);
        assert!(!has_switched(&effects), "{host}");
        let why =
            format!("member b has the address {host}, at which no single process can be reached");
        let told: Vec<_> = emitted(&effects).iter().map(ToString::to_string).collect();
        assert_eq!(told, [format!("a has another members document: {why}")]);
    }
}

/// The copy of a has a forged host, which the digest does not cover. The copy of b is intact.
#[test]
fn forged_host_hides_no_copy() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "b"]));
    let document = s.config.membership().document().clone();
    let mut forged = document.clone();
    forged.seats[2].hosts = vec!["0.0.0.0:7101".parse().unwrap()];
    assert!(!has_switched(&teach(&mut s, "p", &forged)));
    for _ in 0..3 {
        let effects = s.tell("b", "p", current(&s, "p", &document).into());
        assert_eq!(emitted(&effects), [ignored_for(Ignored::Unasked)]);
    }
    assert!(has_switched(&teach_by(&mut s, "b", "p", &document)));
}

/// A member of another cluster answers first. The node still reads the document of the next member.
#[test]
fn misfit_delays_no_other_document() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "b"]));
    let mut other = config(&GRANTORS);
    other.cluster = "other".parse().unwrap();
    let other = other.check().unwrap().membership().document().clone();
    assert!(!has_switched(&teach(&mut s, "p", &other)));
    let again = s.tell("a", "p", current(&s, "p", &other).into());
    let is_refused = |event: &Event| match event {
        Event::Own(OwnEvent::OtherDocument { error, .. }) => error.is_some(),
        _ => false,
    };
    assert!(emitted(&again).iter().all(is_refused), "{again:?}");
    assert_eq!(again.len(), 1, "it is not read again");
    let document = s.config.membership().document().clone();
    assert!(!has_switched(&teach(&mut s, "p", &document)), "half of the list");
    assert!(has_switched(&s.tell("b", "p", current(&s, "p", &document).into())));
}

/// The answers of a, which names a damaged document, always come first.
#[test]
fn unreadable_document_delays_no_other() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "b"]));
    let damaged = successor(&s);
    ask(&mut s, "p");
    let first = current(&s, "p", &damaged);
    assert_eq!(sent(&s.tell("a", "p", first.clone().into())).count(), 1);
    let mut part = part(&s, "p", &damaged);
    part.bytes[0] ^= 1;
    assert_eq!(emitted(&s.tell("a", "p", part.into())), [unreadable("a")]);
    assert_eq!(emitted(&s.tell("a", "p", first.into())), [ignored_for(Ignored::Unasked)]);
    let document = s.config.membership().document().clone();
    assert!(has_switched(&teach_by(&mut s, "b", "p", &document)));
}

/// The first answer says that the document is too long, which is wrong.
#[test]
fn unreadable_document_is_read_again() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "b"]));
    let document = s.config.membership().document().clone();
    let length = Document::BYTES_MAX as u32 + 1;
    ask(&mut s, "p");
    let long = Current { length, ..current(&s, "p", &document) };
    let effects = s.tell("a", "p", long.into());
    assert_eq!(emitted(&effects), [unreadable("a")]);
    assert_eq!(effects.len(), 1, "it asks for no part");
    for _ in 0..3 {
        let effects = s.tell("a", "p", current(&s, "p", &document).into());
        assert_eq!(emitted(&effects), [ignored_for(Ignored::Unasked)]);
    }
    assert!(!has_switched(&teach(&mut s, "p", &document)), "half of the list");
    assert!(has_switched(&s.tell("b", "p", current(&s, "p", &document).into())));
}

#[test]
fn stranger_teaches_nothing() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "c"]));
    s.campaign("p");
    let document = s.config.membership().document().clone();
    let forged = Sender { proved: false, ..s.sender("a") };
    for from in [s.sender("q"), s.sender("b"), forged] {
        for message in [current(&s, "p", &document).into(), part(&s, "p", &document).into()] {
            let effects = s.tell_as(&from, "p", message);
            assert_eq!(emitted(&effects), [ignored_for(Ignored::NotAMember)]);
            assert_eq!(effects.len(), 1, "{effects:?}");
        }
    }
    let other_life = Current { asker: s.who("q").inc, ..current(&s, "p", &document) };
    let effects = s.tell("a", "p", other_life.into());
    assert_eq!(emitted(&effects), [ignored_for(Ignored::OtherIncarnation)]);
    assert!(!has_switched(&teach(&mut s, "p", &document)), "half of the list");
    assert!(has_switched(&s.tell("c", "p", current(&s, "p", &document).into())));
}

/// The report that `by` is in the cluster of this epoch 0.
fn differs(by: &str, other: &Document) -> Event {
    let (by, address, founding) = (name(by), address(by), other.id().digest);
    Event::Own(OwnEvent::OtherDocument { by, address, founding, error: None })
}

/// Member c has an empty directory and a list of its own. By that list c alone elects p, while a
/// and b elect q.
#[test]
fn stray_member_moves_no_candidate() {
    let mut s = Story::new();
    let stray = config(&["c"]).check().unwrap().membership().document().clone();
    assert!(!has_switched(&teach_by(&mut s, "c", "p", &stray)));
    let again = s.tell("c", "p", current(&s, "p", &stray).into());
    assert_eq!(emitted(&again), [differs("c", &stray)]);
    assert_eq!(again.len(), 1, "the document is known");
    s.elect("q");
    s.campaign("p");
    s.run(ms(300));
    assert_eq!(s.leader(), Some("q"));
    assert_eq!(s.actors["p"].core.membership(), &**s.config.membership());
    start_with(&mut s, "r", config(&["a", "c"]));
    assert!(!has_switched(&teach_by(&mut s, "c", "r", &stray)), "c leaves no quorum of two");
}

/// The members of a quorum answer one after the other, and the first of them names another cluster
/// in between.
#[test]
fn ok_of_stray_confirms_the_line() {
    let mut s = Story::new();
    let stray = config(&["b", "c"]).check().unwrap().membership().document().clone();
    s.campaign("p");
    s.deliver("p", "b");
    s.deliver("b", "p");
    s.tell("b", "p", current(&s, "p", &stray).into());
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert_eq!(s.leader(), Some("p"));
    assert!(s.actors["p"].core.is_confirmed());
}

/// Two of three members are strays: no quorum is left, but each stray is a cluster by itself.
#[test]
fn strays_that_differ_move_no_candidate() {
    let mut s = Story::new();
    for stray in ["b", "c"] {
        let document = config(&[stray]).check().unwrap().membership().document().clone();
        assert!(!has_switched(&teach_by(&mut s, stray, "p", &document)), "{stray}");
    }
    let both = config(&["b", "c"]).check().unwrap().membership().document().clone();
    assert!(!has_switched(&teach_by(&mut s, "b", "p", &both)));
    assert!(has_switched(&s.tell("c", "p", current(&s, "p", &both).into())), "now they agree");
}

/// Member c has the old list of p, and answers first.
#[test]
fn answer_of_stray_confirms_nothing() {
    let mut s = Story::new();
    start_with(&mut s, "p", config(&["a", "b", "c", "d"]));
    let line = s.actors["p"].core.membership().document().clone();
    ask(&mut s, "p");
    s.tell("c", "p", current(&s, "p", &line).into());
    let document = s.config.membership().document().clone();
    assert!(!has_switched(&teach(&mut s, "p", &document)), "a may be the stray member");
    assert!(!has_switched(&s.tell("b", "p", current(&s, "p", &document).into())), "two of four");
    assert!(has_switched(&s.tell("c", "p", current(&s, "p", &document).into())));
    assert!(!s.actors["p"].core.is_confirmed());
    s.elect("p");
    assert!(s.actors["p"].core.is_confirmed());
}

/// Members with another list are no reason to leave an epoch in which a quorum has answered.
#[test]
fn quorum_confirms_the_line() {
    let mut s = Story::new();
    let other = config(&["a", "x"]).check().unwrap().membership().document().clone();
    s.campaign("p");
    assert_eq!(sent(&s.tell("a", "p", current(&s, "p", &other).into())).count(), 1);
    for grantor in ["b", "c"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    let effects = s.tell("a", "p", part(&s, "p", &other).into());
    assert!(!has_switched(&effects), "the line was confirmed in between");
    for grantor in GRANTORS {
        let effects = s.tell(grantor, "p", current(&s, "p", &other).into());
        assert_eq!(emitted(&effects), [differs(grantor, &other)]);
        assert_eq!(effects.len(), 1);
    }
}

/// The delayed answer of b to the first question names a cluster that b has left since.
#[test]
fn delayed_current_is_ignored() {
    let mut s = Story::new();
    let stray = config(&["b", "c"]).check().unwrap().membership().document().clone();
    let line = s.config.membership().document().clone();
    ask(&mut s, "p");
    let delayed = current(&s, "p", &stray);
    s.slip(ms(1));
    ask(&mut s, "p");
    s.tell("b", "p", current(&s, "p", &line).into());
    let effects = s.tell("b", "p", delayed.into());
    assert_eq!(emitted(&effects), [ignored_for(Ignored::Unasked)]);
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(!has_switched(&teach_by(&mut s, "c", "p", &stray)), "c is alone");
    assert!(has_switched(&s.tell("b", "p", current(&s, "p", &stray).into())), "now b agrees");
}

#[test]
fn current_without_question_is_dropped() {
    let mut s = Story::new();
    let document = successor(&s);
    let unasked = |s: &mut Story, current: Current| {
        let effects = s.tell("a", "p", current.into());
        assert_eq!(emitted(&effects), [ignored_for(Ignored::Unasked)]);
        assert_eq!(effects.len(), 1, "{effects:?}");
    };
    let word = current(&s, "p", &document);
    unasked(&mut s, word.clone());
    ask(&mut s, "p");
    unasked(&mut s, Current { start: word.start.next(), ..word.clone() });
    assert_eq!(sent(&s.tell("a", "p", word.into())).count(), 1, "it reads the document");
}

/// A question from before the switch was for the members of the earlier epoch.
#[test]
fn current_before_switch_is_dropped() {
    let mut s = Story::new();
    ask(&mut s, "p");
    let stray = config(&["c"]).check().unwrap().membership().document().clone();
    let delayed = current(&s, "p", &stray);
    s.slip(ms(1));
    let document = successor(&s);
    assert!(has_switched(&teach(&mut s, "p", &document)));
    let effects = s.tell("c", "p", delayed.into());
    assert_eq!(emitted(&effects), [ignored_for(Ignored::Unasked)]);
    assert_eq!(effects.len(), 1, "{effects:?}");
}

/// The node asks a for a part of the document twice. Only an answer of a to one of these questions
/// counts.
#[test]
fn part_answers_its_question() {
    let mut s = Story::new();
    let document = successor(&s);
    ask(&mut s, "p");
    s.slip(ms(1));
    let early = part(&s, "p", &document);
    s.slip(ms(1));
    ask(&mut s, "p");
    s.tell("a", "p", current(&s, "p", &document).into());
    let asked = part(&s, "p", &document);
    s.pass(ms(60));
    let late = DocumentPart { start: s.now("p").next(), ..asked.clone() };
    for (by, part) in [("b", asked.clone()), ("a", early), ("a", late)] {
        let effects = s.tell(by, "p", part.into());
        assert_eq!(emitted(&effects), [ignored_for(Ignored::Unasked)], "{by}");
        assert_eq!(effects.len(), 1, "{effects:?}");
    }
    assert!(has_switched(&s.tell("a", "p", asked.into())), "the first of the questions");
}

/// A node that only verifies has neither candidate nor observer, and still learns the members.
#[test]
fn verifier_learns_members() {
    let mut s = Story::new();
    start_with(&mut s, "r", config(&["b"]));
    s.verify("r", "p");
    s.deliver_all();
    assert_eq!(s.actors["r"].core.membership(), &**s.config.membership());
    assert!(!s.actors["r"].core.is_confirmed());
    let asked = |effects: &[Effect]| {
        let is_where =
            |message: &&Message| matches!(message, Message::Grantor(ToGrantor::Where(_)));
        sent(effects).filter(is_where).count()
    };
    assert_eq!(asked(&s.verify("r", "p")), 0, "it has just asked");
    s.slip(ms(1_000));
    assert_eq!(asked(&s.verify("r", "p")), GRANTORS.len());
    s.deliver_all();
    assert!(s.actors["r"].core.is_confirmed());
    s.slip(ms(1_000));
    assert_eq!(asked(&s.verify("r", "p")), 0, "the members are known");
}

#[test]
fn leader_keeps_office_over_switch() {
    let mut s = Story::new();
    s.elect("p");
    s.drop_all();
    let (until, fence) = (s.until("p"), s.fence("p"));
    let document = successor(&s);
    let effects = teach(&mut s, "p", &document);
    assert!(has_switched(&effects));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Lower { .. })));
    assert_eq!((s.until("p"), s.fence("p")), (until, fence));
    s.drop_all();
    // A third of the lease is 333 ms. The leader asks the new epoch within an eighth of that.
    s.pass(ms(42));
    let asks = s.letters.iter().filter(|letter| letter.by == "p");
    assert!(asks.clone().count() >= GRANTORS.len(), "it asks the new epoch at once");
    assert!(asks.clone().all(|letter| letter.from.epoch == document.id()));
    s.deliver_all();
    assert_eq!(s.until("p"), until, "members of the previous epoch grant nothing in the new one");
    s.pass(until.since(s.now("p")));
    assert!(!s.leads("p"));
}

/// The number of releases under way that are meant for `epoch`.
fn releases_for(s: &Story, epoch: EpochId) -> usize {
    let is_its = |letter: &&Letter| {
        let is_release = matches!(letter.message, Message::Grantor(ToGrantor::Release(_)));
        is_release && letter.from.epoch == epoch
    };
    s.letters.iter().filter(is_its).count()
}

#[test]
fn release_goes_to_both_epochs() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    s.drop_all();
    let document = successor(&s);
    teach(&mut s, "p", &document);
    let epochs = [s.config.membership().id(), document.id()];
    for epoch in epochs {
        assert_eq!(releases_for(&s, epoch), GRANTORS.len(), "{epoch:?}");
    }
    s.deliver_all();
    for grantor in GRANTORS {
        assert_eq!(s.holder(grantor), None);
    }
}

/// The epoch that the directory of a member has entered.
fn entered(s: &Story, who: &str) -> Option<EpochId> {
    let disk = s.actors[who].disk.as_ref().unwrap();
    disk.durable().standing.document().map(|document| document.id())
}

/// A directory of an earlier version names no epoch. At the next start the grantor first writes
/// down the members of the settings.
#[test]
fn start_enters_epoch_of_settings() {
    let mut s = Story::new();
    s.elect("p");
    let epoch = s.config.membership().id();
    assert_eq!(entered(&s, "a"), Some(epoch), "it is a new directory");
    s.actor("a").disk.as_mut().unwrap().forget_epoch();
    s.slow_disks = true;
    s.restart("a");
    assert_eq!(entered(&s, "a"), None);
    s.flush_one("a");
    assert_eq!(entered(&s, "a"), Some(epoch));
    s.slow_disks = false;
    assert_eq!(s.holder("a").as_deref(), Some("p"), "the grants are kept");
}

/// A grantor with a lost directory enters its epoch after it has read the fences.
#[test]
fn lost_directory_enters_when_it_serves() {
    let mut s = Story::new();
    s.elect("p");
    s.drop_all();
    s.lose_disk("a");
    assert_eq!(entered(&s, "a"), None);
    s.run(ms(4_000));
    assert!(s.events("a").contains(&Event::Own(OwnEvent::Serving)), "{:?}", s.events("a"));
    assert_eq!(entered(&s, "a"), Some(s.config.membership().id()));
}

/// A member whose list was changed goes on among the members that its directory names.
#[test]
fn directory_overrides_list() {
    for line in [&["a"][..], &["a", "b"], &["a", "b", "c", "d", "e"]] {
        let mut s = Story::new();
        s.elect("p");
        s.drop_all();
        let whole = std::mem::replace(&mut s.config, config(line).check().unwrap());
        let effects = s.restart("a");
        assert!(has_switched(&effects), "the driver looks for all members: {effects:?}");
        assert_eq!(s.actors["a"].core.membership(), &**whole.membership());
        assert_eq!(entered(&s, "a"), Some(whole.membership().id()), "{line:?}");
        s.config = whole;
        assert_eq!(s.holder("a").as_deref(), Some("p"), "{line:?}");
    }
}

#[test]
fn start_refuses_document_of_other_drift() {
    let mut s = Story::new();
    s.elect("p");
    let mut other = Config::clone(&s.config);
    other.drift = Drift::DEFAULT;
    let disk = s.actor("a").disk.clone().unwrap();
    let refused = disk.memory(&other.check().unwrap());
    assert!(matches!(refused, Err(DocumentError::Drift { .. })), "{refused:?}");
}

/// A member that has confirmed a release in the earlier epoch gets no further release.
#[test]
fn earlier_epoch_confirms_release() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    s.drop_all();
    let document = successor(&s);
    teach(&mut s, "p", &document);
    let earlier = s.config.membership().id();
    let stranger = s.sender("q");
    let start = s.letters.iter().find_map(|letter| match &letter.message {
        Message::Grantor(ToGrantor::Release(release)) => Some(release.start),
        _ => None,
    });
    let (election, asker, start) = (x(), s.who("p").inc, start.unwrap());
    let released = Message::from(Released { election, asker, start });
    let ignored = [ignored_for(Ignored::NotAMember)];
    assert_eq!(emitted(&s.tell_as(&stranger, "p", released)), ignored);
    s.deliver_all();
    s.pass(ms(400));
    assert_eq!(releases_for(&s, earlier), 0);
    assert!(releases_for(&s, document.id()) > 0, "nobody has entered the epoch");
}

/// The word of another member does not move the candidates beside a grantor: they follow their own
/// grantor.
#[test]
fn member_stays_in_its_epoch() {
    let mut s = Story::new();
    let document = successor(&s);
    ask(&mut s, "a");
    s.tell("b", "a", current(&s, "a", &document).into());
    assert_eq!(s.actors["a"].core.membership(), &**s.config.membership());
}

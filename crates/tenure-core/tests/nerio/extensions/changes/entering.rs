//! 2.3: the way into the next epoch.

use tenure_core::Input;
use tenure_core::nerio::epoch::{HeldRest, RestBounds};
use tenure_core::nerio::{Acceptor, AcceptorState, Record, Refusal, ToGrantor};

use super::*;

/// The answer of a member that is wedged for this document.
fn answer(s: &mut Story, by: &'static str, next: &Document, ballot: Ballot) -> Rests {
    let (epoch, into) = (zero(s), next.id());
    Rests {
        asker: s.who("d").inc,
        into,
        acceptor: Acceptor { instance: instance(s, by), memories: vec![] },
        state: AcceptorState::Wedged { epoch, ballot, into },
        bounds: RestBounds { rest: ms(0), unknown: ms(0), floor: Fence::NONE },
        after: None,
        rests: vec![],
        more: false,
    }
}

/// A cluster in which d is told that epoch 1 of a, b, c and d is decided.
fn told() -> (Story, Document) {
    let mut s = Story::new();
    blank(&mut s, "d");
    s.drop_all();
    let next = successor(&mut s, &["a", "b", "c", "d"]);
    decide(&mut s, "a", "d", Some(ballot(1)), &next);
    (s, next)
}

/// 2.3.1: p leads by a and b of epoch 0; d is told of a decision, and q asks d.
#[test]
fn decision_alone_enters_nothing() {
    let (mut s, next) = told();
    assert!(emitted_by(&s, "d", |e| matches!(e, OwnEvent::Decided { epoch: 1, .. })));
    ask_in(&mut s, next.id(), "q", "d", request(at(1)));
    decide(&mut s, "b", "d", Some(ballot(1)), &next);
    s.pass(ms(500));
    assert!(!has_entered(&s, "d", 1));
}

/// 2.3.1: a single acceptance is not enough. Two acceptances are not enough either, if one has a
/// ballot below the decided ballot.
#[test]
fn quorum_of_answers_is_needed() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    let early = answer(&mut s, "a", &next, Ballot { counter: 0, inc: Inc(5) });
    tell_in(&mut s, epoch, "a", "d", early);
    let first = answer(&mut s, "b", &next, ballot(1));
    tell_in(&mut s, epoch, "b", "d", first);
    assert!(!has_entered(&s, "d", 1), "the ballot of a is below the one that decided");
    let other = answer(&mut s, "c", &next, ballot(2));
    tell_in(&mut s, epoch, "c", "d", other);
    assert!(has_entered(&s, "d", 1), "the ballot of c is above the one that decided (2.1.8)");
}

/// 2.3.1: a member enters by one answer of a member that has entered. The answer must come from a
/// memory that the document names.
#[test]
fn member_enters_by_entered_member() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    let entered = Rests { state: AcceptorState::Entered, ..answer(&mut s, "b", &next, ballot(1)) };
    let acceptor = Acceptor { instance: Instance(5), memories: vec![] };
    tell_in(&mut s, epoch, "b", "d", Rests { acceptor, ..entered.clone() });
    let forged = Sender { proved: false, ..sender_in(&s, "b", epoch) };
    s.tell_as(&forged, "d", entered.clone().into());
    let other_life = Rests { asker: Inc(5), ..entered.clone() };
    tell_in(&mut s, epoch, "b", "d", other_life);
    assert!(!has_entered(&s, "d", 1));
    tell_in(&mut s, epoch, "b", "d", entered);
    assert!(has_entered(&s, "d", 1));
}

/// 2.3.1: a member that is wedged in another epoch answers for that epoch only.
#[test]
fn answer_of_other_epoch_is_ignored() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    for member in ["a", "b", "c"] {
        let answer = answer(&mut s, member, &next, ballot(1));
        let stray = EpochId { number: 0, digest: 7 };
        let state = AcceptorState::Wedged { epoch: stray, ballot: ballot(1), into: next.id() };
        tell_in(&mut s, epoch, member, "d", Rests { state, ..answer });
    }
    assert!(!has_entered(&s, "d", 1));
}

/// The copy of the document of epoch 0 that a sends has a forged host, which the digest does not
/// cover. Without the copy of b, d would not know whose answers are a quorum of epoch 0.
#[test]
fn forged_copy_condemns_no_epoch() {
    let mut s = Story::new();
    let whole = config(&["a", "b", "c", "d"]).check().unwrap();
    let line = std::mem::replace(&mut s.config, whole);
    s.start_empty("d");
    s.config = line;
    s.drop_all();
    let document = s.config.membership().document().clone();
    let mut forged = document.clone();
    forged.seats[2].hosts = vec!["0.0.0.0:7101".parse().unwrap()];
    let is_refused = |event: &OwnEvent| matches!(event, OwnEvent::OtherDocument { .. });
    assert!(has_told(&decide(&mut s, "a", "d", None, &forged), is_refused));
    assert!(!has_told(&decide(&mut s, "b", "d", None, &document), is_refused));
    s.drop_all();
    let next = successor(&mut s, &["a", "b", "c", "d"]);
    decide(&mut s, "a", "d", Some(ballot(1)), &next);
    let epoch = zero(&s);
    for member in ["b", "c"] {
        let answer = answer(&mut s, member, &next, ballot(1));
        tell_in(&mut s, epoch, member, "d", answer);
    }
    assert!(has_entered(&s, "d", 1), "{:?}", s.events("d"));
}

/// 2.3.2: the only member of a cluster is a quorum by itself.
#[test]
fn member_uses_its_own_answer() {
    let mut s = Story::empty(config(&["a"]));
    let disk = s.directory(true);
    s.start("a", Some(disk));
    s.start("p", None);
    s.start("r", None);
    s.elect("p");
    let whole = config(&["a", "d"]).check().unwrap();
    let line = std::mem::replace(&mut s.config, whole);
    s.start_empty("d");
    s.config = line;
    s.run(ms(300));
    change(&mut s, add("d"));
    assert!(has_entered(&s, "a", 1) && has_entered(&s, "d", 1));
    assert!(s.leads("p"));
}

/// 2.3.3
#[test]
fn entry_is_durable_before_first_grant() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    s.slow_disks = true;
    for member in ["a", "b"] {
        let mut answer = answer(&mut s, member, &next, ballot(1));
        answer.bounds.floor = fence(70);
        answer.bounds.rest = ms(3_000);
        tell_in(&mut s, epoch, member, "d", answer);
    }
    let effects = ask_in(&mut s, next.id(), "q", "d", proposal(at(1), 90));
    assert!(granted(&effects).is_none());
    let (_, record) = s.actors["d"].flushes.front().unwrap().clone();
    let Record::Entered { floor, inherited, .. } = record else { panic!("{record}") };
    assert!(floor > fence(70) && inherited == ms(3_000));
    let effects = s.flush_one("d");
    assert!(matches!(effects.last(), Some(Effect::Persist(Record::Table { .. }))));
    let effects = ask_in(&mut s, next.id(), "q", "d", proposal(at(2), 60));
    assert!(!granted(&effects).unwrap().accepted, "fences go on above the highest of all answers");
    let effects = ask_in(&mut s, next.id(), "q", "d", proposal(at(3), 90));
    assert!(granted(&effects).unwrap().accepted);
}

/// 2.3.3: the grantor writes the entry again, and grants nothing before it is durable.
#[test]
fn failed_entry_is_written_again() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    s.slow_disks = true;
    for member in ["a", "b"] {
        let answer = answer(&mut s, member, &next, ballot(1));
        tell_in(&mut s, epoch, member, "d", answer);
    }
    let (ticket, _) = s.actor("d").flushes.pop_front().unwrap();
    s.step("d", Input::Failed(Some(ticket)));
    assert!(granted(&ask_in(&mut s, next.id(), "q", "d", request(at(1)))).is_none());
    s.pass(ms(1_000));
    let is_entry = |record: &Record| matches!(record, Record::Entered { .. });
    let at_entry = s.actors["d"].flushes.iter().position(|(_, record)| is_entry(record));
    let (ticket, record) = s.actor("d").flushes.remove(at_entry.unwrap()).unwrap();
    s.flushed("d", ticket, record);
    assert!(has_entered(&s, "d", 1));
}

/// 2.3.4: p leads by a and c, and b has just restarted. d enters by the answers of a and b. After
/// the answer of c, too, d grants to p.
#[test]
fn later_answers_refine() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    let (who, address, start) = (s.who("p"), address("p"), at(5));
    let rests = vec![HeldRest { election: x(), who, address, start, rest: ms(800) }];
    let bounds = RestBounds { rest: ms(800), unknown: ms(0), floor: Fence::NONE };
    let first = Rests { rests, bounds, ..answer(&mut s, "a", &next, ballot(1)) };
    tell_in(&mut s, epoch, "a", "d", first.clone());
    let unknown = RestBounds { rest: ms(900), unknown: ms(900), floor: Fence::NONE };
    let second = Rests { bounds: unknown, ..answer(&mut s, "b", &next, ballot(1)) };
    tell_in(&mut s, epoch, "b", "d", second);
    assert!(has_entered(&s, "d", 1));
    let effects = ask_in(&mut s, next.id(), "p", "d", request(at(6)));
    assert!(granted(&effects).is_none(), "b answers for somebody unknown");
    let third = Rests { acceptor: answer(&mut s, "c", &next, ballot(1)).acceptor, ..first };
    let effects = tell_in(&mut s, epoch, "c", "d", third);
    assert_eq!(granted(&effects).map(|granted| granted.start), Some(at(6)), "it has waited");
}

/// 2.3.5: a grantor that enters epoch 1 drops its grants of epoch 0.
#[test]
fn grants_of_epoch_before_are_void() {
    let s = grown();
    for grantor in GRANTORS {
        let disk = s.actors[grantor].disk.as_ref().unwrap();
        let durable = disk.durable();
        assert_eq!(durable.standing.document().unwrap().number, 1, "{grantor}");
        assert_eq!(disk.grants(), Some(1), "that of p in epoch 1");
    }
}

/// c gets no message while the others enter epoch 2, and follows later.
#[test]
fn member_that_was_away_follows() {
    let mut s = grown();
    blank(&mut s, "e");
    ask(&mut s, "a", 8, add("e"));
    for _ in 0..60 {
        s.pass(ms(10));
        while !s.letters.is_empty() {
            let letter = s.letters.remove(0);
            if letter.by != "c" && letter.to != address("c") {
                s.put(&letter);
            }
        }
    }
    assert!(has_entered(&s, "a", 2) && has_entered(&s, "e", 2) && !has_entered(&s, "c", 2));
    s.run(ms(1_000));
    assert!(has_entered(&s, "c", 2), "{:?}", s.events("c"));
    assert!(s.leads("p"));
}

/// A removed member refuses requests, and teaches the latest epoch to a candidate that knows no
/// other member.
#[test]
fn removed_member_shows_the_way() {
    let mut s = Story::new();
    s.elect("p");
    change(&mut s, remove("c"));
    assert!(emitted_by(&s, "c", |e| matches!(e, OwnEvent::Removed { epoch: 1, .. })));
    let removed = Refusal::Removed { epoch: 1 };
    assert_eq!(refusal(&s.ask("q", "c", request(at(1)))), Some(removed));
    let line = std::mem::replace(&mut s.config, config(&["c"]).check().unwrap());
    s.start("q", None);
    s.config = line;
    s.resign("p");
    s.campaign("q");
    s.run(ms(2_000));
    assert!(s.leads("q"), "it knows only the name of c");
}

/// The old directory of a member that was replaced can come back by another replacement only.
#[test]
fn replaced_member_learns_its_way_back() {
    let mut s = Story::new();
    let mut next = successor(&mut s, &["a", "b", "c"]);
    next.seats[2].instance = Some(Instance(99));
    decide(&mut s, "a", "c", Some(ballot(1)), &next);
    let is_removed = |event: &&Event| matches!(event, Event::Own(OwnEvent::Removed { .. }));
    let events = s.events("c");
    let Some(Event::Own(event)) = events.iter().find(is_removed) else { panic!("{events:?}") };
    let text = event.sentence(None, s.now("c")).to_string();
    assert!(text.contains("tenure members replace") && !text.contains("add"), "{text}");
}

/// c loses its directory, and an operator replaces its memory.
#[test]
fn lost_member_is_replaced() {
    let mut s = grown();
    s.lose_disk("c");
    s.run(ms(300));
    assert!(!emitted_by(&s, "c", |event| *event == OwnEvent::Serving));
    change_by(&mut s, "b", 8, replace("c"));
    assert!(has_entered(&s, "c", 2), "{:?}", s.events("c"));
    assert!(s.leads("p"));
}

/// 2.2.4: d has waited for a long time. A page comes, the next page is lost, and a repeated page
/// causes no second question.
#[test]
fn lost_page_is_asked_for_soon() {
    let (mut s, next) = told();
    let epoch = zero(&s);
    s.pass(ms(1_000));
    s.drop_all();
    let (who, address, start) = (s.who("p"), address("p"), at(5));
    let rests = vec![HeldRest { election: x(), who, address, start, rest: ms(800) }];
    let page = Rests { rests, more: true, ..answer(&mut s, "b", &next, ballot(1)) };
    let asks = |message: &Message| match message {
        Message::Grantor(ToGrantor::RestsRead(read)) => read.after == Some(x()),
        _ => false,
    };
    assert!(sent(&tell_in(&mut s, epoch, "b", "d", page.clone())).any(asks));
    assert!(!sent(&tell_in(&mut s, epoch, "b", "d", page)).any(asks));
    s.drop_all();
    s.pass(ms(60));
    assert!(s.take("d", "b").iter().any(|letter| asks(&letter.message)));
}

/// 2.9.2: a has written down the memories of b and c in epoch 0. Both are replaced, and then a
/// starts again on its directory. If a kept its marks, it would deny both, and p would have only a
/// and d.
#[test]
fn marks_end_with_their_epoch() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.has_granted(grantor);
        s.restart(grantor);
        s.run(ms(1_000));
    }
    let roster = &s.actors["a"].disk.as_ref().unwrap().durable().roster;
    for other in ["b", "c"] {
        assert!(roster.iter().any(|(of, _)| *of == name(other)), "{other}");
    }
    s.elect("p");
    blank(&mut s, "d");
    change(&mut s, add("d"));
    for (number, gone) in [(8, "c"), (9, "b")] {
        s.lose_disk(gone);
        s.run(ms(300));
        change_by(&mut s, "a", number, replace(gone));
        assert!(has_entered(&s, gone, number - 6), "{gone}");
    }
    s.restart("a");
    s.run(ms(3_000));
    assert!(s.leads("p"), "{:?}", s.events("p"));
}

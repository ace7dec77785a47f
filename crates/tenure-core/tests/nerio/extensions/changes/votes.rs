//! 2.1: votes on the next epoch, and the wedge that ends the present one.

use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{
    Acceptor, ChangeState, Ignored, Message, OwnEvent, PromiseOutcome, Refusal, Service, ToGrantor,
};
use tenure_core::{Input, Protocol};

use super::*;

fn ignored(reason: Ignored) -> impl Fn(&OwnEvent) -> bool {
    move |event| *event == OwnEvent::Ignored(reason)
}

/// 2.1.2
#[test]
fn promise_waits_for_disk() {
    let mut s = Story::new();
    s.slow_disks = true;
    let effects = prepare(&mut s, "b", "a", ballot(3));
    assert!(promises(&effects).is_empty(), "{effects:?}");
    let effects = s.flush_one("a");
    let outcome = PromiseOutcome::Promised { accepted: None };
    assert_eq!(promises(&effects)[0].outcome, outcome);
    let effects = prepare(&mut s, "b", "a", ballot(3));
    assert_eq!(promises(&effects).len(), 1, "the first one may be lost");
    let effects = prepare(&mut s, "c", "a", ballot(2));
    assert_eq!(promises(&effects)[0].outcome, PromiseOutcome::Refused { above: ballot(3) });
}

/// 2.1.1: if a member promised such a ballot, one message could use up all ballots.
#[test]
fn far_ballot_is_ignored() {
    let mut s = Story::new();
    let far = ballot(Ballot::STEP_MAX + 1);
    let effects = prepare(&mut s, "b", "a", far);
    assert!(has_told(&effects, ignored(Ignored::NoVote)) && promises(&effects).is_empty());
    let next = successor(&mut s, &["a", "b"]);
    let effects = accept(&mut s, "b", "a", far, &next);
    assert!(!has_accepted(&effects));
}

/// 2.1.3
#[test]
fn acceptance_needs_the_document() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b"]);
    let (epoch, successor) = (zero(&s), next.id());
    let question = Accept { epoch, ballot: ballot(1), successor };
    let effects = tell_in(&mut s, epoch, "b", "a", question);
    assert!(sent(&effects).any(|m| matches!(m, Message::Grantor(ToGrantor::DocumentRead(_)))));
    assert!(!has_accepted(&effects));
    let part = part(&s, "a", &next);
    assert!(has_accepted(&tell_in(&mut s, epoch, "b", "a", part)));
}

/// 2.1.3: the successor follows the epoch 0 of another cluster.
#[test]
fn successor_must_follow_the_epoch() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b"]);
    let other = EpochId { number: 0, digest: 7 };
    let stray = Document { before: other, founding: other.digest, ..next };
    let effects = accept(&mut s, "b", "a", ballot(1), &stray);
    assert!(!has_accepted(&effects) && has_told(&effects, ignored(Ignored::NoVote)));
}

/// 2.1.4: p renews, and q asks, while the vote is on its way to the disk.
#[test]
fn wedged_grantor_grants_nothing() {
    let mut s = Story::new();
    s.elect("p");
    s.drop_all();
    let next = successor(&mut s, &["a", "b"]);
    s.slow_disks = true;
    let effects = accept(&mut s, "b", "a", ballot(1), &next);
    assert!(!has_accepted(&effects) && has_told(&effects, |e| *e == OwnEvent::Wedged { next: 1 }));
    let start = s.now("p");
    assert_eq!(refusal(&s.ask("p", "a", renewal(start, 1))), Some(Refusal::Wedged { next: 1 }));
    assert_eq!(refusal(&s.ask("q", "a", request(at(1)))), Some(Refusal::Wedged { next: 1 }));
    assert!(has_accepted(&s.flush_one("a")));
    let state = s.state("a");
    assert_eq!(state.service, Service::Wedged);
    assert_eq!(state.holder.unwrap().who.name, name("p"), "its grant lasts");
}

/// 2.1.4: q waits for p's grant to end.
#[test]
fn wedged_grantor_grants_no_waiting_request() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(1)));
    s.ask("q", "a", request(at(1)));
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    let effects = s.tell("p", "a", release(at(1)));
    assert!(granted(&effects).is_none(), "{effects:?}");
    assert_eq!(s.holder("a"), None, "a release counts all the same");
}

/// 2.1.4: a failed write may have left the vote on the disk.
#[test]
fn failed_write_ends_no_wedge() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b"]);
    s.slow_disks = true;
    accept(&mut s, "b", "a", ballot(1), &next);
    let (ticket, _) = s.actor("a").flushes.pop_front().unwrap();
    assert!(!has_accepted(&s.step("a", Input::Failed(Some(ticket)))));
    assert_eq!(refusal(&s.ask("q", "a", request(at(1)))), Some(Refusal::Wedged { next: 1 }));
    s.pass(ms(1_000));
    assert!(has_accepted(&s.flush_one("a")), "it is written again");
}

/// 2.1.4
#[test]
fn wedge_outlives_the_process() {
    for reboots in [false, true] {
        let mut s = Story::new();
        s.has_granted("a");
        let next = successor(&mut s, &["a", "b"]);
        accept(&mut s, "b", "a", ballot(1), &next);
        s.drop_all();
        match reboots {
            true => s.reboot("a"),
            false => s.restart("a"),
        };
        assert_eq!(refusal(&s.ask("q", "a", request(at(1)))), Some(Refusal::Wedged { next: 1 }));
        let effects = prepare(&mut s, "b", "a", ballot(2));
        let accepted = Some((ballot(1), next.id()));
        let outcome = PromiseOutcome::Promised { accepted };
        assert_eq!(promises(&effects)[0].outcome, outcome, "{reboots}");
    }
}

/// 2.1.4: c may have promised a ballot before it lost its memory.
#[test]
fn lost_memory_has_no_vote() {
    let mut s = Story::new();
    s.lose_disk("c");
    s.run(ms(4_000));
    assert!(emitted_by(&s, "c", |event| *event == OwnEvent::Serving));
    for _ in 0..2 {
        let effects = prepare(&mut s, "b", "c", ballot(1));
        assert!(promises(&effects).is_empty() && has_told(&effects, ignored(Ignored::NoVote)));
        s.restart("c");
    }
}

/// 2.1.4: b and c accepted a successor, which is decided. Then c lost its memory. If b answered c,
/// then c would serve again, and elect a leader with a.
#[test]
fn wedged_grantor_brings_no_memory_back() {
    let mut s = Story::new();
    let next = successor(&mut s, &["b", "c"]);
    accept(&mut s, "c", "b", ballot(1), &next);
    s.drop_all();
    s.lose_disk("c");
    for _ in 0..50 {
        s.pass(ms(100));
        s.deliver("c", "a");
        s.deliver("a", "c");
        s.deliver("c", "b");
        s.deliver("b", "c");
        s.drop_all();
    }
    assert!(!emitted_by(&s, "c", |event| *event == OwnEvent::Serving));
}

/// 2.3.6: a knows the document of epoch 1, but has not entered that epoch.
#[test]
fn member_votes_in_its_own_epoch() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    let epoch = next.id();
    let effects = tell_in(&mut s, epoch, "b", "a", Prepare { epoch, ballot: ballot(2) });
    assert!(promises(&effects).is_empty());
    let asks = sent(&effects).any(|m| matches!(m, Message::Grantor(ToGrantor::Where(_))));
    assert!(asks, "it asks the others which epoch they have entered");
}

/// 2.1.2: c asks for a promise in epoch 0. a, in epoch 1, tells c of the decision instead.
#[test]
fn member_of_later_epoch_tells_decision() {
    let mut s = grown();
    let epoch = zero(&s);
    let effects = tell_in(&mut s, epoch, "c", "a", Prepare { epoch, ballot: ballot(9) });
    let successor = document(&s, "a").id();
    let told = sent(&effects).any(|message| match message {
        Message::Grantor(ToGrantor::Decided(decided)) => decided.successor == successor,
        _ => false,
    });
    assert!(told && promises(&effects).is_empty(), "{effects:?}");
}

/// 2.1.9: the proposer died after a had accepted.
#[test]
fn wedged_grantor_proposes_by_itself() {
    let mut s = Story::new();
    s.elect("p");
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "c", "a", ballot(1), &next);
    s.run(ms(2_000));
    assert!(has_entered(&s, "a", 1) && has_entered(&s, "b", 1));
    assert!(s.leads("p"), "p leads on by a and b");
}

/// 2.1.9: a has accepted a successor of which no other member knows, and restarts.
#[test]
fn wedged_grantor_proposes_after_restart() {
    let mut s = Story::new();
    s.has_granted("a");
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "c", "a", ballot(1), &next);
    s.drop_all();
    s.restart("a");
    s.run(ms(2_000));
    assert!(has_entered(&s, "a", 1) && has_entered(&s, "b", 1));
}

/// 2.1.9: a and c have accepted. Member a, or a node that has entered, tells all that the successor
/// is decided, and ends before it answers for its leases. b has not been asked to accept.
#[test]
fn told_grantor_proposes_by_itself() {
    for by in [Some(ballot(1)), None] {
        let mut s = Story::new();
        blank(&mut s, "d");
        let next = successor(&mut s, &["a", "b", "c", "d"]);
        accept(&mut s, "a", "c", ballot(1), &next);
        s.drop_all();
        s.actors.remove("a");
        for member in ["b", "c", "d"] {
            decide(&mut s, "a", member, by, &next);
        }
        s.run(ms(300));
        assert!(!["b", "c", "d"].iter().any(|member| has_entered(&s, member, 1)), "{by:?}");
        s.run(ms(1_700));
        for member in ["b", "c", "d"] {
            assert!(has_entered(&s, member, 1), "{by:?}: {:?}", s.events(member));
        }
    }
}

/// 2.1.5: a has accepted a successor, names it in a promise, and is lost before b has read the
/// document. No other member has this document.
#[test]
fn lost_document_holds_up_no_change() {
    let names = ["a", "b", "c", "d", "e"];
    let mut s = Story::empty(config(&names));
    for grantor in names {
        let disk = s.directory(true);
        s.start(grantor, Some(disk));
    }
    s.start("r", None);
    let lost = successor(&mut s, &["a", "b", "c", "d"]);
    accept(&mut s, "e", "a", ballot(1), &lost);
    s.drop_all();
    ask(&mut s, "b", 1, remove("c"));
    let is_read =
        |letter: &Letter| matches!(letter.message, Message::Grantor(ToGrantor::DocumentRead(_)));
    for _ in 0..1_000 {
        if s.letters.iter().any(is_read) {
            break;
        }
        if s.letters.is_empty() {
            s.pass(ms(10));
            continue;
        }
        let letter = s.letters.remove(0);
        s.put(&letter);
    }
    assert!(s.letters.iter().any(|letter| is_read(letter) && letter.to == address("a")));
    s.actors.remove("a");
    s.run(ms(4_000));
    let done = state(&mut s, "b", 1, remove("c"));
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
}

/// 2.1.10: a carries out the change of one operator, and b carries out the change of another
/// operator.
#[test]
fn overtaken_change_is_superseded() {
    let mut s = Story::new();
    for (member, number, what) in [("a", 1, remove("c")), ("b", 2, remove("a"))] {
        ask(&mut s, member, number, what);
    }
    s.run(ms(5_000));
    let first = state(&mut s, "a", 1, remove("c"));
    let second = state(&mut s, "b", 2, remove("a"));
    let is_done = |state: &ChangeState| matches!(state, ChangeState::Done { .. });
    assert!(is_done(&first) != is_done(&second), "{first} {second}");
    assert!(first.is_final() && second.is_final(), "{first} {second}");
}

/// T10: c has a new memory, which a has written down, and a process with the old memory lives.
#[test]
fn answer_of_replaced_memory_is_ignored() {
    let mut s = Story::new();
    s.lose_disk("c");
    s.run(ms(4_000));
    ask(&mut s, "a", 1, remove("b"));
    let (mut promised, asker) = (0, s.who("a").inc);
    for _ in 0..20 {
        s.pass(ms(50));
        for question in s.take("a", "c") {
            let Message::Grantor(ToGrantor::Prepare(asked)) = &question.message else {
                s.put(&question);
                continue;
            };
            let (epoch, ballot) = (asked.epoch, asked.ballot);
            let acceptor = Acceptor { instance: Instance(99), memories: vec![] };
            let outcome = PromiseOutcome::Promised { accepted: None };
            let promise = Promise { asker, epoch, ballot, acceptor, outcome };
            tell_in(&mut s, epoch, "c", "a", promise);
            promised += 1;
        }
        s.deliver("a", "a");
        s.deliver("c", "a");
        s.letters.retain(|letter| letter.by != "b");
    }
    assert!(promised > 0, "the old memory of c answers");
    let state = state(&mut s, "a", 1, remove("b"));
    assert!(!matches!(state, ChangeState::Done { .. }), "{state}");
    let goes_on =
        |event: &OwnEvent| matches!(event, OwnEvent::Wedged { .. } | OwnEvent::Decided { .. });
    assert!(!emitted_by(&s, "a", goes_on));
}

/// A node reports whether it has entered an epoch.
#[test]
fn blank_reports_no_entry() {
    let mut s = Story::new();
    blank(&mut s, "d");
    let epoch = zero(&s);
    let effects = tell_in(&mut s, epoch, "a", "d", asked(1));
    assert!(!shown(&effects)[0].entered);
    let effects = tell_in(&mut s, epoch, "b", "a", asked(1));
    assert!(shown(&effects)[0].entered);
    assert!(s.actors["d"].core.deadline().is_some(), "it asks on");
}

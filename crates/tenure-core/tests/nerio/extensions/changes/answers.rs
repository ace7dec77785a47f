//! 2.2: answers of a member that is wedged, or has entered the next epoch.

use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::nerio::{AcceptorState, Refusal};

use super::*;

fn read(into: EpochId) -> RestsRead {
    RestsRead { into, after: None }
}

/// 2.2: a member that can still grant could lengthen its rests after the answer.
#[test]
fn unwedged_member_answers_nothing() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(1)));
    let next = successor(&mut s, &["a", "b"]);
    assert_eq!(rests(&mut s, "b", "a", read(next.id())), None);
    s.slow_disks = true;
    accept(&mut s, "b", "a", ballot(1), &next);
    assert_eq!(rests(&mut s, "b", "a", read(next.id())), None, "its vote is not durable");
    s.flush_one("a");
    let answer = rests(&mut s, "b", "a", read(next.id())).unwrap();
    let (epoch, into) = (zero(&s), next.id());
    assert_eq!(answer.state, AcceptorState::Wedged { epoch, ballot: ballot(1), into });
    assert_eq!(answer.rests[0].who, s.who("p"));
}

/// 2.2.1, 2.2.3: election y has the longest grant.
#[test]
fn bounds_cover_all_grants() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(1), 8));
    s.slip(ms(50));
    let y = Request { election: "y".parse().unwrap(), ..for_span(at(1), ms(2_000)) };
    s.ask("q", "a", y);
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    s.slip(ms(100));
    let answer = rests(&mut s, "b", "a", read(next.id())).unwrap();
    // A grant lasts for (1 + ρ)δ, and ρ is a tenth.
    assert_eq!(answer.bounds.rest, ms(2_100));
    assert_eq!(answer.bounds.unknown, Duration::ZERO);
    assert!(answer.bounds.floor >= fence(8));
    let held: Vec<_> = answer.rests.iter().map(|rest| rest.rest).collect();
    assert_eq!(held, [ms(950), ms(2_100)]);
}

/// 2.2.2: a's machine has restarted, and a has forgotten to whom it granted.
#[test]
fn quarantine_names_unknown_holder() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(1)));
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    s.reboot("a");
    let answer = rests(&mut s, "b", "a", read(next.id())).unwrap();
    assert!(answer.rests.is_empty());
    // (1 + ρ)·delta_max.
    assert_eq!((answer.bounds.rest, answer.bounds.unknown), (ms(2_200), ms(2_200)));
}

/// 2.2.4: pages name more elections than one datagram holds, each once and in order.
#[test]
fn pages_name_each_holder_once() {
    let mut s = Story::new();
    let elections = (0..60).map(|nth| format!("election-{nth:02}"));
    let elections: Vec<ElectionName> = elections.map(|name| name.parse().unwrap()).collect();
    for election in elections.iter().rev() {
        s.ask("p", "a", Request { election: election.clone(), ..request(at(1)) });
    }
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    let (mut named, mut after, mut pages) = (vec![], None, 0);
    loop {
        let page = rests(&mut s, "b", "a", RestsRead { into: next.id(), after }).unwrap();
        named.extend(page.rests.iter().map(|rest| rest.election.clone()));
        after = page.rests.last().map(|rest| rest.election.clone());
        pages += 1;
        if !page.more {
            break;
        }
    }
    assert_eq!(named, elections);
    assert!(pages > 1);
}

/// 2.2: a knows that epoch 1 is decided, but has not entered it, so a knows no rests of others.
#[test]
fn joining_member_answers_for_itself() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b", "d"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    decide(&mut s, "b", "a", Some(ballot(1)), &next);
    assert!(!has_entered(&s, "a", 1));
    let answer = rests(&mut s, "b", "a", read(next.id())).unwrap();
    assert!(matches!(answer.state, AcceptorState::Wedged { .. }), "{answer}");
}

/// 2.2.5: a member measures a rest from its receipt, not from the grant, when it passes the rest
/// on.
#[test]
fn entered_member_answers_for_all() {
    let mut s = grown();
    let into = document(&s, "a").id();
    for grantor in ["a", "b", "c", "d"] {
        let answer = rests(&mut s, "d", grantor, read(into)).unwrap();
        assert_eq!(answer.state, AcceptorState::Entered, "{grantor}");
        assert_eq!(answer.rests.iter().filter(|rest| rest.who == s.who("p")).count(), 1);
    }
}

/// 2.2: a stranger gets no answer.
#[test]
fn stranger_reads_no_rests() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    let from = Sender { proved: false, ..s.sender("b") };
    let effects = s.tell_as(&from, "a", read(next.id()).into());
    assert!(!sent(&effects).any(|message| matches!(message, Message::Asker(_))));
}

/// 2.2.1: epochs 1 and 2 follow within p's lease. No member of epoch 1 granted anything to p.
#[test]
fn rests_outlive_two_changes() {
    let mut s = Story::with({
        let mut config = config(&GRANTORS).with_lease(ms(8_000));
        config.drift = "0.1".parse().unwrap();
        config
    });
    s.elect("p");
    s.actors.remove("p");
    blank(&mut s, "d");
    change(&mut s, add("d"));
    blank(&mut s, "e");
    let number = 8;
    ask(&mut s, "a", number, add("e"));
    s.run(ms(500));
    assert!(has_entered(&s, "e", 2), "{:?}", s.events("e"));
    let epoch = document(&s, "a").id();
    for grantor in ["a", "b", "c", "d", "e"] {
        let refused = refusal(&ask_in(&mut s, epoch, "q", grantor, request(at(1))));
        let Some(Refusal::Held { holder, .. }) = &refused else { panic!("{grantor}: {refused:?}") };
        assert_eq!(holder.who.name, name("p"), "{grantor}");
    }
}

//! Lists of elections and candidates, for any sender.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::nerio::{
    Candidates, CandidatesHere, Effect, Elections, ElectionsHere, Inc, Message, Release, Request,
    Sender, ToAsker, Which, Who,
};
use tenure_core::{ElectionName, Fence};

use crate::story::*;

fn elections(s: &mut Story, which: &Which, after: Option<&ElectionName>) -> ElectionsHere {
    let (which, after) = (which.clone(), after.cloned());
    let asked = Elections { start: at(7), which, after };
    let effects = s.tell("q", "a", Message::from(asked));
    match &effects[..] {
        [Effect::Send { message: Message::Asker(ToAsker::ElectionsHere(here)), to }] => {
            assert_eq!(to.recipient, address("q").into());
            assert_eq!((here.asker, here.start), (s.who("q").inc, at(7)));
            here.clone()
        }
        other => panic!("{other:?}"),
    }
}

/// The lines of all pages, and the number of pages.
fn all(s: &mut Story, which: &Which) -> (Vec<String>, usize) {
    let (mut names, mut pages, mut after) = (Vec::new(), 0, None);
    loop {
        let page = elections(s, which, after.as_ref());
        names.extend(page.elections.iter().map(|here| here.election.to_string()));
        pages += 1;
        match page.more_after {
            Some(more) => {
                assert!(after.as_ref() < Some(&more), "it goes on");
                after = Some(more);
            }
            None => return (names, pages),
        }
    }
}

fn candidates(s: &mut Story, after: Option<Who>) -> CandidatesHere {
    let asked = Candidates { election: x(), start: at(7), after };
    let effects = s.tell("q", "a", Message::from(asked));
    match &effects[..] {
        [Effect::Send { message: Message::Asker(ToAsker::CandidatesHere(here)), .. }] => {
            here.clone()
        }
        other => panic!("{other:?}"),
    }
}

fn waited(s: &mut Story, who: &str) -> Option<Duration> {
    let here = candidates(s, None);
    here.waiting.iter().find(|one| one.who.name == name(who)).map(|one| one.waited)
}

fn of(election: &str, request: Request) -> Request {
    Request { election: election.parse().unwrap(), ..request }
}

#[test]
fn elections_list_holders_and_counts() {
    let mut s = Story::new();
    s.ask("p", "a", of("billing/eu", renewal(at(10), 1)));
    s.ask("q", "a", of("billing/eu", request(at(20))));
    s.ask("r", "a", of("billing/eu", renewal(at(20), 1)));
    s.ask("q", "a", of("audit", request(at(20))));
    s.slip(ms(100));
    let here = elections(&mut s, &Which::All, None);
    assert_eq!(here.more_after, None);
    let [audit, billing] = &here.elections[..] else { panic!("{here:?}") };
    let holder = billing.holder.as_ref().unwrap();
    assert_eq!((&holder.who, holder.fence), (&s.who("p"), Some(Fence::new(1))));
    assert_eq!((holder.remaining, holder.leaving), (ms(1_000), None), "1.1 s, 0.1 s ago");
    assert_eq!(billing.waiting, 1, "who leads elsewhere and waits here does not count");
    assert_eq!((audit.waiting, audit.holder.as_ref().unwrap().fence), (0, None));

    let only = |s: &mut Story, which: Which| all(s, &which).0;
    assert_eq!(only(&mut s, Which::Beginning("billing/".parse().unwrap())), ["billing/eu"]);
    assert_eq!(only(&mut s, Which::Only("audit".parse().unwrap())), ["audit"]);
    assert!(only(&mut s, Which::Only("aud".parse().unwrap())).is_empty());
    s.slip(ms(1_000));
    assert!(all(&mut s, &Which::All).0.is_empty(), "all of it has ended");
}

/// Elections with the longest names have a page each, and each election comes once.
#[test]
fn many_elections_come_in_pages() {
    let mut s = Story::new();
    let long = |number: u64| format!("billing/{number:056}");
    for number in 0..300 {
        s.ask("p", "a", of(&long(number), request(at(number + 1))));
        s.ask("p", "a", of(&format!("z{number}"), request(at(number + 1))));
    }
    let (names, pages) = all(&mut s, &Which::All);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 600);
    assert!(names.len() == 600 && names.is_sorted() && pages < 80, "{pages} pages");
    let (names, _) = all(&mut s, &Which::Beginning("billing/".parse().unwrap()));
    assert_eq!(names, (0..300).map(long).collect::<Vec<_>>());
}

/// A grantor keeps ended elections for a while: a question examines a bounded number of them, and
/// the page says where to go on.
#[test]
fn question_examines_bounded_elections() {
    let mut s = Story::new();
    for number in 0..1_000 {
        let (election, start) = (format!("e{number:03}"), at(number + 1));
        s.ask("p", "a", of(&election, request(start)));
        let (election, next) = (election.parse().unwrap(), None);
        s.tell("p", "a", Message::from(Release { election, start, next }));
    }
    s.ask("p", "a", of("last", request(at(2_000))));
    let here = elections(&mut s, &Which::All, None);
    assert!(here.elections.is_empty());
    assert_eq!(here.more_after.unwrap().as_str(), "e127");
    assert_eq!(all(&mut s, &Which::All), (vec!["last".to_owned()], 8));
}

#[test]
fn asking_changes_nothing() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(20)));
    let before = s.actor("a").core.clone();
    for _ in 0..100 {
        elections(&mut s, &Which::Only("nowhere".parse().unwrap()), None);
        elections(&mut s, &Which::All, None);
        candidates(&mut s, None);
    }
    assert!(s.actor("a").core == before, "nothing is remembered of who asks, or for what");
}

/// The waiting time counts from the first request at this grantor, as long as the candidate
/// refreshes that request.
#[test]
fn candidates_list_waiting_times() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(2_000)));
    s.ask("q", "a", Request { priority: 9, ..request(at(20)) });
    for start in [120, 220, 320] {
        s.slip(ms(100));
        s.ask("q", "a", Request { priority: 9, ..request(at(start)) });
    }
    let here = candidates(&mut s, None);
    assert_eq!(here.holder.as_ref().map(|holder| &holder.who.name), Some(&name("p")));
    let [q] = &here.waiting[..] else { panic!("{here:?}") };
    assert_eq!((&q.who, q.priority, q.leading, q.waited), (&s.who("q"), 9, false, ms(300)));
    s.tell("q", "a", release(at(320)));
    assert_eq!(waited(&mut s, "q"), None);
    s.ask("q", "a", request(at(330)));
    assert_eq!(waited(&mut s, "q"), Some(ms(0)), "it begins anew");
    s.slip(ms(900));
    assert_eq!(waited(&mut s, "q"), None, "it has been silent for too long");
}

#[test]
fn candidates_come_in_ordered_pages() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(2_000)));
    for number in 0..64_u16 {
        let name = format!("{}{number:02}", "n".repeat(60)).parse().unwrap();
        let who = Who { name, inc: Inc(u128::MAX - u128::from(number)) };
        let sender = Sender {
            who,
            address: ([127, 0, 0, 1], 20_000 + number).into(),
            proved: false,
            ..s.sender("q")
        };
        s.tell_as(&sender, "a", Message::from(request(at(20))));
    }
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let page = candidates(&mut s, found.last().cloned());
        assert!(page.holder.is_some(), "in each page");
        found.extend(page.waiting.into_iter().map(|one| one.who));
        pages += 1;
        if !page.more {
            break;
        }
    }
    assert!(found.len() == 64 && found.is_sorted() && pages < 15, "{pages} pages, {found:?}");
}

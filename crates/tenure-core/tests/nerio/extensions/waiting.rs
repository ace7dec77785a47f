//! Reasons why a campaign waits, or a lease is not renewed: reported when they change, and not
//! before the grantors had time to answer.

use tenure_core::nerio::{Event, Message, OwnEvent, Refusal, Refused, ToGrantor};
use tenure_core::{Fence, Waiting};

use crate::story::*;

/// The reasons that `who` has reported, as lines.
fn told(s: &Story, who: &str) -> Vec<String> {
    let told = s.events(who).iter().filter_map(|event| match event {
        Event::Waiting(waiting) => Some(waiting.to_string()),
        _ => None,
    });
    told.collect()
}

/// A candidate reports a missing quorum once, however long it is missing.
#[test]
fn unchanged_reason_is_not_repeated() {
    let mut s = Story::new();
    s.actors.remove("b");
    s.actors.remove("c");
    s.campaign("p");
    s.run(ms(5_000));
    assert_eq!(told(&s, "p"), ["no quorum: no answer from b, c"]);
}

#[test]
fn quick_winner_reports_no_wait() {
    let mut s = Story::new();
    s.elect("p");
    s.run(ms(5_000));
    assert!(told(&s, "p").is_empty(), "{:?}", told(&s, "p"));
}

#[test]
fn answering_grantor_is_not_missing() {
    let mut s = Story::new();
    let (b, c) = (s.actors.remove("b").unwrap(), s.actors.remove("c"));
    s.campaign("p");
    s.run(ms(1_000));
    let now = s.now("p");
    s.actors.insert("b", b);
    s.actor("b").clock = now;
    s.run(ms(1_000));
    assert!(s.leads("p"), "{:?}", s.events("p"));
    assert!(c.is_some());
    assert_eq!(told(&s, "p"), ["no quorum: no answer from b, c"]);
}

#[test]
fn waiting_candidate_names_its_rival() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(5_000));
    assert_eq!(told(&s, "q"), ["behind p, which leads"], "renewals change nothing");
    s.resign("p");
    s.run(ms(100));
    assert!(s.leads("q"));
    s.campaign("p");
    s.run(ms(2_000));
    assert_eq!(told(&s, "p"), ["behind q, which leads"]);
}

/// With one grantor silent and one in quarantine, no candidate is elected before the quarantine
/// ends.
#[test]
fn quarantine_reports_its_end() {
    let mut s = Story::new();
    s.actors.remove("c");
    s.reboot("b");
    let ends = s.now("p").after(s.config.quarantine());
    s.campaign("p");
    s.run(ms(500));
    let Some(Event::Waiting(Waiting::OldLeases { at, until, missing })) =
        s.events("p").iter().rfind(|event| matches!(event, Event::Waiting(_)))
    else {
        panic!("{:?}", told(&s, "p"))
    };
    assert_eq!((at.as_slice(), missing.as_slice()), (&["b".into()][..], &["c".into()][..]));
    // The grantor's clock may be slow by the drift, so the quarantine may last longer here.
    assert!(*until >= ends, "{until} {ends}");
    assert!(*until <= ends.after(s.config.quarantine() / 4), "{until} {ends}");
    s.run(ms(2_000));
    assert!(told(&s, "p").len() <= 2, "{:?}", told(&s, "p"));
}

#[test]
fn lasting_refusals_are_named() {
    let mut s = Story::new();
    s.campaign("p");
    for _ in 0..8 {
        refuse(&mut s, &["b", "c"], &Refusal::Disk);
        s.pass(REFRESH);
    }
    let disk =
        "it cannot write its state directory: make room there (1 MiB is enough), or mend its disk";
    assert_eq!(
        told(&s, "p"),
        [
            format!("refused by b: {disk}; c: {disk}"),
            format!("refused by b: {disk}; c: {disk}; no answer from a"),
        ]
    );
}

/// A leader that cannot renew names the silent grantors once, before its work is asked to stop. The
/// leader reports a later failure again.
#[test]
fn overdue_renewal_names_silent_grantors() {
    let mut s = Story::new();
    s.elect("p");
    let lost = "no quorum: no answer from b, c";
    for round in 1..=2 {
        let (b, c) = (s.actors.remove("b").unwrap(), s.actors.remove("c").unwrap());
        let until = s.until("p");
        // The report comes 450 ms after the last renewal: a third of the lease, and a quarter of
        // the time that is left then until the stop.
        s.run(until.since(s.now("p")) - ms(460));
        assert_eq!(told(&s, "p").len(), round - 1, "repetitions may help");
        s.run(ms(80));
        assert_eq!(told(&s, "p"), vec![lost; round]);
        s.run(ms(200));
        assert_eq!(told(&s, "p"), vec![lost; round], "once");
        let now = s.now("p");
        for (name, mut actor) in [("b", b), ("c", c)] {
            actor.clock = now;
            s.actors.insert(name, actor);
        }
        s.run(ms(100));
        assert!(s.until("p") > until, "renewed");
    }
}

#[test]
fn overdue_renewal_names_refusals() {
    let mut s = Story::new();
    s.elect("p");
    s.pass(ms(340));
    for _ in 0..6 {
        refuse(&mut s, &["b", "c"], &Refusal::Disk);
        s.pass(ms(50));
    }
    let disk =
        "it cannot write its state directory: make room there (1 MiB is enough), or mend its disk";
    let text = format!("refused by b: {disk}; c: {disk}; no answer from a");
    assert_eq!(told(&s, "p"), [text]);
}

/// Two of three grantors suffice: a leader without the third reports, once, that it needs each of
/// the other grantors.
#[test]
fn leader_reports_missing_spare() {
    let spare = |s: &Story| -> Vec<OwnEvent> {
        let own = s.events("p").iter().filter_map(|event| match event {
            Event::Own(own) => Some(own.clone()),
            _ => None,
        });
        own.filter(|own| matches!(own, OwnEvent::NoSpare { .. } | OwnEvent::SpareAgain)).collect()
    };
    let mut s = Story::new();
    s.elect("p");
    let mut c = s.actors.remove("c").unwrap();
    s.run(ms(900));
    assert!(spare(&s).is_empty(), "silent for less than a lease");
    s.run(ms(3_000));
    let lacking = spare(&s);
    let [OwnEvent::NoSpare { silent, .. }] = &lacking[..] else { panic!("{lacking:?}") };
    assert_eq!(*silent, [name("c")]);
    c.clock = s.now("p");
    s.actors.insert("c", c);
    s.run(ms(1_000));
    assert_eq!(spare(&s).last(), Some(&OwnEvent::SpareAgain));
    assert_eq!(spare(&s).len(), 2);
    assert!(told(&s, "p").is_empty(), "{:?}", told(&s, "p"));
}

/// The grantors of `by` refuse the last request of p.
fn refuse(s: &mut Story, by: &[&'static str], refusal: &Refusal) {
    let start = s.letters.iter().rev().find_map(|letter| match &letter.message {
        Message::Grantor(ToGrantor::Request(request)) => Some(request.start),
        _ => None,
    });
    let start = start.unwrap();
    for grantor in by {
        let (election, asker, seen) = (x(), s.who("p").inc, Fence::NONE);
        let (refusal, name_shared) = (refusal.clone(), None);
        let refused = Refused { election, asker, start, refusal, seen, name_shared };
        s.tell(grantor, "p", Message::from(refused));
    }
}

/// A reason that changes with each answer is reported no more often than the candidate asks.
#[test]
fn alternating_reasons_cause_no_storm() {
    let mut s = Story::new();
    s.campaign("p");
    for round in 0..75 {
        for turn in 0..11 {
            let refusal = [Refusal::Disk, Refusal::Full][(round + turn) % 2].clone();
            refuse(&mut s, &["a", "b", "c"], &refusal);
        }
        s.pass(REFRESH / 3);
    }
    let told = told(&s, "p").len();
    assert!((2..=26).contains(&told), "{told} times in 25 rounds of requests");
}

#[test]
fn grantors_report_name_in_use() {
    let mut s = Story::new();
    s.elect("q");
    s.campaign("p");
    s.run(ms(300));
    // Another process of that name asks in turn with p.
    let mut other = s.sender("p");
    other.who.inc.0 += 1;
    for round in 0..10 {
        for grantor in GRANTORS {
            let start = at(20_000 + 10 * round);
            s.tell_as(&other, grantor, Message::from(request(start)));
        }
        s.letters.retain(|letter| letter.from != other);
        s.run(REFRESH);
    }
    let told = told(&s, "p");
    assert_eq!(told.first().map(String::as_str), Some("behind q, which leads"));
    let last = told.last().unwrap();
    let other = format!("another process with this candidate's name, at {}: ", address("p"));
    assert!(last.contains(&other), "{told:?}");
    assert_eq!(told.len(), 2, "said once: {told:?}");
}

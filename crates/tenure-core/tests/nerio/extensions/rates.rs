//! A breach of ρ: oks that prove two clocks apart, and what a node does then.

use std::time::Duration;

use tenure_core::nerio::{Command, Effect, Extra, OwnEvent, Refusal, Service};
use tenure_core::{End, Event, Loss, Waiting};

use crate::story::*;

/// Time passes and letters arrive at once; the clocks of `fast` advance by half as much again. ρ is
/// a tenth, so the rates of two right clocks differ by at most two ninths.
fn run(s: &mut Story, fast: &[&str], steps: u32, without: &[&str]) {
    for _ in 0..steps {
        s.pass(ms(10));
        for name in fast {
            let clock = &mut s.actor(name).clock;
            *clock = clock.after(ms(5));
        }
        s.timers();
        let lost: Vec<_> = without.iter().map(|name| address(name)).collect();
        for _ in 0..100 {
            s.letters.retain(|letter| !lost.contains(&letter.to));
            if s.letters.is_empty() {
                break;
            }
            let letter = s.letters.remove(0);
            s.put(&letter);
        }
    }
}

/// Faster and slower members that `who` has reported, and whether it accuses itself.
fn told(s: &Story, who: &str) -> (Vec<(String, bool)>, bool) {
    let apart = s.events(who).iter().filter_map(|event| match event {
        Event::Own(OwnEvent::ClockApart(apart)) => {
            Some((apart.member.to_string(), apart.apart.is_faster))
        }
        _ => None,
    });
    let wrong = |event: &tenure_core::nerio::Event| {
        matches!(event, Event::Own(OwnEvent::WrongClock { .. }))
    };
    (apart.collect(), s.events(who).iter().any(wrong))
}

fn clear(s: &mut Story, who: &'static str) -> Vec<Effect> {
    s.command(who, Command::Extra(Extra::ClearBreach))
}

fn waits(s: &Story, who: &str) -> Option<&'static str> {
    s.events(who).iter().rev().find_map(|event| match event {
        Event::Waiting(Waiting::Refused { obstacles, .. }) => Some(obstacles[0].label),
        _ => None,
    })
}

#[test]
fn faster_members_oks_do_not_count() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, &["b"], 200, &[]);
    assert_eq!(told(&s, "p"), (vec![("b".to_owned(), true)], false));
    assert!(s.leads("p"), "with a and c");
    run(&mut s, &["b"], 200, &["c"]);
    assert!(!s.leads("p"), "the grant of b may end first");
    assert_eq!(waits(&s, "p"), Some("faster-clock"));
}

#[test]
fn slower_members_oks_count() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, &["a", "c", "p"], 200, &[]);
    assert_eq!(told(&s, "p"), (vec![("b".to_owned(), false)], false));
    run(&mut s, &["a", "c", "p"], 200, &["c"]);
    assert!(s.leads("p"), "the grant of b lasts longer");
}

/// A leader with a fast clock finds all members slower. Its claims end early, and no node is
/// harmed; a member that was paused long ago looks the same.
#[test]
fn slower_members_accuse_no_node() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, &["p"], 300, &[]);
    let (mut apart, is_wrong) = told(&s, "p");
    apart.sort();
    assert_eq!(apart, ["a", "b", "c"].map(|name| (name.to_owned(), false)));
    assert!(!is_wrong && s.leads("p"));
}

/// Nodes with a bound on skew go by their wall clocks. The other clocks of the grantors run too
/// fast, and the candidate only reports the proofs.
#[test]
fn breach_with_skew_is_reported() {
    let mut settings = config(&GRANTORS);
    settings.clock_skew_max = Some(ms(100));
    let mut s = Story::with(settings);
    s.elect("p");
    for nth in 1..=300 {
        run(&mut s, &GRANTORS, 1, &[]);
        GRANTORS.iter().for_each(|name| s.actor(name).lead = Some(-5 * nth));
    }
    let (mut apart, is_wrong) = told(&s, "p");
    apart.sort();
    assert_eq!(apart, ["a", "b", "c"].map(|name| (name.to_owned(), true)));
    assert!(!is_wrong && s.leads("p"), "{:?}", s.events("p"));
    let ended = |event: &tenure_core::nerio::Event| matches!(event, Event::Ended(_));
    assert!(!s.events("p").iter().any(ended));
}

/// A single wrong clock stops no other node: each comparison names that clock's node.
#[test]
fn wrong_member_costs_its_vote() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    run(&mut s, &["b"], 300, &[]);
    s.resign("p");
    run(&mut s, &["b"], 300, &[]);
    assert!(s.leads("q"), "{:?}", s.events("q"));
    assert_eq!(told(&s, "q"), (vec![("b".to_owned(), true)], false));
}

/// A leader with a slow clock stops leading at once; nothing frees the election before the leader's
/// claim would end.
#[test]
fn slow_leader_stops_before_release() {
    let mut s = Story::new();
    s.elect("p");
    let mut ended = None;
    for _ in 0..200 {
        run(&mut s, &GRANTORS, 1, &[]);
        let is_end =
            |event: &&tenure_core::nerio::Event| matches!(event, Event::Ended(End::Lost(_)));
        if s.events("p").iter().any(|event| is_end(&event)) {
            ended = Some(s.now("p"));
            break;
        }
    }
    let ended = ended.expect("the breach ends the leadership");
    assert!(s.events("p").contains(&Event::Ended(End::Lost(Loss::Clock))));
    assert!(told(&s, "p").1 && !s.leads("p"));
    let claims = &s.actors["p"].claims;
    let [.., (until, Some(_)), (lowered, None)] = claims[..] else { panic!("{claims:?}") };
    assert!(lowered == ended && ended < until, "it is lowered before its end");
    s.campaign("q");
    while s.now("p") < until {
        assert!(s.holder("a").is_some_and(|holder| holder == "p"), "work may still run");
        run(&mut s, &GRANTORS, 1, &[]);
    }
    run(&mut s, &GRANTORS, 100, &[]);
    assert!(!s.leads("q"), "its clock is as slow beside the grantors");
    assert!(told(&s, "q").1);
}

#[test]
fn wrong_clock_asks_for_nothing() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, &GRANTORS, 300, &[]);
    assert!(told(&s, "p").1);
    let effects = s.campaign("p");
    assert!(requests(&effects).is_empty());
    s.drop_all();
    s.pass(ms(3_000));
    assert!(!s.letters.iter().any(|letter| letter.by == "p"), "{:?}", s.letters);
    assert_eq!(waits(&s, "p"), Some("wrong-clock"));
    assert!(emitted(&clear(&mut s, "p")).contains(&Event::Own(OwnEvent::BreachCleared)));
    s.run(ms(1_000));
    assert!(s.leads("p"), "{:?}", s.events("p"));
}

#[test]
fn wrong_clock_refuses_grants() {
    let mut s = Story::new();
    s.elect("a");
    run(&mut s, &["b", "c"], 300, &[]);
    assert_eq!(told(&s, "a"), (vec![("b".to_owned(), true), ("c".to_owned(), true)], true));
    assert_eq!(s.state("a").service, Service::WrongClock);
    s.run(ms(2_000));
    let start = s.now("q");
    assert_eq!(refusal(&s.ask("q", "a", request(start))), Some(Refusal::WrongClock));
    clear(&mut s, "a");
    assert_eq!(s.state("a").service, Service::Serving);
    let start = start.after(ms(1));
    assert!(granted(&s.ask("q", "a", request(start))).is_some());
}

/// The machine of a member starts anew, and its clock begins again.
#[test]
fn rebooted_member_is_no_breach() {
    let mut s = Story::new();
    s.elect("p");
    s.run(ms(3_000));
    s.reboot("b");
    s.run(ms(5_000));
    assert!(s.leads("p"));
    assert_eq!(told(&s, "p"), (vec![], false));
}

/// An ok that a later ok has overtaken says nothing about the time between them.
#[test]
fn late_oks_prove_nothing() {
    let mut s = Story::new();
    s.elect("p");
    let mut last: Vec<Letter> = Vec::new();
    for _ in 0..300 {
        s.pass(ms(10));
        while !s.letters.is_empty() {
            let oks = s.take("b", "p");
            if oks.is_empty() {
                let letter = s.letters.remove(0);
                s.put(&letter);
                continue;
            }
            // Each ok of b arrives once more, after the next ok.
            for ok in oks.iter().chain(&last) {
                s.put(ok);
            }
            last = oks;
        }
    }
    assert!(s.leads("p"));
    assert_eq!(told(&s, "p"), (vec![], false));
}

/// A proof leaves out the time that messages take, however long that is.
#[test]
fn slow_messages_prove_nothing() {
    let mut s = Story::new();
    s.elect("p");
    for nth in 0..1_000 {
        s.pass(ms(10));
        if nth % 200 < 100 {
            s.deliver_all();
        } else if nth % 12 == 0 {
            // Each way takes up to 120 ms.
            for letter in std::mem::take(&mut s.letters) {
                s.put(&letter);
            }
        }
    }
    assert!(s.leads("p"));
    assert_eq!(told(&s, "p"), (vec![], false));
}

/// A node that starts again compares anew, and other nodes compare anew with a member that starts
/// again.
#[test]
fn restart_clears_the_breach() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, &["b"], 200, &[]);
    s.has_granted("b");
    s.restart("b");
    s.run(ms(1_000));
    s.letters.clear();
    for _ in 0..300 {
        s.pass(ms(10));
        s.letters.retain(|letter| letter.to != address("c"));
        s.deliver_all();
    }
    assert!(s.leads("p"), "the oks of b count again: {:?}", s.events("p"));
}

#[test]
fn legal_clocks_raise_no_alarm() {
    let mut s = Story::new();
    s.elect("p");
    for _ in 0..3_000 {
        s.pass(ms(10));
        // In 100/9 ms of true time the leader's clock advances by 10 ms (−10 %), and the grantors'
        // clocks by 110/9 ms (+10 %).
        for name in GRANTORS {
            let clock = &mut s.actor(name).clock;
            *clock = clock.after(Duration::from_nanos(2_222_222));
        }
        s.timers();
        s.deliver_all();
    }
    assert!(s.leads("p"));
    assert_eq!(told(&s, "p"), (vec![], false));
}

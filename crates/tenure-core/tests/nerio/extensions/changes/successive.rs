//! 2.1.11, 2.2.6: members that do not know all leases from before their epoch yet.

use std::time::Duration;

use tenure_core::nerio::{AcceptorState, ChangePhase, Command, PromiseOutcome};
use tenure_core::{ElectionName, Input, Protocol};

use super::*;

/// Time that each letter travels.
const HOP: Duration = ms(5);
/// Elections whose leases take several pages.
const ELECTIONS: usize = 40;

/// Lets time pass in which each letter takes one [`HOP`].
fn lag(s: &mut Story, hops: usize) {
    for _ in 0..hops {
        s.slip(HOP);
        let letters = std::mem::take(&mut s.letters);
        s.timers();
        for letter in letters {
            s.put(&letter);
        }
    }
}

/// A cluster in which p leads many elections, and a blank d.
fn crowded() -> (Story, Vec<ElectionName>) {
    let mut s = Story::new();
    let name = |number| format!("election-{number:03}").parse().unwrap();
    let all: Vec<ElectionName> = (0..ELECTIONS).map(name).collect();
    for election in &all {
        let command = Command::Campaign { value: "p".parse().unwrap(), priority: 0 };
        s.step("p", Input::Command { election: election.clone(), command });
    }
    s.run(ms(500));
    blank(&mut s, "d");
    lag(&mut s, 50);
    (s, all)
}

/// Lets time pass, in which p leads everything.
fn lead_on(s: &mut Story, all: &[ElectionName], hops: usize) {
    for _ in 0..hops {
        lag(s, 1);
        let actor = &s.actors["p"];
        let leads = |name: &&ElectionName| actor.core.standing(name, actor.clock).is_leading();
        let led = all.iter().filter(leads).count();
        assert_eq!(led, all.len(), "epoch {}", actor.core.membership().id().number);
    }
}

/// 2.2.6: a, b and c enter epoch 1 by the first pages, and then read each other's other pages.
#[test]
fn leaderships_outlast_change() {
    let (mut s, all) = crowded();
    ask(&mut s, "a", 7, add("d"));
    lead_on(&mut s, &all, 400);
    assert!(["a", "b", "c", "d"].iter().all(|who| has_entered(&s, who, 1)));
}

/// 2.2.6: in its answer, the wedged member names its grant of the new epoch as the lease of that
/// election.
#[test]
fn wedged_answer_names_grants() {
    let (mut s, _) = crowded();
    ask(&mut s, "a", 7, add("d"));
    while !has_entered(&s, "b", 1) {
        lag(&mut s, 1);
    }
    let into = s.actors["b"].core.membership().id();
    let mut named = Vec::new();
    let mut read = RestsRead { into, after: None };
    loop {
        let page = rests(&mut s, "d", "b", read.clone()).unwrap();
        assert!(matches!(page.state, AcceptorState::Wedged { .. }), "{page}");
        assert_eq!(page.bounds.unknown, ms(0), "{page}");
        named.extend(page.rests.iter().map(|rest| rest.election.clone()));
        read.after = named.last().cloned();
        if !page.more {
            break;
        }
        lag(&mut s, 1);
    }
    named.dedup();
    assert_eq!(named.len(), ELECTIONS);
    lag(&mut s, 100);
    let page = rests(&mut s, "d", "b", RestsRead { into, after: None }).unwrap();
    assert_eq!((page.state, page.bounds.unknown), (AcceptorState::Entered, ms(0)), "it knows all");
}

/// 2.1.11: each change begins at the moment at which the members have entered the last epoch.
#[test]
fn leaderships_outlast_successive_changes() {
    let (mut s, all) = crowded();
    for number in 1..=6 {
        let what = if number % 2 == 1 { add("d") } else { remove("d") };
        if number % 2 == 1 && number > 1 {
            s.start_empty("d");
        }
        ask(&mut s, "a", number, what);
        for hops in 0.. {
            assert!(hops < 1_000, "change {number} is never made");
            lead_on(&mut s, &all, 1);
            if ["a", "b", "c"].iter().all(|who| has_entered(&s, who, number)) {
                break;
            }
        }
    }
    lead_on(&mut s, &all, 400);
}

/// 2.1.11: b and c have started again in epoch 1, and forgotten the holders of epoch 0. The
/// change waits until all leases of epoch 0 have ended, and p leads on.
#[test]
fn change_waits_for_unknown_leases() {
    let mut s = grown();
    for who in ["b", "c"] {
        s.restart(who);
    }
    ask(&mut s, "a", 8, remove("d"));
    s.run(ms(400));
    let waits = state(&mut s, "a", 8, remove("d"));
    let ChangeState::Working { phase: ChangePhase::Learning { within }, waits_for } = waits else {
        panic!("{waits}");
    };
    assert!(within <= ms(1_100), "{within:?}");
    assert_eq!(waits_for, ["b", "c"].map(name));
    for _ in 0..30 {
        s.run(ms(50));
        assert!(s.leads("p"));
    }
    let done = state(&mut s, "a", 8, remove("d"));
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
}

/// 2.1.11: a promise that waits bars no ballot, and a wedged member never waits.
#[test]
fn unknown_leases_delay_promises() {
    let mut s = grown();
    s.drop_all();
    s.restart("b");
    let epoch = document(&s, "a").id();
    let asked = Prepare { epoch, ballot: ballot(9) };
    let outcome = |effects: Vec<Effect>| promises(&effects)[0].outcome;
    let later = outcome(tell_in(&mut s, epoch, "a", "b", asked.clone()));
    let PromiseOutcome::Later { rest } = later else { panic!("{later:?}") };
    s.pass(rest);
    let first = Prepare { epoch, ballot: ballot(2) };
    let promised = PromiseOutcome::Promised { accepted: None };
    assert_eq!(outcome(tell_in(&mut s, epoch, "a", "b", first)), promised);
}

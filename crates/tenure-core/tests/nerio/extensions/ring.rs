//! The ring beyond the paper: strangers, old answers, pauses, weak leaders that do not campaign.

use std::time::Duration;

use tenure_core::nerio::{
    Detector, Event, Ignored, Message, OwnEvent, Ping, Pong, Sender, ToAsker, ToGrantor,
};
use tenure_core::{End, Input};
use tenure_testkit::Rng;

use crate::story::*;

const THREE: [&str; 3] = ["a", "b", "c"];

fn three() -> Story {
    let mut s = Story::of_members(on_ring(&THREE, Detector::Ping), &THREE);
    s.run(ms(300));
    assert!(s.all_name(&THREE, "a"));
    s
}

/// The last pong of `who`, taken out of the network.
fn pong_of(s: &mut Story, who: &'static str, to: &'static str) -> Pong {
    let start = s.now(to);
    let asked = s.tell(to, who, Message::from(Ping { start }));
    s.drop_all();
    let pong = |message: &Message| match message {
        Message::Asker(ToAsker::Pong(pong)) => Some(pong.clone()),
        _ => None,
    };
    sent(&asked).find_map(pong).unwrap()
}

/// Lets time pass while the test makes up answers of `a`, which is gone.
fn run_with_answers(s: &mut Story, span: Duration, mut answer: impl FnMut(&mut Story)) {
    let mut left = span;
    while !left.is_zero() {
        s.run(ms(10));
        answer(s);
        left -= ms(10);
    }
}

#[test]
fn forged_pong_keeps_nobody_alive() {
    let mut s = three();
    let pong = pong_of(&mut s, "a", "b");
    let a = s.sender("a");
    s.actors.remove("a");
    let unproved = Sender { proved: false, address: address("q"), ..a };
    run_with_answers(&mut s, ms(1_500), |s| {
        let start = s.now("b");
        let forged = Message::from(Pong { start, ..pong.clone() });
        s.tell_as(&unproved, "b", forged.clone());
        // Member c passes on the answer of a, but a member may answer only for itself.
        s.tell("c", "b", forged);
    });
    assert!(s.all_name(&["b", "c"], "b"));
    let ignored = Event::Own(OwnEvent::Ignored(Ignored::NotAMember));
    assert!(s.events("b").contains(&ignored));
}

/// An answer counts from its question: a repeated answer, and an answer that was long on its way,
/// show no life.
#[test]
fn old_pong_shows_no_life() {
    let mut s = three();
    let old = Message::from(pong_of(&mut s, "a", "b"));
    let a = s.sender("a");
    s.actors.remove("a");
    run_with_answers(&mut s, ms(1_500), |s| _ = s.tell_as(&a, "b", old.clone()));
    assert!(s.all_name(&["b", "c"], "b"));
}

#[test]
fn pong_of_other_life_is_ignored() {
    let mut s = three();
    let pong = pong_of(&mut s, "a", "c");
    let a = s.sender("a");
    s.actors.remove("a");
    run_with_answers(&mut s, ms(1_500), |s| {
        // The answer names the incarnation of c as the asker, and b asks.
        let start = s.now("b");
        s.tell_as(&a, "b", Message::from(Pong { start, ..pong.clone() }));
    });
    assert!(s.all_name(&["b", "c"], "b"));
}

#[test]
fn messages_of_other_epochs_are_ignored() {
    let mut s = three();
    let pong = pong_of(&mut s, "a", "b");
    let mut elsewhere = s.sender("a");
    elsewhere.epoch.digest ^= 1;
    let answers = s.tell_as(&elsewhere, "b", Message::from(Ping { start: at(1) }));
    let is_pong = |message: &Message| matches!(message, Message::Asker(ToAsker::Pong(_)));
    assert!(!sent(&answers).any(is_pong));
    s.actors.remove("a");
    run_with_answers(&mut s, ms(1_500), |s| {
        let start = s.now("b");
        s.tell_as(&elsewhere, "b", Message::from(Pong { start, ..pong.clone() }));
    });
    assert!(s.all_name(&["b", "c"], "b"));
}

/// A predecessor names itself or a smaller member: any other name is outdated or invented.
#[test]
fn larger_weak_leader_is_not_believed() {
    let mut s = three();
    let a = s.sender("a");
    let pong = pong_of(&mut s, "a", "b");
    s.run_cut(ms(100), |from, to| from == "a" && to == "b");
    let start = s.now("b");
    s.slip(ms(1));
    s.tell_as(&a, "b", Message::from(Pong { start, weak: Some(name("c")), ..pong }));
    assert_eq!(s.weak("b"), None);
}

/// A process that stood still has received nothing, and suspects no member.
#[test]
fn paused_member_suspects_nobody() {
    let mut s = three();
    let actor = s.actor("b");
    actor.clock = actor.clock.after(ms(60_000));
    s.step("b", Input::Timeout);
    assert_eq!(s.weak("b").as_deref(), Some("a"));
    s.run(ms(1_000));
    assert!(s.all_name(&THREE, "a"));
    s.actors.remove("a");
    s.run(ms(1_000));
    assert!(s.all_name(&["b", "c"], "b"), "later silence counts");
}

#[test]
fn nothing_runs_without_ring() {
    let mut s = Story::new();
    s.run(ms(2_000));
    let is_ring = |event: &Event| matches!(event, Event::Own(OwnEvent::WeakLeader(_)));
    assert!(s.letters.is_empty() && !s.events("a").iter().any(is_ring));
    let answers = s.tell("b", "a", Message::from(Ping { start: at(1) }));
    assert_eq!(lines(&answers), ["ignored: no_ring"]);
}

/// A node without a grantor stands behind the last member on the ring: it learns the weak leader's
/// name, and is never the weak leader itself.
#[test]
fn outsider_learns_the_weak_leader() {
    let mut s = three();
    s.start("p", None);
    s.run(ms(300));
    assert!(s.all_name(&["p"], "a"));
    s.run_split(ms(1_500), &[&["a", "b"], &["c", "p"]]);
    assert!(s.all_name(&["c", "p"], "c"));
    s.run_split(ms(2_000), &[&["a", "b", "c"], &["p"]]);
    assert_eq!(s.weak("p"), None);
}

/// The process of the weak leader has no candidate: the others wait for twice the span of silence.
#[test]
fn missing_candidate_wedges_no_election() {
    let mut s = Story::of_members(only_weak_leaders(&THREE), &THREE);
    s.run(ms(300));
    let asked = |s: &mut Story| {
        let is_request =
            |letter: &Letter| matches!(letter.message, Message::Grantor(ToGrantor::Request(_)));
        s.letters.iter().any(is_request)
    };
    s.campaign("b");
    s.campaign("c");
    assert!(!asked(&mut s));
    s.run(ms(500));
    assert_eq!(s.leader(), None, "the weak leader has its turn");
    s.run(ms(2_500));
    assert!(s.leader().is_some());
}

/// The weak leader reaches no quorum, and would never give back the grants of the members that it
/// reaches.
#[test]
fn hopeless_weak_leader_wedges_no_election() {
    let five = ["a", "b", "c", "d", "e"];
    let mut s = Story::of_members(only_weak_leaders(&five), &five);
    s.run(ms(300));
    let far = |who: &str| ["c", "d", "e"].contains(&who);
    let cut = |from: &str, to: &str| (from == "a" && far(to)) || (far(from) && to == "a");
    s.campaign("a");
    s.run_cut(ms(200), cut);
    s.campaign("b");
    s.run_cut(ms(4_000), cut);
    assert_eq!(s.leader(), Some("b"));
}

/// A handle waits for the release of each campaign, even of a campaign that has asked no grantor.
#[test]
fn held_back_candidate_withdraws() {
    let mut s = Story::of_members(only_weak_leaders(&THREE), &THREE);
    s.run(ms(300));
    assert_eq!(requests(&s.campaign("b")), []);
    let effects = s.resign("b");
    assert_eq!(emitted(&effects), [Event::Ended(End::Withdrawn), Event::Released]);
}

/// A member that is weak leader by mistake leads on: the ring ends no leadership.
#[test]
fn ring_ends_no_leadership() {
    let mut s = Story::of_members(only_weak_leaders(&THREE), &THREE);
    s.run_split(ms(1_500), &[&["a"], &["b", "c"]]);
    s.campaign("b");
    s.run_split(ms(500), &[&["a"], &["b", "c"]]);
    assert!(s.leads("b"));
    s.campaign("a");
    s.run(ms(5_000));
    assert!(s.leads("b") && s.all_name(&THREE, "a"));
    s.resign("b");
    s.run(ms(300));
    assert!(s.leads("a"));
}

/// Links fail in any direction, then the network has sides, then it is whole: each side ends with
/// one weak leader, its smallest member.
#[test]
fn each_drawn_side_has_weak_leader() {
    for seed in 1..=40 {
        let mut rng = Rng::new(seed);
        let members = &["a", "b", "c", "d", "e", "f"][..rng.within(2..7) as usize];
        let detector = if rng.once_in(2) { Detector::Ping } else { Detector::Accrual };
        let mut s = Story::of_members(on_ring(members, detector), members);
        let patience = ms(500) * members.len() as u32 + SILENCE * 4;
        for _ in 0..2 {
            let drawn: Vec<(&str, &str)> = (0..rng.within(0..8))
                .map(|_| (members[rng.index(members.len())], members[rng.index(members.len())]))
                .collect();
            s.run_cut(ms(rng.within(0..1_500)), |from, to| drawn.contains(&(from, to)));
            let mut sides = vec![Vec::new(); 3];
            members.iter().for_each(|member| sides[rng.index(3)].push(*member));
            let all: Vec<&[&str]> = sides.iter().map(Vec::as_slice).collect();
            s.run_split(patience, &all);
            for side in all {
                assert!(side.is_empty() || s.all_name(side, side[0]), "seed {seed}: {side:?}");
            }
        }
        s.run(patience);
        assert!(s.all_name(members, "a"), "seed {seed}");
    }
}

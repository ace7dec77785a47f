//! A first start that was not said to be one, and is said later.

use tenure_core::Fence;
use tenure_core::nerio::{Event, Refusal};

use crate::story::*;

fn founded(s: &Story, who: &str) -> bool {
    s.events(who).contains(&Event::Serving)
}

/// All three started as if their directories had been lost. Two that are told that it is the first
/// start suffice, also when candidates are waiting; the third reads from them.
#[test]
fn a_first_start_that_was_not_said_to_be_one_is_mended() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.lose_disk(grantor);
    }
    s.campaign("p");
    s.run(ms(10_000));
    for grantor in GRANTORS {
        assert_eq!(refusal(&s.ask("q", grantor, request(at(10)))), Some(Refusal::Recovering));
    }
    let others = Event::RecoveryWaits {
        founding: false,
        silent: vec![],
        unfounded: vec![name("b"), name("c")],
    };
    assert_eq!(s.events("a").iter().filter(|event| **event == others).count(), 1, "said once");
    s.found("a");
    s.run(ms(2_199));
    assert!(!founded(&s, "a"), "what it may have forgotten could still be live");
    s.run(ms(10));
    assert!(founded(&s, "a"));
    s.run(ms(3_000));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "p is granted by a, and cannot lead");
    s.found("b");
    s.run(ms(4_000));
    assert_eq!(s.leader(), Some("p"));
    s.run(ms(1_000));
    assert!(founded(&s, "c"), "c reads the fences of a and b");
}

/// Whoever knows of a leadership refuses another beginning: a memory was lost. It goes on as such.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn nobody_founds_what_another_member_has_seen() {
    let mut s = Story::new();
    s.elect("p");
    s.lose_disk("a");
    s.lose_disk("b");
    s.found("a");
    s.run(ms(10_000));
    let refused = Event::NotFounded { by: name("c") };
    assert_eq!(s.events("a").iter().filter(|event| **event == refused).count(), 1);
    assert!(!founded(&s, "a"), "b may have seen a fence that c has not");
    assert_eq!(refusal(&s.ask("q", "a", request(at(10)))), Some(Refusal::Recovering));
}

/// A lone loss that is taken for a first start recovers as any other.
#[test]
fn a_lost_memory_that_is_said_to_be_new_reads_the_fences() {
    let mut s = Story::new();
    s.elect("p");
    s.ask("q", "b", proposal(at(10), 7));
    s.lose_disk("a");
    s.found("a");
    s.run(ms(3_000));
    assert!(founded(&s, "a"));
    assert!(s.state("a").seen >= Fence::new(1));
}

/// A full quorum of others is asked, and all of it answers: one that is silent may know.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_full_quorum_of_others_is_asked_before_founding() {
    let mut s = Story::new();
    s.elect("p");
    s.lose_disk("a");
    s.lose_disk("b");
    s.drop_all();
    s.found("a");
    for _ in 0..100 {
        s.pass(ms(100));
        s.deliver("a", "b");
        s.deliver("b", "a");
        s.drop_all();
    }
    assert!(!founded(&s, "a"), "c may know");
    let waits = Event::RecoveryWaits {
        founding: true,
        silent: vec![name("c")],
        unfounded: vec![name("b")],
    };
    assert!(s.events("a").contains(&waits), "{:?}", s.events("a"));
}

/// A founder whose process ends before it is done begins again.
#[test]
fn an_interrupted_founding_begins_again() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.lose_disk(grantor);
    }
    s.found("a");
    s.run(ms(2_000));
    s.restart("a");
    s.run(ms(2_199));
    assert!(!founded(&s, "a"));
    s.run(ms(10));
    assert!(founded(&s, "a"));
}

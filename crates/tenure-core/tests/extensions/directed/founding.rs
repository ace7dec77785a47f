//! A first start that was not said to be one, and is said later.

use tenure_core::Fence;
use tenure_core::nerio::{Config, Event, OwnEvent, Refusal, Service};

use crate::story::*;

fn founded(s: &Story, who: &str) -> bool {
    s.events(who).contains(&Event::Own(OwnEvent::Serving))
}

/// All three have started as if their directories had been lost.
fn all_lost() -> Story {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.lose_disk(grantor);
    }
    s
}

/// All three started as if their directories had been lost. Two that are told that it is the first
/// start suffice, also when candidates are waiting; the third reads from them.
#[cfg_attr(not(tenure_planted), test)]
fn a_first_start_that_was_not_said_to_be_one_is_mended() {
    let mut s = all_lost();
    s.campaign("p");
    s.run(ms(10_000));
    for grantor in GRANTORS {
        assert_eq!(
            refusal(&s.ask("q", grantor, request(at(10)))),
            Some(Refusal::Recovering { led: false })
        );
    }
    let others = Event::Own(OwnEvent::RecoveryWaits {
        founding: false,
        led: false,
        silent: vec![],
        unfounded: vec![name("b"), name("c")],
    });
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
    s.start("p", None);
    s.drop_all();
    s.lose_disk("a");
    s.lose_disk("b");
    s.found("a");
    s.run(ms(10_000));
    let refused = Event::Own(OwnEvent::NotFounded { by: name("c") });
    assert_eq!(s.events("a").iter().filter(|event| **event == refused).count(), 1);
    assert!(!founded(&s, "a"), "b may have seen a fence that c has not");
    // Both say so to those who ask: neither is to be started as a new one again.
    for lost in ["a", "b"] {
        let refusal = refusal(&s.ask("q", lost, request(at(10))));
        assert_eq!(refusal, Some(Refusal::Recovering { led: true }), "{lost}");
        assert_eq!(s.state(lost).service, Service::Recovering { led: true }, "{lost}");
    }
}

/// A lone loss that is taken for a first start recovers as any other.
#[cfg_attr(not(tenure_planted), test)]
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
    let waits = Event::Own(OwnEvent::RecoveryWaits {
        founding: true,
        led: false,
        silent: vec![name("c")],
        unfounded: vec![name("b")],
    });
    assert!(s.events("a").contains(&waits), "{:?}", s.events("a"));
}

/// A founding that was refused waits as a lost directory does, and says what would help then.
#[cfg_attr(not(tenure_planted), test)]
fn what_a_refused_founding_waits_for_is_said_anew() {
    let mut s = Story::new();
    s.elect("p");
    s.lose_disk("a");
    s.lose_disk("b");
    s.drop_all();
    s.found("a");
    let waits = |founding| {
        let (silent, unfounded) = (vec![name("c")], vec![name("b")]);
        Event::Own(OwnEvent::RecoveryWaits { founding, led: !founding, silent, unfounded })
    };
    let pass = |s: &mut Story| {
        for _ in 0..100 {
            s.pass(ms(100));
            s.deliver("a", "b");
            s.deliver("b", "a");
            s.drop_all();
        }
    };
    pass(&mut s);
    assert!(s.events("a").contains(&waits(true)), "{:?}", s.events("a"));
    s.ask("p", "a", renewal(at(10), 1));
    assert!(s.events("a").contains(&Event::Own(OwnEvent::NotFounded { by: name("p") })));
    pass(&mut s);
    assert!(s.events("a").contains(&waits(false)), "{:?}", s.events("a"));
}

/// Two directories are lost, and the third member never met the leader, nor so long a lease. Its
/// next renewal reaches a node without memory, which refuses to found, and tells the other one.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn nobody_founds_beside_a_leader_that_is_heard() {
    for heard_by in ["a", "b"] {
        let long = |config: &mut Config| (config.lease, config.delta_max) = (ms(5_000), ms(5_000));
        let short = |config: &mut Config| (config.lease, config.delta_max) = (ms(500), ms(2_000));
        let mut s = Story::new();
        s.configure(long);
        for grantor in ["a", "b"] {
            s.reboot(grantor);
        }
        s.run(ms(5_500));
        s.start("p", None);
        s.campaign("p");
        for _ in 0..100 {
            for grantor in ["a", "b"] {
                s.deliver("p", grantor);
                s.deliver(grantor, "p");
            }
            s.drop_all();
            s.pass(ms(10));
        }
        assert_eq!(s.leader(), Some("p"));
        s.configure(short);
        for grantor in ["a", "b"] {
            s.lose_disk(grantor);
        }
        s.found("a");
        s.start("q", None);
        s.campaign("q");
        s.drop_all();
        for _ in 0..600 {
            // Between p and its grantors there is one way only.
            s.deliver("p", heard_by);
            for (from, to) in [("a", "b"), ("a", "c"), ("q", "a"), ("q", "b"), ("q", "c")] {
                s.deliver(from, to);
                s.deliver(to, from);
            }
            s.drop_all();
            s.pass(ms(10));
            assert!(!s.leads("q"), "p leads as well");
        }
        let by = name(if heard_by == "a" { "p" } else { "b" });
        let refused = Event::Own(OwnEvent::NotFounded { by });
        assert_eq!(s.events("a").iter().filter(|event| **event == refused).count(), 1);
    }
}

/// That a cluster is new was answered, and it takes a while to write that down. A leader that is
/// heard then was there all the time.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn nobody_founds_when_a_leader_is_heard_before_the_first_grant() {
    for heard in [false, true] {
        let mut s = Story::new();
        for grantor in GRANTORS {
            s.lose_disk(grantor);
        }
        s.found("a");
        s.run(ms(2_000));
        s.slow_disks = true;
        s.run(ms(1_500));
        if heard {
            s.ask("p", "a", renewal(at(10), 1));
        }
        s.slow_disks = false;
        s.flush_one("a");
        s.run(ms(5_000));
        assert_eq!(
            s.events("a").contains(&Event::Own(OwnEvent::NotFounded { by: name("p") })),
            heard
        );
        assert_eq!(founded(&s, "a"), !heard, "{:?}", s.events("a"));
    }
}

/// A member that is started again may have forgotten a leadership, and says so.
#[cfg_attr(not(tenure_planted), test)]
fn nobody_founds_beside_a_member_that_was_started_again() {
    let mut s = Story::new();
    s.elect("p");
    s.run(ms(500));
    s.resign("p");
    s.run(ms(100));
    s.campaign("q");
    s.deliver("q", "a");
    s.drop_all();
    s.start("q", None);
    assert_eq!(s.holder("a").as_deref(), Some("q"), "the last grant is of one that never led");
    s.restart("a");
    s.lose_disk("b");
    s.lose_disk("c");
    s.found("b");
    s.run(ms(5_000));
    assert!(s.events("b").contains(&Event::Own(OwnEvent::NotFounded { by: name("a") })));
    assert!(!founded(&s, "b"));
}

/// In clusters of one and of two members no quorum is left without the one that founds: all the
/// others are asked.
#[cfg_attr(not(tenure_planted), test)]
fn a_cluster_of_one_or_two_is_founded_late() {
    for all in [&["a"][..], &["a", "b"][..]] {
        let mut s = Story::empty(config(all));
        for grantor in all {
            s.start(grantor, Some(directory(7 << 64, false)));
        }
        s.run(ms(3_000));
        assert!(!founded(&s, "a"));
        for grantor in all {
            s.found(grantor);
        }
        s.run(ms(2_100));
        assert!(!founded(&s, "a"), "what it may have forgotten could still be live");
        s.run(ms(500));
        for grantor in all {
            assert!(founded(&s, grantor), "{grantor} of {}", all.len());
        }
    }
    let mut s = Story::empty(config(&["a", "b"]));
    s.start("a", Some(directory(7 << 64, false)));
    s.found("a");
    s.run(ms(60_000));
    assert!(!founded(&s, "a"), "b may know");
}

/// A founder whose process ends before it is done begins again.
#[cfg_attr(not(tenure_planted), test)]
fn an_interrupted_founding_begins_again() {
    let mut s = all_lost();
    s.found("a");
    s.run(ms(2_000));
    s.restart("a");
    s.run(ms(2_199));
    assert!(!founded(&s, "a"));
    s.run(ms(10));
    assert!(founded(&s, "a"));
}

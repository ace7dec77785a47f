//! Section 6: releasing grants, with erratum 4.

use tenure_core::nerio::{Effect, Event, Ignored, Message, OwnEvent, ToCandidate, ToGrantor};
use tenure_core::{End, Protocol};

use crate::story::*;

/// "A process p that wants to release its grants first aborts any instance of OQwBD that it may
/// be running. Second, process p sets E to C. … Next p broadcasts a request to all peers": in
/// this order, and no other.
#[test]
fn release_aborts_lowers_e_and_broadcasts() {
    let mut s = Story::new();
    s.elect("p");
    assert_eq!(
        lines(&s.resign("p")),
        [
            "no claim x",
            "to member a: release x start 10.000000",
            "to member b: release x start 10.000000",
            "to member c: release x start 10.000000",
            "x: ended: the leader resigned",
        ]
    );
    assert!(!s.leads("p"));
}

/// "If so, it will set F to C, causing the grant to expire immediately."
#[test]
fn a_release_ends_the_grant_immediately() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    s.deliver_all();
    for grantor in GRANTORS {
        assert_eq!(s.holder(grantor), None);
    }
    assert!(s.events("p").contains(&Event::Released));
}

/// "A process q that receives such a message from p will check to see if p = A. If not, it
/// ignores the request."
#[test]
fn a_release_by_another_is_ignored() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    let effects = s.tell("q", "a", release(at(99)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotTheHolder))]);
    assert_eq!(s.holder("a").as_deref(), Some("p"));
}

/// "If a process is not able to obtain grants from a quorum …, then it might as well give up the
/// grants that it has so that perhaps another process can be more lucky."
#[test]
fn withdrawn_attempt_releases_its_grants() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    let effects = s.resign("p");
    assert!(emitted(&effects).contains(&Event::Ended(End::Withdrawn)));
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Raise { .. } | Effect::Lower { .. })),
        "none was made"
    );
    s.deliver_all();
    assert_eq!(s.holder("a"), None);
    s.elect("q");
}

/// A lost release is sent again, until it arrives or no longer matters.
#[test]
fn a_lost_release_is_sent_again() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    s.drop_all();
    s.run(ms(60));
    assert_eq!(s.holder("a"), None);

    s.elect("q");
    s.resign("q");
    let mut sent = 0;
    for _ in 0..50 {
        sent += s.letters.len();
        s.drop_all();
        s.pass(ms(100));
    }
    assert!((6..40).contains(&sent), "{sent} releases, ever more rarely");
    assert_eq!(s.actors["q"].core.deadline(), None, "and then no more");
}

/// Erratum 4. The printed rule elects two leaders: p leads by {a, b} and releases, twice because
/// the answer is slow; p leads again by {a, b}; a release arrives again, b is free, q leads by {b,
/// c}.
#[test]
fn erratum_4_delayed_release_ends_nothing() {
    let mut s = Story::new();
    s.campaign("p");
    for grantor in ["a", "b"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    s.drop_all();
    assert!(s.leads("p"));
    s.resign("p");
    let delayed = s.take("p", "b");
    s.pass(ms(60));
    for grantor in ["a", "b"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    s.drop_all();
    s.slip(ms(1));
    s.campaign("p");
    for grantor in ["a", "b"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    s.drop_all();
    assert!(s.leads("p"), "again, by the same two");

    assert!(!delayed.is_empty());
    for letter in &delayed {
        let effects = s.put(letter);
        assert!(
            !emitted(&effects)
                .iter()
                .any(|event| matches!(event, Event::Own(OwnEvent::Freed { .. })))
        );
    }
    s.drop_all();
    s.campaign("q");
    for grantor in ["b", "c"] {
        s.deliver("q", grantor);
        s.deliver(grantor, "q");
    }
    assert_eq!(s.leader(), Some("p"), "q could not take b");
}

/// A candidate that gives up lets others go first. Its new attempt waits for the release: without
/// the wait it would take back the grants that the release frees.
#[test]
fn new_attempt_follows_the_release() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(150));
    let request_of = |letters: &[Letter]| {
        letters
            .iter()
            .any(|letter| matches!(letter.message, Message::Grantor(ToGrantor::Request(_))))
    };
    s.resign("p");
    s.slip(ms(1));
    s.campaign("p");
    s.timers();
    assert!(!request_of(&s.letters), "nothing but the releases");
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert!(!request_of(&s.take("p", "a")), "a alone is no quorum");
    s.deliver("p", "b");
    s.deliver("b", "p");
    assert!(request_of(&s.take("p", "a")) && request_of(&s.take("p", "b")), "a and b are one");
    assert!(!request_of(&s.take("p", "c")), "c may still have to hear of the release");
    s.run(ms(200));
    assert_eq!(s.leader(), Some("q"));
    assert!(s.letters.is_empty());
}

/// A release that never arrives no longer matters when the lease has ended everywhere.
#[test]
fn new_attempt_waits_finitely() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    s.campaign("p");
    for _ in 0..30 {
        s.drop_all();
        s.pass(ms(50));
    }
    s.run(ms(200));
    assert_eq!(s.leader(), Some("p"));
}

/// Erratum 4, the other half: a request released before its arrival is not granted.
#[test]
fn erratum_4_released_request_is_refused() {
    let mut s = Story::new();
    s.campaign("p");
    let requests = s.take("p", "a");
    s.resign("p");
    s.deliver("p", "a");
    for request in &requests {
        let effects = s.put(request);
        assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Released))]);
    }
    assert_eq!(s.holder("a"), None);
}

/// "Invariant 16 is not used elsewhere": the F of a released grant does not come back.
#[test]
fn released_grant_leaves_no_f() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(2_000)));
    s.tell("p", "a", release(at(10)));
    s.ask("q", "a", for_span(at(20), ms(100)));
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(110));
}

/// Grantors confirm releases, so that no release is repeated for ever.
#[test]
fn a_release_is_confirmed() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    for _ in 0..2 {
        let effects = s.tell("p", "a", release(at(10)));
        assert!(
            sent(&effects)
                .any(|message| matches!(message, Message::Candidate(ToCandidate::Released(_))))
        );
    }
}

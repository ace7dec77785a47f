//! Verification.

use tenure_core::nerio::{Event, OwnEvent, Question};

use crate::story::*;

/// The leader promises nothing after `E := C`.
#[test]
fn lowered_claim_promises_nothing() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    assert!(remainder(&s.tell("q", "p", verify(at(7)))).unwrap().remaining.is_zero());
}

/// The answer is bound to the asker's (name, inc) and Start.
#[test]
fn answer_is_bound_to_its_asker() {
    let mut s = Story::new();
    s.elect("p");
    s.verify("q", "p");
    s.deliver("q", "p");
    let answer = s.take("p", "q");
    s.restart("q");
    s.verify("q", "p");
    s.put(&answer[0]);
    assert!(
        !s.events("q").iter().any(|event| matches!(event, Event::Own(OwnEvent::Verified { .. }))),
        "an answer to an earlier incarnation was believed: {:?}",
        s.events("q")
    );
}

/// The answer is `min(E − C, vmax) / (1 + ρ)` from one sample, with the fence.
#[test]
fn answer_is_rest_less_drift() {
    let mut config = config(&GRANTORS);
    config.verify_max = ms(110);
    let mut s = Story::with(config);
    s.elect("p");
    let answer = remainder(&s.tell("q", "p", verify(at(7)))).unwrap();
    assert_eq!(answer.remaining, ms(100));
    assert_eq!((answer.start, answer.asker), (at(7), s.who("q").inc));
    assert_eq!(answer.fence.unwrap().number(), s.fence("p"));
}

/// Two questions about one election at once: the leader answers yes, and a candidate that is taken
/// for the leader answers no. Each answer is for its own question, in any order.
#[test]
fn two_verifications_have_two_answers() {
    let mut s = Story::new();
    s.elect("p");
    s.actor("q").events.clear();
    let start = s.now("q");
    s.verify("q", "p");
    s.verify("q", "r");
    s.deliver_all();
    let asked = |who| Question { leader: address(who), start };
    let said = |event: &Event| match event {
        Event::Own(OwnEvent::Verified { question, .. }) => Some((*question, true)),
        Event::Own(OwnEvent::NotVerified { question, .. }) => Some((*question, false)),
        _ => None,
    };
    let said: Vec<_> = s.events("q").iter().filter_map(said).collect();
    assert_eq!(said, [(asked("p"), true), (asked("r"), false)]);
}

//! Verification.

use tenure_core::nerio::{Event, OwnEvent, Question};

use crate::story::*;

/// Nothing is promised after `E := C`.
#[test]
fn nothing_is_promised_after_the_claim_was_lowered() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    assert!(remainder(&s.tell("q", "p", verify(at(7)))).unwrap().remaining.is_zero());
}

/// The answer is bound to the asker's (name, inc) and Start.
#[test]
fn an_answer_is_bound_to_the_incarnation_of_its_asker() {
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
fn the_answer_is_what_is_left_less_the_drift() {
    let mut config = config(&GRANTORS);
    config.verify_max = ms(110);
    let mut s = Story::with(config);
    s.elect("p");
    let answer = remainder(&s.tell("q", "p", verify(at(7)))).unwrap();
    assert_eq!(answer.remaining, ms(100));
    assert_eq!((answer.start, answer.asker), (at(7), s.who("q").inc));
    assert_eq!(answer.fence.unwrap().number(), s.fence("p"));
}

/// Two questions about one election at once: the leader says yes, whom somebody took for it says
/// no. Each answer is for its own question, in whatever order they come.
#[test]
fn each_of_two_verifications_is_answered_for_itself() {
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

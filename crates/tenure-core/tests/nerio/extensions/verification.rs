//! Verification, made sound.

use tenure_core::nerio::{
    Command, Event, Extra, Ignored, Inc, Message, OwnEvent, Remainder, ToCandidate, ToGrantor,
};

use crate::story::*;

#[test]
fn follower_promises_nothing() {
    let mut s = Story::new();
    s.campaign("p");
    assert!(remainder(&s.tell("q", "p", verify(at(7)))).unwrap().remaining.is_zero());
    assert!(remainder(&s.tell("q", "r", verify(at(7)))).unwrap().remaining.is_zero());
}

/// Erratum 2: E := C, then the leader waits for the end of the promise, then it sends the release;
/// no new attempt begins in between.
#[test]
fn release_waits_for_promise() {
    let mut config = config(&GRANTORS);
    config.verify_max = ms(110);
    let mut s = Story::with(config);
    s.elect("p");
    s.tell("q", "p", verify(at(7)));
    s.drop_all();
    assert_eq!(releases(&s.resign("p")), []);
    assert!(!s.leads("p"), "the claim is lowered at once");
    assert_eq!(requests(&s.campaign("p")), []);
    s.drop_all();
    s.pass(ms(109));
    assert!(s.letters.is_empty(), "{:?}", s.letters);
    s.pass(ms(1));
    let sent = |s: &Story| {
        s.letters
            .iter()
            .filter(|l| matches!(l.message, Message::Grantor(ToGrantor::Release(_))))
            .count()
    };
    assert_eq!(sent(&s), 3);
}

#[test]
fn a_transfer_waits_for_the_promise() {
    let mut config = config(&GRANTORS);
    config.verify_max = ms(110);
    let mut s = Story::with(config);
    s.elect("p");
    s.campaign("q");
    s.run(ms(150));
    s.tell("r", "p", verify(at(7)));
    s.slip(ms(1));
    s.command("p", Command::Transfer { to: name("q"), probe: false });
    s.run(ms(100));
    assert_eq!(s.leader(), None, "p has stopped, q may not begin");
    s.run(ms(20));
    assert_eq!(s.leader(), Some("q"));
}

#[test]
fn unasked_answer_is_ignored() {
    let mut s = Story::new();
    s.elect("p");
    let remaining = ms(500);
    let asker = s.who("q").inc;
    let mut answer = Remainder { election: x(), start: s.now("q"), asker, remaining, fence: None };
    let effects = s.tell("p", "q", Message::from(answer.clone()));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))]);
    s.verify("q", "r");
    let effects = s.tell("p", "q", Message::from(answer.clone()));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))], "r was asked");
    answer.asker = Inc(1);
    let effects = s.tell("r", "q", Message::from(answer));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::OtherIncarnation))]);
}

/// Questions that were never answered do not keep the node from asking later questions.
#[test]
fn lost_questions_take_no_room() {
    let mut s = Story::new();
    for n in 0..1_000 {
        s.slip(ms(1));
        let command = Command::Extra(Extra::Verify { leader: address("p") });
        let election = format!("lost/{n}").parse().unwrap();
        let effects = s.step("q", tenure_core::Input::Command { election, command });
        let is_verify =
            |message: &&Message| matches!(message, Message::Candidate(ToCandidate::Verify(_)));
        assert_eq!(sent(&effects).filter(is_verify).count(), 1, "asked");
        s.drop_all();
    }
    s.elect("p");
    s.verify("q", "p");
    s.deliver_all();
    assert!(
        s.events("q").iter().any(|event| matches!(event, Event::Own(OwnEvent::Verified { .. })))
    );
}

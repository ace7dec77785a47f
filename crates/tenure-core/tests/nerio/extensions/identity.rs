//! Identity: a participant is (name, inc) everywhere, and one inc speaks from one address.

use tenure_core::Input;
use tenure_core::nerio::{Event, Ignored, Message, OwnEvent, Refusal, Sender};

use crate::story::*;

#[test]
fn restarted_candidate_is_new() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.restart("p");
    let refusal = refusal(&s.ask("p", "a", request(at(20))));
    let Some(Refusal::Held { holder, parked: true }) = refusal else { panic!("{refusal:?}") };
    assert_eq!(holder.who.name, s.who("p").name);
    assert_ne!(holder.who.inc, s.who("p").inc);
}

#[test]
fn keys_are_election_name_and_inc() {
    let mut s = Story::new();
    let mut other = request(at(10));
    other.election = "y".parse().unwrap();
    assert!(granted(&s.ask("p", "a", request(at(10)))).is_some());
    assert!(granted(&s.ask("q", "a", other)).is_some(), "another election is free");
}

/// A forger on the same network must not be able to keep a candidate out.
#[test]
fn forged_release_raises_no_watermark() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    s.ask("q", "a", request(at(5)));
    s.ask("p", "a", request(at(10)));
    s.tell_as(&forger, "a", release(at(1_000_000)));
    assert_eq!(s.state("a").waiting, 1, "p still waits");
    assert!(refusal(&s.ask("p", "a", request(at(20)))).is_some(), "and is answered");
    s.tell("q", "a", release(at(5)));
    assert_eq!(s.holder("a").as_deref(), Some("p"));
}

#[test]
fn forged_request_takes_no_place() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    s.ask("q", "a", request(at(5)));
    s.ask("p", "a", request(at(10)));
    let effects = s.tell_as(&forger, "a", Message::from(request(at(20))));
    assert!(matches!(refusal(&effects), Some(Refusal::Held { parked: false, .. })));
    let effects = s.tell("q", "a", release(at(5)));
    assert_eq!(granted(&effects).unwrap().start, at(10));
}

#[test]
fn candidate_refuses_grantor_messages() {
    let mut s = Story::new();
    let from = s.sender("q");
    let message = Message::from(request(at(1)));
    let effects = s.step("p", Input::Message { from, message });
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotAGrantor))]);
}

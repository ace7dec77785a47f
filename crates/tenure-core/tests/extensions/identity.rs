//! Identity: everywhere a participant is (name, inc), and one inc speaks from one address.

use tenure_core::Input;
use tenure_core::nerio::{Event, Ignored, Message, Refusal, Sender};

use crate::story::*;

#[test]
fn a_restarted_candidate_is_a_new_candidate() {
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

/// A grantor that sees inc1, inc2, inc1 again raises an event, and its refusal says so.
#[test]
fn a_name_that_two_lives_use_at_once_is_reported() {
    let mut s = Story::new();
    s.ask("r", "a", request(at(1)));
    let first = s.sender("p");
    s.ask("p", "a", request(at(10)));
    s.restart("p");
    let second = s.ask("p", "a", request(at(20)));
    assert!(!refused(&second).unwrap().name_shared, "a restart is no second process");

    let again = s.tell_as(&first, "a", Message::Request(request(at(30))));
    assert_eq!(emitted(&again), [Event::NameContested { name: name("p") }]);
    assert!(refused(&again).unwrap().name_shared);

    s.actor("p").events.clear();
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert!(s.events("p").contains(&Event::NameShared { grantor: name("a") }));
}

/// One inc from two addresses: the first wins while its grant lives, the second is refused,
/// counted and reported.
#[test]
fn one_life_from_two_addresses_keeps_the_first() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), ..s.sender("p") };
    s.ask("p", "a", request(at(10)));

    let effects = s.tell_as(&forger, "a", Message::Request(request(at(20))));
    let (who, holder, other) = (s.who("p"), address("p"), address("z"));
    assert_eq!(emitted(&effects), [Event::AddressContested { who, holder, other }]);
    assert_eq!(refusal(&effects), Some(Refusal::OtherAddress { holder }));

    s.tell_as(&forger, "a", release(at(99)));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "a forged release frees nobody");
    assert!(granted(&s.ask("p", "a", request(at(30)))).is_some(), "and the first goes on");

    s.pass(ms(1_100));
    assert!(granted(&s.tell_as(&forger, "a", Message::Request(request(at(40))))).is_some());
}

/// A forger on the same network must not be able to keep a candidate out either.
#[test]
fn a_forged_release_raises_no_watermark_of_another_address() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), ..s.sender("p") };
    s.ask("q", "a", request(at(5)));
    s.ask("p", "a", request(at(10)));
    s.tell_as(&forger, "a", release(at(1_000_000)));
    assert_eq!(s.state("a").waiting, 1, "p still waits");
    assert!(refusal(&s.ask("p", "a", request(at(20)))).is_some(), "and is answered");
    s.tell("q", "a", release(at(5)));
    assert_eq!(s.holder("a").as_deref(), Some("p"));
}

#[test]
fn a_forged_request_takes_no_place_in_the_queue() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), ..s.sender("p") };
    s.ask("q", "a", request(at(5)));
    s.ask("p", "a", request(at(10)));
    let effects = s.tell_as(&forger, "a", Message::Request(request(at(20))));
    assert!(matches!(refusal(&effects), Some(Refusal::Held { parked: false, .. })));
    let effects = s.tell("q", "a", release(at(5)));
    assert_eq!(granted(&effects).unwrap().start, at(10));
}

/// An ok counts only when it comes from a member's name and address.
#[test]
fn an_ok_that_does_not_come_from_the_grantor_is_dropped() {
    let mut s = Story::new();
    s.campaign("p");
    for grantor in GRANTORS {
        s.deliver("p", grantor);
        for mut letter in s.take(grantor, "p") {
            letter.from.address = address("z");
            let effects = s.put(&letter);
            assert_eq!(emitted(&effects), [Event::Ignored(Ignored::NotAMember)]);
        }
    }
    assert!(!s.leads("p"));
}

#[test]
fn a_node_that_is_no_grantor_says_so() {
    let mut s = Story::new();
    let from = s.sender("q");
    let message = Message::Request(request(at(1)));
    let effects = s.step("p", Input::Message { from, message });
    assert_eq!(emitted(&effects), [Event::Ignored(Ignored::NotAGrantor)]);
}

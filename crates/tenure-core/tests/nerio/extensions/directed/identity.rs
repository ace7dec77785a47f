//! Identity.

use tenure_core::nerio::{Event, Ignored, Message, OwnEvent, Refusal, Request, Sender};

use crate::story::*;

/// Comparing by name alone is unsafe: a late release of an earlier incarnation would end the grant
/// of the next incarnation.
#[test]
fn release_of_earlier_incarnation_frees_nothing() {
    let mut s = Story::new();
    let earlier = s.sender("p");
    s.restart("p");
    assert!(granted(&s.ask("p", "a", request(at(10)))).is_some());

    let effects = s.tell_as(&earlier, "a", release(at(99)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotTheHolder))]);
    assert!(matches!(refusal(&s.ask("q", "a", request(at(20)))), Some(Refusal::Held { .. })));
}

/// A grantor that sees inc1, inc2, inc1 again emits an event, and its refusal reports the shared
/// name.
#[test]
fn shared_name_is_reported() {
    let mut s = Story::new();
    s.ask("r", "a", request(at(1)));
    let first = s.sender("p");
    s.ask("p", "a", request(at(10)));
    s.restart("p");
    let second = s.ask("p", "a", request(at(20)));
    let shared = refused(&second).unwrap().name_shared;
    assert_eq!(shared, None, "a restart is no second process");

    let again = s.tell_as(&first, "a", Message::from(request(at(30))));
    let (other, addresses) = (address("p"), [address("p"); 2]);
    assert_eq!(
        emitted(&again),
        [Event::Own(OwnEvent::NameContested { name: name("p"), addresses })]
    );
    assert_eq!(refused(&again).unwrap().name_shared, Some(other));

    s.actor("p").events.clear();
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert!(
        s.events("p").contains(&Event::Own(OwnEvent::NameShared { grantor: name("a"), other }))
    );
}

/// An incarnation of a shared name asks twice in a row: the other incarnation still counts as
/// present. After a lease without a message of the other incarnation, the name is no longer shared.
#[test]
fn shared_name_is_reported_steadily() {
    let mut s = Story::new();
    s.ask("r", "a", request(at(1)));
    let first = s.sender("p");
    s.ask("p", "a", request(at(10)));
    s.restart("p");
    s.ask("p", "a", request(at(20)));
    s.tell_as(&first, "a", Message::from(request(at(30))));
    for again in 1..=3 {
        let effects = s.ask("p", "a", request(at(40 + again)));
        assert_eq!(refused(&effects).unwrap().name_shared, Some(first.address), "{again}");
    }
    s.pass(ms(1_001));
    assert!(granted(&s.ask("r", "a", request(at(1_100)))).is_some());
    let effects = s.ask("p", "a", request(at(1_200)));
    assert_eq!(refused(&effects).unwrap().name_shared, None, "the other one is gone");
}

/// Grants and queues are kept by election: processes of one name in two elections do not conflict.
#[test]
fn elections_share_names_without_alarm() {
    let mut s = Story::new();
    let of_y = |start| Request { election: "y".parse().unwrap(), ..request(at(start)) };
    s.ask("r", "a", request(at(1)));
    s.ask("r", "a", of_y(1));
    let first = s.sender("p");
    s.restart("p");
    for round in 1..=3 {
        let start = 10 * round;
        let in_x = s.tell_as(&first, "a", Message::from(request(at(start))));
        let in_y = s.ask("p", "a", of_y(start));
        for effects in [in_x, in_y] {
            assert_eq!(refused(&effects).unwrap().name_shared, None, "round {round}");
            assert!(emitted(&effects).is_empty(), "{:?}", emitted(&effects));
        }
    }
}

/// An incarnation asks from two addresses: the first wins while its grant lives; the grantor
/// refuses, counts and reports the second.
#[test]
fn first_address_of_incarnation_is_kept() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    s.ask("p", "a", request(at(10)));

    let effects = s.tell_as(&forger, "a", Message::from(request(at(20))));
    let (who, holder, other) = (s.who("p"), address("p"), address("z"));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::AddressContested { who, holder, other })]);
    assert_eq!(refusal(&effects), Some(Refusal::OtherAddress { holder }));

    s.tell_as(&forger, "a", release(at(99)));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "a forged release frees nobody");
    assert!(granted(&s.ask("p", "a", request(at(30)))).is_some(), "and the first goes on");

    s.pass(ms(1_100));
    assert!(granted(&s.tell_as(&forger, "a", Message::from(request(at(40))))).is_some());
}

/// An ok counts only if it comes from a member, by its name and by the driver's proof.
#[test]
fn foreign_ok_is_dropped() {
    let mut s = Story::new();
    s.campaign("p");
    for grantor in GRANTORS {
        s.deliver("p", grantor);
        for mut letter in s.take(grantor, "p") {
            letter.from.proved = false;
            let effects = s.put(&letter);
            assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotAMember))]);
        }
    }
    assert!(!s.leads("p"));
}

/// Requests wait by incarnation: a release of an earlier incarnation does not remove the request of
/// the next incarnation.
#[test]
fn new_incarnation_waits_beside_the_old() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(30)));
    let earlier = s.sender("q");
    s.restart("q");
    s.ask("q", "a", request(at(20)));
    s.tell_as(&earlier, "a", release(at(30)));
    let effects = s.tell("p", "a", release(at(10)));
    assert_eq!(granted(&effects).unwrap().start, at(20));
}

/// A restarted candidate is a new candidate: its clock may have begun anew, below the Starts
/// released before.
#[test]
fn release_binds_its_own_incarnation() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(99)));
    s.tell("p", "a", release(at(99)));
    s.restart("p");
    assert!(granted(&s.ask("p", "a", request(at(10)))).is_some());
}

/// An answer is for the incarnation that asked. The next incarnation of the name may use the same
/// Start, for a lease and a fence of its own, and must not count grants to the earlier incarnation.
#[test]
fn answer_counts_for_asking_incarnation() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.ask("q", grantor, request(at(10)));
    }
    let first = s.campaign("p");
    s.deliver_all();
    s.restart("p");
    let second = s.campaign("p");
    s.drop_all();
    assert_eq!(
        requests(&first)[0].start,
        requests(&second)[0].start,
        "one Start, two incarnations"
    );
    for grantor in GRANTORS {
        s.tell("q", grantor, release(at(10)));
        let effects = s.deliver(grantor, "p");
        assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::OtherIncarnation))]);
    }
    assert!(!s.leads("p"), "its grants are another's");
}

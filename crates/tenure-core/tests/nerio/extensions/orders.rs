//! Orders to end a leadership, from their senders to the leader.

use tenure_core::Fence;
use tenure_core::nerio::{
    Effect, Event, Ignored, Message, Order, Ordered, OwnEvent, Passed, StepDown, ToAsker,
    ToCandidate,
};

use crate::extensions::directed::orders::{down, is_reported};
use crate::story::*;

fn order(fence: u64, number: u64) -> Order {
    let (election, fence, next) = (x(), Fence::new(fence), Some(name("r")));
    Order { election, start: at(3), number, fence, next }
}

/// Passes an order to a grantor. Returns the grantor's message to the holder, and its answer to the
/// sender.
fn passed(s: &mut Story, order: Order) -> (Option<StepDown>, Passed) {
    let effects = s.tell("q", "a", Message::from(order.clone()));
    let (mut told, mut answer) = (None, None);
    for effect in &effects {
        match effect {
            Effect::Send { message: Message::Candidate(ToCandidate::StepDown(down)), to } => {
                assert_eq!(to.recipient, address("p").into());
                told = Some(down.clone());
            }
            Effect::Send { message: Message::Asker(ToAsker::Ordered(ordered)), to } => {
                let Ordered { election, asker, start, passed } = ordered.clone();
                assert_eq!(to.recipient, address("q").into());
                assert_eq!(asker, s.who("q").inc);
                assert_eq!((election, start), (x(), order.start));
                answer = Some(passed);
            }
            other => panic!("{other:?}"),
        }
    }
    (told, answer.unwrap())
}

#[test]
fn grantor_passes_order_to_holder() {
    let mut s = Story::new();
    assert_eq!(passed(&mut s, order(1, 5)), (None, Passed::NotHeld), "nobody holds it");
    s.elect("p");
    let fence = s.fence("p");
    let (told, answer) = passed(&mut s, order(fence, 7));
    let expected = StepDown { next: Some(name("r")), ..down(&s, fence, 7) };
    assert_eq!((told, answer), (Some(expected), Passed::On));
    for other in [fence - 1, fence + 1] {
        assert_eq!(passed(&mut s, order(other, 8)), (None, Passed::NotHeld), "{other}");
    }
    s.resign("p");
    s.deliver_all();
    assert_eq!(passed(&mut s, order(fence, 9)), (None, Passed::NotHeld), "it was given back");
}

/// A candidate with grants has not announced a fence, and gets no order.
#[test]
fn candidate_receives_no_order() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    let (told, answer) = passed(&mut s, order(1, 11));
    assert_eq!((told, answer), (None, Passed::NotHeld));
}

#[test]
fn leader_obeys_members_only() {
    let mut s = Story::new();
    s.elect("p");
    let order = down(&s, s.fence("p"), 7);
    let effects = s.tell("q", "p", Message::from(order.clone()));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotAMember))]);
    assert!(is_reported(&mut s, "a", order));
    let unasked =
        Ordered { election: x(), asker: s.who("q").inc, start: at(7), passed: Passed::On };
    let effects = s.tell("a", "q", Message::from(unasked));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))]);
}

/// A candidate remembers as many orders as can be under way, even if more orders arrive.
#[test]
fn remembered_orders_are_bounded() {
    let mut s = Story::new();
    s.elect("p");
    let fence = s.fence("p");
    for number in 1..=1_000 {
        let order = down(&s, fence, number);
        assert!(is_reported(&mut s, "a", order.clone()));
        assert!(!is_reported(&mut s, "b", order));
    }
    let early = down(&s, fence, 985);
    assert!(!is_reported(&mut s, "c", early), "the last sixteen are known");
    let forgotten = down(&s, fence, 984);
    assert!(is_reported(&mut s, "c", forgotten));
}

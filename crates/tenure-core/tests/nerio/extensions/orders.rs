//! Orders to end a leadership, from those who give them to the one that leads.

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

/// What a grantor tells the holder, and the one that orders.
fn passed(s: &mut Story, order: Order) -> (Option<StepDown>, Passed) {
    let effects = s.tell("q", "a", Message::from(order.clone()));
    let (mut told, mut answer) = (None, None);
    for effect in &effects {
        match effect {
            Effect::Send { message: Message::Candidate(ToCandidate::StepDown(down)), to } => {
                assert_eq!(*to, address("p").into());
                told = Some(down.clone());
            }
            Effect::Send { message: Message::Asker(ToAsker::Ordered(ordered)), to } => {
                let Ordered { election, asker, start, passed } = ordered.clone();
                assert_eq!((*to, asker), (address("q").into(), s.who("q").inc));
                assert_eq!((election, start), (x(), order.start));
                answer = Some(passed);
            }
            other => panic!("{other:?}"),
        }
    }
    (told, answer.unwrap())
}

#[test]
fn a_grantor_tells_the_holder_with_that_fence_and_nobody_else() {
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

/// It holds grants, and others must not be told that it leads.
#[test]
fn one_that_has_not_won_is_told_nothing() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    let (told, answer) = passed(&mut s, order(1, 11));
    assert_eq!((told, answer), (None, Passed::NotHeld));
}

#[test]
fn who_leads_obeys_members_only() {
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

/// However many orders there are, as many are remembered as can be on their way.
#[test]
fn orders_without_end_leave_no_more_than_a_few_behind() {
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

//! Orders to end a leadership, at the leader.

use tenure_core::Fence;
use tenure_core::nerio::{Event, Inc, Message, OwnEvent, StepDown};

use crate::story::*;

/// The order `number` of q, as a member passes it on to p.
pub(crate) fn down(s: &Story, fence: u64, number: u64) -> StepDown {
    StepDown {
        election: x(),
        holder: s.who("p").inc,
        fence: Fence::new(fence),
        next: None,
        number,
        from: address("q"),
    }
}

/// Whether p reports the order.
pub(crate) fn is_reported(s: &mut Story, from: &'static str, order: StepDown) -> bool {
    let effects = s.tell(from, "p", Message::from(order));
    let is_order = |event: &Event| matches!(event, Event::Own(OwnEvent::Ordered { .. }));
    emitted(&effects).iter().any(is_order)
}

/// An order that was delayed, or is repeated later, ends no later leadership.
#[test]
fn order_names_one_leadership() {
    let mut s = Story::new();
    s.elect("p");
    let first = down(&s, s.fence("p"), 7);
    s.resign("p");
    s.deliver_all();
    assert!(!is_reported(&mut s, "a", first.clone()), "it leads no more");
    s.elect("p");
    assert!(s.fence("p") > first.fence.number());
    assert!(!is_reported(&mut s, "a", first), "that leadership is over");
    let other = StepDown { holder: Inc(99), ..down(&s, s.fence("p"), 8) };
    assert!(!is_reported(&mut s, "a", other), "it is for another incarnation");
    let meant = down(&s, s.fence("p"), 9);
    assert!(is_reported(&mut s, "a", meant));
    assert!(s.leads("p"), "who uses it decides");
}

/// Each member passes the order on, and the order's sender repeats it.
#[test]
fn repeated_order_is_reported_once() {
    let mut s = Story::new();
    s.elect("p");
    let fence = s.fence("p");
    let order = down(&s, fence, 7);
    assert!(is_reported(&mut s, "a", order.clone()));
    for from in ["a", "b", "c", "a"] {
        assert!(!is_reported(&mut s, from, order.clone()), "{from}");
    }
    let again = down(&s, fence, 8);
    assert!(is_reported(&mut s, "b", again), "another order is obeyed anew");
}

//! Clocks, samples, and the order of timestamps.

use tenure_core::nerio::{Event, Ignored, Incomparable, OwnEvent, QuorumTimestamp};

use crate::story::*;

/// (p, Start) names an instance: no Start is used twice, even if the clock stands still, the
/// campaign is repeated, and the application stops observing in between.
#[test]
fn a_start_is_never_used_twice() {
    let mut s = Story::new();
    s.campaign("p");
    let old: Vec<Letter> =
        GRANTORS.iter().flat_map(|to| s.deliver_and_take_answers("p", to)).collect();
    s.resign("p");
    s.deliver_all();
    s.command("p", tenure_core::nerio::Command::Unobserve);
    let begin = s.campaign("p");
    assert_eq!(requests(&begin), [], "the clock has not moved: there is no new Start yet");
    for answer in &old {
        let effects = s.put(answer);
        assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))]);
    }
    assert!(!s.leads("p"), "grants that were given up count for nothing");
}

#[test]
fn claims_round_down() {
    let odd = std::time::Duration::from_nanos(999_999_999);
    let mut s = Story::with(config(&GRANTORS).with_lease(odd));
    let begin = s.now("p");
    s.campaign("p");
    s.deliver_all();
    assert_eq!(s.until("p").since(begin).as_nanos(), 899_999_999, "of 899,999,999.1");
}

#[test]
fn grants_round_up() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), std::time::Duration::from_nanos(999_999_999)));
    let held = s.state("a").holder.unwrap().remaining;
    assert_eq!(held.as_nanos(), 1_099_999_999, "of 1,099,999,998.9");
}

/// Contradictory timestamps are errors, too.
#[test]
fn contradictory_timestamps_have_no_order() {
    let mut s = Story::new();
    let mut stamp = |grantor, start| {
        let ok = granted(&s.ask("p", grantor, request(at(start)))).unwrap();
        (ok.instance, ok.stamp)
    };
    let [early, late] = [10, 20].map(|start| [stamp("a", start), stamp("b", start)]);
    let one = QuorumTimestamp::new([early[0], late[1]]);
    let other = QuorumTimestamp::new([late[0], early[1]]);
    assert_eq!(one.order(&other), Err(Incomparable::Contradictory));
    assert_eq!(other.order(&one), Err(Incomparable::Contradictory));
}

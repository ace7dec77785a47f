//! Observers: leader when a quorum names the same life, vacant when a quorum says free, else
//! unknown.

use tenure_core::Fence;
use tenure_core::nerio::{Command, Event, LeaderView, View};

use crate::story::*;

/// What is known of the election where nobody campaigns, after a while.
fn view(s: &mut Story) -> View {
    s.command("r", Command::Observe { every: ms(100) });
    s.run(ms(500));
    let last = s.events("r").iter().rev().find_map(|event| match event {
        Event::View(view) => Some(view.clone()),
        _ => None,
    });
    last.expect("an observer says something")
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn three_holders_are_no_leader() {
    let mut s = Story::new();
    for (candidate, grantor) in CANDIDATES.into_iter().zip(GRANTORS) {
        s.ask(candidate, grantor, request(at(10)));
    }
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn two_lives_of_one_name_are_no_leader() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.restart("p");
    s.ask("p", "b", request(at(10)));
    s.ask("q", "c", request(at(10)));
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn one_free_grantor_is_no_vacancy() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "b", request(at(10)));
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_vacancy_is_told() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    assert_eq!(view(&mut s), View::Vacant, "b and c are free, and a quorum");
}

/// A grantor that lost its memory does not say that an election is free.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_grantor_without_memory_is_not_free() {
    let mut s = Story::new();
    s.reboot("a");
    s.reboot("b");
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

/// What is left of a lease counts from the send of the question, and is less the drift of both
/// clocks.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn what_an_observer_believes_counts_from_its_question() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.ask("p", grantor, request(at(10)));
    }
    s.drop_all();
    let (asked, remaining) = (s.now("r"), s.state("a").holder.unwrap().remaining);
    s.command("r", Command::Observe { every: ms(5_000) });
    GRANTORS.into_iter().for_each(|grantor| drop(s.deliver("r", grantor)));
    s.slip(ms(100));
    s.deliver_all();
    let leader = s.events("r").iter().find_map(|event| match event {
        Event::View(View::Leader(leader)) => Some(leader.clone()),
        _ => None,
    });
    let drift = s.config.drift;
    let until = asked.after(drift.shrink(drift.real_at_least(remaining)));
    assert_eq!(leader.unwrap().until, until);
}

/// What r says of the leader in the end.
fn leader(s: &Story) -> LeaderView {
    let last = s.events("r").iter().rev().find_map(|event| match event {
        Event::View(view) => Some(view.clone()),
        _ => None,
    });
    match last {
        Some(View::Leader(leader)) => leader,
        other => panic!("{other:?}"),
    }
}

/// What one grantor said before it fell silent does not shorten what a quorum says since.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_grantor_that_fell_silent_does_not_shorten_a_view() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.ask("p", grantor, request(at(10)));
    }
    s.command("r", Command::Observe { every: ms(300) });
    s.run(ms(10));
    let before = leader(&s).until;
    for grantor in ["a", "b"] {
        s.ask("p", grantor, request(at(20)));
    }
    s.drop_all();
    s.pass(ms(300));
    s.take("r", "c");
    s.deliver_all();
    let after = leader(&s).until;
    assert!(after >= before.after(ms(10)), "{before} and then {after}: a and b have renewed");
}

/// A grantor that was away does not know the fence of a leadership that is older; the others do.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn the_fence_is_the_one_that_a_quorum_names() {
    let mut s = Story::new();
    for (grantor, fence) in GRANTORS.into_iter().zip([2, 7, 7]) {
        s.ask("p", grantor, proposal(at(10), fence));
    }
    s.drop_all();
    s.command("r", Command::Observe { every: ms(300) });
    s.run(ms(10));
    assert_eq!(leader(&s).fence, Some(Fence::new(7)));
    s.tell("p", "c", release(at(10)));
    s.run(ms(300));
    assert_eq!(leader(&s).fence, None, "2 and 7");
}

/// Readings: vacant only when a quorum was free at one instant. A leader that moves from one
/// grantor to the other leaves each of them free at some time.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_leader_that_moves_from_grantor_to_grantor_is_no_vacancy() {
    let mut s = Story::new();
    for grantor in ["a", "b"] {
        s.ask("p", grantor, for_span(at(10), ms(1_000)));
    }
    s.command("q", Command::Observe { every: ms(400) });
    s.deliver_all();
    // c was free when it was asked. Now it is p's, with b, and a is free.
    s.ask("p", "c", request(at(20)));
    s.ask("p", "b", request(at(20)));
    s.tell("p", "a", release(at(10)));
    s.pass(ms(400));
    s.deliver("q", "a");
    s.deliver("a", "q");
    assert!(!s.events("q").contains(&Event::View(View::Vacant)), "{:?}", s.events("q"));
}

//! Section 10: interference, finding the leader, verification.

use tenure_core::nerio::{Command, Event, OwnEvent, Refusal};
use tenure_core::{Fence, Protocol, View};

use crate::story::*;

/// 10.2: "if a process has granted a lease to another process, then instead of just ignoring the
/// grant request, it responds with an error message."
#[test]
fn refusal_names_holder_and_rest() {
    let mut s = Story::new();
    s.elect("p");
    let remaining = s.state("a").holder.unwrap().remaining;
    s.slip(ms(100));
    let refusal = refusal(&s.ask("q", "a", request(at(10))));
    let Some(Refusal::Held { holder, .. }) = refusal else { panic!("{refusal:?}") };
    assert_eq!(holder.who, s.who("p"));
    assert_eq!(holder.address, address("p"));
    assert_eq!(holder.remaining, remaining - ms(100));
    assert_eq!(holder.fence.map(|fence| fence.number()), Some(s.fence("p")));
}

/// 10.2: "a process p that sends a revocation request must first have aborted the protocol, thus
/// even if it ends up collecting positive responses from a quorum, E should not be advanced."
#[test]
fn late_oks_win_no_withdrawn_attempt() {
    let mut s = Story::new();
    s.campaign("p");
    let oks: Vec<Letter> =
        GRANTORS.iter().flat_map(|to| s.deliver_and_take_answers("p", to)).collect();
    s.resign("p");
    for ok in &oks {
        s.put(ok);
    }
    assert!(!s.leads("p") && s.actors["p"].claims.is_empty());
}

/// 10.2: "If more than one process concurrently tries to become leader, then none may be able to
/// enlist a quorum": a random back-off keeps them apart.
#[test]
fn yielding_candidates_wait_differently() {
    let mut s = Story::new();
    for candidate in CANDIDATES {
        s.campaign(candidate);
    }
    for (candidate, grantor) in CANDIDATES.iter().zip(GRANTORS) {
        s.deliver(candidate, grantor);
    }
    s.run(ms(1_000));
    assert!(s.leader().is_some());
}

/// 10.4: "If process p has an unexpired grant for another process q, then process p can respond
/// by giving q as a forwarding address."
#[test]
fn grantor_names_the_leader() {
    let mut s = Story::new();
    assert_eq!(s.state("a").holder, None);
    s.elect("p");
    let holder = s.state("a").holder.unwrap();
    assert_eq!((holder.who, holder.address), (s.who("p"), address("p")));
}

fn view(s: &Story, who: &str) -> Option<View> {
    s.events(who).iter().rev().find_map(|event| match event {
        Event::View(view) => Some(View::clone(view)),
        _ => None,
    })
}

/// 10.4 for observers: leader when a quorum names the same incarnation, vacant when a quorum says
/// free, else unknown.
#[test]
fn an_observer_finds_the_leader() {
    let mut s = Story::new();
    s.command("r", Command::Observe { every: ms(100) });
    s.deliver_all();
    assert_eq!(view(&s, "r"), Some(View::Vacant));
    s.elect("p");
    s.run(ms(200));
    let Some(View::Leader(leader)) = view(&s, "r") else { panic!("{:?}", view(&s, "r")) };
    let who = s.who("p");
    assert_eq!((&*leader.id, leader.incarnation), (who.name.as_str(), Some(who.inc.0)));
    assert_eq!(leader.address, Some(address("p")));
    assert_eq!(leader.fence.map(Fence::number), Some(s.fence("p")));
    s.drop_all();
    s.pass(ms(2_000));
    assert!(matches!(view(&s, "r"), Some(View::Unknown { .. })), "{:?}", view(&s, "r"));
}

/// The view's remainder counts from the send of the question, less the drift of both clocks.
#[test]
fn view_ends_with_the_grants() {
    let mut s = Story::new();
    s.elect("p");
    s.actors.remove("p");
    s.command("r", Command::Observe { every: ms(5_000) });
    let asked = s.now("r");
    let remaining = s.state("a").holder.unwrap().remaining;
    for grantor in GRANTORS {
        s.deliver("r", grantor);
    }
    s.slip(ms(100));
    s.deliver_all();
    let Some(View::Leader(leader)) = view(&s, "r") else { panic!() };
    let drift = s.config.drift;
    let until = asked.after(drift.shrink(drift.real_at_least(remaining)));
    assert_eq!(leader.until, Some(until));
}

/// A grantor in quarantine does not report an election as vacant.
#[test]
fn lost_grantor_reports_no_vacancy() {
    let mut s = Story::new();
    s.elect("p");
    s.reboot("a");
    s.reboot("b");
    s.command("r", Command::Observe { every: ms(100) });
    s.run(ms(1_000));
    assert!(!matches!(view(&s, "r"), Some(View::Vacant | View::Leader(_))), "{:?}", view(&s, "r"));
}

/// An observer may choose to ask rarely.
#[test]
fn silent_observer_causes_no_trouble() {
    let mut s = Story::new();
    s.command("r", Command::Observe { every: std::time::Duration::MAX });
    s.deliver_all();
    assert_eq!(view(&s, "r"), Some(View::Vacant));
    assert_eq!(s.actors["r"].core.deadline(), None, "in 584 years");
    s.command("r", Command::Unobserve);
    assert_eq!(s.actors["r"].core.deadline(), None);
}

/// 10.5 with erratum 1: `T = Start_q + δ(1 − ρ)`, good while `C_q < T`, δ = (E_p − C_p)/(1 + ρ).
#[test]
fn erratum_1_verification_counts_from_start() {
    let mut config = config(&GRANTORS);
    config.verify_max = config.lease;
    let mut s = Story::with(config);
    s.elect("p");
    let asked = s.now("q");
    s.verify("q", "p");
    s.slip(ms(50));
    s.deliver("q", "p");
    let left = s.until("p").since(s.now("p"));
    s.slip(ms(50));
    s.deliver("p", "q");
    let until = s.events("q").iter().find_map(|event| match event {
        Event::Own(OwnEvent::Verified { until, .. }) => Some(*until),
        _ => None,
    });
    let drift = s.config.drift;
    assert_eq!(until, Some(asked.after(drift.shrink(drift.real_at_least(left)))));
}

/// Erratum 1: a later answer verifies nothing.
#[test]
fn erratum_1_late_answer_verifies_nothing() {
    let mut s = Story::new();
    s.elect("p");
    s.verify("q", "p");
    s.deliver("q", "p");
    s.slip(ms(900));
    s.deliver("p", "q");
    let told = s.events("q").last();
    let Some(Event::Own(OwnEvent::NotVerified { by, .. })) = told else { panic!("{told:?}") };
    assert_eq!(*by, s.who("p"));
}

/// 10.5: "if p is no longer leader, δ will be negative".
#[test]
fn former_leader_answers_negatively() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    s.deliver_all();
    s.verify("q", "p");
    s.deliver_all();
    let told = s.events("q").last();
    let Some(Event::Own(OwnEvent::NotVerified { by, .. })) = told else { panic!("{told:?}") };
    assert_eq!(*by, s.who("p"));
}

/// Erratum 2: the printed protocol lets a leader promise and then release. Here q believes in p
/// until T, and no other process leads before.
#[test]
fn erratum_2_promise_delays_next_leader() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("r");
    s.run(ms(150));
    s.verify("q", "p");
    s.deliver_all();
    let until = s.events("q").iter().rev().find_map(|event| match event {
        Event::Own(OwnEvent::Verified { until, .. }) => Some(*until),
        _ => None,
    });
    s.resign("p");
    while s.now("q") < until.unwrap() {
        s.run(ms(1));
        assert_eq!(s.leader(), None);
    }
    s.run(ms(250));
    assert_eq!(s.leader(), Some("r"));
}

/// Erratum 5: ρ is a rate, and its default is above the 5·10⁻⁴ by which Linux slews a clock.
#[test]
fn erratum_5_default_drift_exceeds_ntp() {
    assert_eq!(tenure_core::Drift::DEFAULT.to_string(), "0.001");
}

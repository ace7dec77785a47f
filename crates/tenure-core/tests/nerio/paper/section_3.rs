//! Section 3: clocks with bounded drift, OQwBD step by step.

use std::time::Duration;

use tenure_core::nerio::{Effect, Event, Ignored, Message, OwnEvent, Refusal, ToCandidate};
use tenure_core::{End, Loss};

use crate::story::*;

/// Steps 1 to 3: "sample starting time, select δ > 0, broadcast".
#[test]
fn steps_1_to_3_sample_and_broadcast() {
    let mut s = Story::new();
    let effects = s.campaign("p");
    let line = |member| {
        format!(
            "to member {member}: request x start 10.000000 for 1s fence 1 first 10.000000 \
             priority 0"
        )
    };
    assert_eq!(lines(&effects), [line("a"), line("b"), line("c")]);
}

/// Step 5: "if p ≠ A ∧ T < F, then ignore the request" (10.2: refuse it).
#[test]
fn step_5_foreign_lease_is_kept() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(1_000)));
    s.slip(ms(1_100) - Duration::from_nanos(1));
    assert!(matches!(refusal(&s.ask("q", "a", request(at(1)))), Some(Refusal::Held { .. })));
    s.slip(Duration::from_nanos(1));
    s.step("a", tenure_core::Input::Timeout);
    assert!(granted(&s.ask("r", "a", request(at(1)))).is_none(), "q waited and was first");
    assert_eq!(s.holder("a").as_deref(), Some("q"));
}

/// Step 6: `A := p; F := max(F, T + (1 + ρ)δ)`, then `ok`: first the write, then the send, then the
/// event.
#[test]
fn step_6_grants_and_answers() {
    let mut s = Story::new();
    let effects = s.ask("p", "a", request(at(10)));
    assert_eq!(
        lines(&effects),
        [
            "persist grant x to p~70000000 start 0.010000 finish 11.100000 stamp 1:10.000000.0 \
             fence 1",
            "to 127.0.0.1:7016: granted x start 0.010000 stamp 1:10.000000.0 fence accepted seen 0",
            "x: granted to p~70000000",
        ]
    );
}

/// Equation 16: "a process p never decreases F".
#[test]
fn f_never_decreases() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(1_000)));
    s.ask("p", "a", for_span(at(20), ms(1)));
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(1_100));
    s.ask("p", "a", for_span(at(30), ms(2_000)));
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(2_200));
}

/// Steps 7 and 8: "if ok messages are received from a quorum and C < Start + (1 − ρ)δ, then E :=
/// Start + (1 − ρ)δ": counted from the sample before the broadcast.
#[test]
fn step_8_e_counts_from_start() {
    let mut s = Story::new();
    s.campaign("p");
    let start = s.now("p");
    s.slip(ms(50));
    for grantor in ["a", "b"] {
        s.deliver("p", grantor);
        s.slip(ms(20));
        s.deliver(grantor, "p");
    }
    assert_eq!(s.until("p"), start.after(ms(900)));
    let claims = &s.actor("p").claims;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].0, start.after(ms(900)));
}

/// Step 8, completion as a whole: the claim, then the events of the election, then the first
/// renewal.
#[test]
fn step_8_the_effects_of_a_completion() {
    let mut s = Story::new();
    s.campaign("p");
    s.slip(ms(5));
    s.deliver("p", "a");
    s.deliver("p", "b");
    s.deliver("a", "p");
    let renewal = |member| {
        format!(
            "to member {member}: request x start 10.005000 for 1s fence 1 first 10.000000 \
             priority 0 leading announced 1"
        )
    };
    assert_eq!(
        lines(&s.deliver("b", "p")),
        [
            "claim x until 10.900000 fence 1".to_owned(),
            "x: fence 1 has {00000001@1:10.005000.0 00000002@1:10.005000.0}".to_owned(),
            "x: elected p fence 1".to_owned(),
            renewal("a"),
            renewal("b"),
            renewal("c"),
        ]
    );
}

/// Step 9: "if not a sufficient number of ok responses are received by C ≥ Start + (1 − ρ)δ,
/// then this instantiation of OQwBD failed": late oks elect nobody.
#[test]
fn step_9_late_oks_elect_nobody() {
    let mut s = Story::new();
    s.campaign("p");
    let oks: Vec<Letter> =
        GRANTORS.iter().flat_map(|to| s.deliver_and_take_answers("p", to)).collect();
    s.slip(ms(900));
    for ok in &oks {
        s.put(ok);
    }
    assert!(!s.leads("p"));
}

/// A renewal fails in the same way: the leadership ends at E, whether or not a timer fires.
#[test]
fn late_renewal_continues_no_leadership() {
    let mut s = Story::new();
    s.elect("p");
    let left = s.until("p").since(s.now("p"));
    s.pass(ms(340));
    let oks: Vec<Letter> =
        GRANTORS.iter().flat_map(|to| s.deliver_and_take_answers("p", to)).collect();
    assert!(oks.len() >= 3);
    s.slip(left - ms(340));
    let effects = s.put(&oks[0]);
    assert!(emitted(&effects).contains(&Event::Ended(End::Lost(Loss::Expired))));
    for ok in &oks[1..] {
        s.put(ok);
    }
    assert!(!s.leads("p"));
}

/// "Process p will stop believing it is leader before at most δ real time units have expired",
/// "q grants the lease for at least δ": with p slow and q fast by ρ, at the very ends of the
/// bound. Equation 15.
#[test]
fn slow_leader_stops_before_grantors() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver_all();
    s.drop_all();
    // After a real second the clock of p shows 0.9 s, and the grantors' clocks show 1.1 s.
    s.actor("p").clock = s.now("p").after(ms(900));
    for grantor in GRANTORS {
        s.actor(grantor).clock = s.now(grantor).after(ms(1_100) - Duration::from_nanos(1));
        assert_eq!(s.holder(grantor).as_deref(), Some("p"), "granted for δ real time");
    }
    assert!(!s.leads("p"), "and p has stopped");
}

/// "Process p can run OQwBD at any time. … Once aborted, responses for the earlier instantiation
/// of OQwBD will be ignored."
#[test]
fn responses_of_aborted_instantiations_are_ignored() {
    let mut s = Story::new();
    s.campaign("p");
    let oks: Vec<Letter> =
        GRANTORS.iter().flat_map(|to| s.deliver_and_take_answers("p", to)).collect();
    s.resign("p");
    s.slip(ms(1));
    s.campaign("p");
    for ok in &oks {
        assert_eq!(emitted(&s.put(ok)), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))]);
    }
    assert!(!s.leads("p"));
}

/// "Receivers do not interpret the clock value, but return it in the response."
#[test]
fn start_is_returned_and_not_interpreted() {
    let mut s = Story::new();
    for (who, start) in [("a", at(1)), ("b", at(77_001_000)), ("c", tenure_core::Time::MAX)] {
        let effects = s.ask("p", who, request(start));
        assert_eq!(granted(&effects).unwrap().start, start);
        assert_eq!(s.state(who).holder.unwrap().remaining, ms(1_100));
    }
}

/// "Note that no effort is made to detect process crashes": candidates wait out a crashed leader's
/// lease, and nothing shortens it.
#[test]
fn crashed_leaders_lease_runs_out() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(100));
    let remaining = s.state("a").holder.unwrap().remaining;
    s.actors.remove("p");
    s.run(remaining - ms(1));
    assert_eq!(s.leader(), None);
    s.run(ms(5));
    assert_eq!(s.leader(), Some("q"));
}

/// A duplicate of any message changes no standing.
#[test]
fn duplicates_change_no_standing() {
    let mut s = Story::new();
    s.campaign("p");
    let mut seen: Vec<Letter> = Vec::new();
    for _ in 0..200 {
        s.pass(ms(10));
        while !s.letters.is_empty() {
            let letter = s.letters.remove(0);
            s.put(&letter);
            seen.push(letter);
        }
    }
    assert!(s.leads("p"));
    let (standing, holders) = (s.standing("p"), GRANTORS.map(|grantor| s.holder(grantor)));
    for letter in &seen {
        let effects = s.put(letter);
        assert!(
            !effects
                .iter()
                .any(|effect| matches!(effect, Effect::Raise { .. } | Effect::Lower { .. }))
        );
        s.letters.retain(|l| !matches!(l.message, Message::Candidate(ToCandidate::Granted(_))));
    }
    assert_eq!(s.standing("p"), standing);
    assert_eq!(GRANTORS.map(|grantor| s.holder(grantor)), holders);
}

//! Section 4: clocks with bounded skew, OQwBS step by step, and what both clocks together promise.
//! ρ is 10 % and Δ 100 ms.

use tenure_core::nerio::{
    ClockFault, Command, Config, Event, Extra, Gone, Granted, Message, OwnEvent, Refusal, Request,
    Supervisor, WallGrant, WallStart,
};
use tenure_core::{End, Loss, Time, WallTime};

use crate::story::*;

const SKEW: std::time::Duration = std::time::Duration::from_millis(100);

fn settings() -> Config {
    let mut config = config(&GRANTORS);
    config.clock_skew_max = Some(SKEW);
    config
}

fn story() -> Story {
    Story::with(settings())
}

/// A request for 1 s with this Start on the wall clock.
fn at_wall(start: WallTime) -> Request {
    Request { wall: Some(WallStart { start, skew: SKEW }), ..request(at(10)) }
}

/// The rest that an ok tells.
fn rest(effects: &[tenure_core::nerio::Effect]) -> Option<std::time::Duration> {
    Some(granted(effects)?.wall?.rest)
}

/// The wall time at which all nodes start, with a lead in milliseconds.
fn wall(lead: i64) -> WallTime {
    wall_at(at(10_000), lead)
}

fn remaining(s: &mut Story, grantor: &'static str) -> std::time::Duration {
    s.state(grantor).holder.map_or(ms(0), |holder| holder.remaining)
}

/// Steps 1 to 3: the request carries Start on the wall clock.
#[test]
fn steps_1_to_3_carry_wall_time() {
    let mut s = story();
    s.actor("p").lead = Some(30);
    let asked = requests(&s.campaign("p"));
    assert_eq!(asked.len(), 3);
    let told = WallStart { start: wall(30), skew: SKEW };
    assert!(asked.iter().all(|request| request.wall == Some(told)), "{asked:?}");
}

/// Step 5: "if p ≠ A ∧ T < F, then ignore the request", by the wall clock of q.
#[test]
fn step_5_holds_until_wall_finish() {
    let mut s = story();
    s.ask("p", "a", at_wall(wall(0)));
    // 1 s for the lease, 100 ms for the skew, and a tenth of both for ρ.
    s.slip(ms(1_100));
    let other = |s: &Story| at_wall(s.actors["a"].wall().unwrap());
    let asked = other(&s);
    assert!(matches!(refusal(&s.ask("q", "a", asked)), Some(Refusal::Held { .. })));
    s.slip(ms(113));
    s.step("a", tenure_core::Input::Timeout);
    let asked = other(&s);
    assert!(granted(&s.ask("r", "a", asked)).is_none(), "q waited and was first");
    assert_eq!(s.holder("a").as_deref(), Some("q"));
}

/// Step 6: `F := max(F, Start + δ + Δ)`: a late request gets the rest of its lease, not δ.
#[test]
fn step_6_late_request_gets_the_rest() {
    let mut s = story();
    let early = wall(0);
    s.slip(ms(700));
    let effects = s.ask("p", "a", at_wall(early));
    assert_eq!(rest(&effects), Some(ms(400)), "1 s + 100 ms − 700 ms");
    assert_eq!(remaining(&mut s, "a"), ms(442), "a tenth more, and 2 ms");
}

/// Step 6: a grantor counts from a Start as it is, even if the sender's clock is ahead or behind.
#[test]
fn step_6_counts_from_foreign_start() {
    for (lead, told) in [(100, 1_200), (0, 1_100), (-100, 1_000)] {
        let mut s = story();
        let effects = s.ask("p", "a", at_wall(wall(lead)));
        assert_eq!(rest(&effects), Some(ms(told)), "{lead}");
    }
}

/// Equation 16: F never goes back, on either clock.
#[test]
fn f_never_decreases() {
    let mut s = story();
    s.ask("p", "a", at_wall(wall(100)));
    let before = remaining(&mut s, "a");
    let short = Request { start: at(11), delta: ms(1), lease: ms(1), ..at_wall(wall(0)) };
    s.ask("p", "a", short);
    assert_eq!(remaining(&mut s, "a"), before);
    // The wall clock of a is set back: the later end counts, not the end of the short lease.
    s.actor("a").lead = Some(-1_000);
    assert!(remaining(&mut s, "a") >= ms(2_200));
}

/// Steps 7 and 8: `E := Start + δ` on the wall clock; by the other clock the claim has ended at
/// `Start + (1 − ρ)δ`.
#[test]
fn step_8_claim_ends_on_both_clocks() {
    let mut s = story();
    s.actor("p").lead = Some(-40);
    s.campaign("p");
    let (start, shown) = (s.now("p"), s.actors["p"].wall().unwrap());
    s.slip(ms(20));
    s.deliver_all();
    assert_eq!(s.actor("p").bounds[0], shown.after(ms(1_000)));
    assert_eq!(s.actor("p").claims[0].0, start.after(ms(900)));
}

/// Step 9: oks at E elect nobody, whichever clock shows E first.
#[test]
fn step_9_late_oks_elect_nobody() {
    for (passed, ahead) in [(900, 0), (100, 900)] {
        let mut s = story();
        s.campaign("p");
        let to_p = |to: &'static str, s: &mut Story| s.deliver_and_take_answers("p", to);
        let oks: Vec<Letter> = GRANTORS.iter().flat_map(|to| to_p(to, &mut s)).collect();
        s.slip(ms(passed));
        s.actor("p").lead = Some(ahead);
        oks.iter().for_each(|ok| drop(s.put(ok)));
        assert!(!s.leads("p"), "{passed} ms, and {ahead} ms ahead");
    }
}

/// Equation 20: clocks as far apart as they may be, either way. The claim ends before each grant,
/// although the clock of the leader counts no time at all.
#[test]
fn walls_within_skew_suffice() {
    for (leader, grantors) in [(50, -50), (-50, 50)] {
        let mut s = story();
        s.actor("p").lead = Some(leader);
        GRANTORS.iter().for_each(|grantor| s.actor(grantor).lead = Some(grantors));
        s.campaign("p");
        s.deliver_all();
        assert!(s.leads("p"));
        let ends = *s.actor("p").bounds.last().unwrap();
        // The wall clock of p moves on to E, and its other clock stands still.
        let passed = ends.since(s.actors["p"].wall().unwrap());
        for grantor in GRANTORS {
            s.actor(grantor).clock = s.now(grantor).after(passed);
            assert_eq!(s.holder(grantor).as_deref(), Some("p"), "{leader}, {grantors}");
        }
    }
}

/// Rates within ρ suffice: the wall clock of a grantor is far ahead, so it grants for a short rest
/// only, and the leader claims no more than this rest.
#[test]
fn claim_lasts_for_the_rest() {
    let mut s = story();
    GRANTORS.iter().for_each(|grantor| s.actor(grantor).lead = Some(600));
    s.campaign("p");
    let start = s.now("p");
    // Below, the wall clock of p moves 500 ms ahead, too: to p the requests seem to have taken so
    // long.
    let requests: Vec<Letter> = GRANTORS.iter().flat_map(|to| s.take("p", to)).collect();
    requests.iter().for_each(|request| drop(s.put(request)));
    let oks: Vec<Letter> = GRANTORS.iter().flat_map(|from| s.take(from, "p")).collect();
    s.actor("p").lead = Some(500);
    oks.iter().for_each(|ok| drop(s.put(ok)));
    // The grants last for Start + δ + Δ − C = 1 s + 100 ms − 600 ms.
    assert_eq!(s.actor("p").claims.first().map(|claim| claim.0), Some(start.after(ms(450))));
}

/// A request that has waited counts from its arrival: parked requests cost no lease.
#[test]
fn waiting_request_counts_from_arrival() {
    let mut s = story();
    s.ask("q", "a", at_wall(wall(0)));
    s.ask("p", "a", at_wall(wall(0)));
    s.slip(ms(250));
    let effects = s.tell("q", "a", release(at(10)));
    assert_eq!(rest(&effects), Some(ms(1_100)));
    assert_eq!(remaining(&mut s, "a"), ms(962), "1.1 · 1,100 ms + 2 ms, less 250 ms");
}

/// A Start from the future proves that a clock is wrong: the grantor refuses, and says so.
#[test]
fn future_start_is_refused() {
    let mut s = story();
    let effects = s.ask("p", "a", at_wall(wall(100)));
    assert!(granted(&effects).is_some(), "no proof yet");
    let effects = s.ask("q", "b", at_wall(wall(101)));
    let fault = ClockFault::Ahead { by: ms(101), skew: SKEW };
    assert_eq!(refusal(&effects), Some(Refusal::Clock(fault.clone())));
    let event = OwnEvent::ClocksApart { who: name("q"), fault: Box::new(fault) };
    assert!(emitted(&effects).contains(&Event::Own(event)));
}

/// An ok from the future proves the same: it does not count, and the candidate says so.
#[test]
fn future_ok_does_not_count() {
    let mut s = story();
    for (grantor, lead) in [("a", 101), ("b", 101), ("c", 100)] {
        s.actor(grantor).lead = Some(lead);
    }
    s.campaign("p");
    s.deliver_all();
    assert!(!s.leads("p"), "the ok of c is alone");
    let fault = ClockFault::Behind { by: ms(101), skew: SKEW };
    let event = OwnEvent::ClocksApart { who: name("a"), fault: Box::new(fault) };
    assert!(s.events("p").contains(&Event::Own(event)));
    s.actor("a").lead = Some(100);
    s.run(ms(400));
    assert!(s.leads("p"), "a counts again");
}

/// A request whose lease is over is not granted.
#[test]
fn lapsed_request_is_refused() {
    let mut s = story();
    let early = wall(0);
    s.slip(ms(1_099));
    assert!(granted(&s.ask("p", "a", at_wall(early))).is_some());
    s.slip(ms(1));
    let fault = ClockFault::Late { by: ms(0) };
    assert_eq!(refusal(&s.ask("p", "b", at_wall(early))), Some(Refusal::Clock(fault)));
}

/// All nodes must have one Δ: the oks of others do not count, nor are their requests granted.
#[test]
fn other_bound_is_refused() {
    let mut s = story();
    let other = Some(WallStart { start: wall(0), skew: ms(200) });
    for told in [None, other] {
        let effects = s.ask("p", "a", Request { wall: told, ..request(at(10)) });
        let candidate = told.map(|told| told.skew);
        let fault = ClockFault::OtherBound { candidate, grantor: Some(SKEW) };
        assert_eq!(refusal(&effects), Some(Refusal::Clock(fault)));
    }
    let mut without = Story::new();
    let fault = ClockFault::OtherBound { candidate: Some(SKEW), grantor: None };
    assert_eq!(refusal(&without.ask("p", "a", at_wall(wall(0)))), Some(Refusal::Clock(fault)));
    s.drop_all();
    s.campaign("p");
    for grantor in GRANTORS {
        for letter in s.deliver_and_take_answers("p", grantor) {
            let Message::Candidate(tenure_core::nerio::ToCandidate::Granted(ok)) = letter.message
            else {
                panic!("not granted");
            };
            let other = ok.wall.map(|wall| WallGrant { skew: ms(99), ..wall });
            s.tell(grantor, "p", Message::from(Granted { wall: other, ..ok.clone() }));
            s.tell(grantor, "p", Message::from(Granted { wall: None, ..ok }));
        }
    }
    assert!(!s.leads("p"));
}

/// The leader's wall clock is set ahead, and shows E: the claim ends with the next input.
#[test]
fn clock_set_ahead_ends_claim() {
    let mut s = story();
    s.elect("p");
    s.actor("p").lead = Some(999);
    s.step("p", tenure_core::Input::Timeout);
    assert!(!s.leads("p"));
    let ended = Event::Ended(End::Lost(Loss::Expired));
    assert!(s.events("p").contains(&ended));
}

/// The claim ends early, but the work of the leader keeps its grace until the end that its guard
/// was shown. No grantor is free before that end.
#[test]
fn release_waits_for_shown_end() {
    let mut s = story();
    s.elect("p");
    let shown = s.until("p");
    s.campaign("q");
    s.actor("p").lead = Some(999);
    s.step("p", tenure_core::Input::Timeout);
    assert!(!s.leads("p"));
    holds_until(&mut s, shown);
}

/// A handle finds the claim lapsed, and the wall clock is set right before its node reads it.
#[test]
fn lapsed_claim_keeps_its_grace() {
    let mut s = story();
    s.elect("p");
    let shown = s.until("p");
    s.campaign("q");
    s.command("p", Command::Extra(Extra::Lapsed));
    assert!(!s.leads("p"));
    holds_until(&mut s, shown);
}

/// The grants of p last until p's clock shows `end`, and q leads soon after.
fn holds_until(s: &mut Story, end: Time) {
    let left = end.since(s.now("p"));
    s.run(left.saturating_sub(ms(1)));
    for grantor in GRANTORS {
        assert_eq!(s.holder(grantor).as_deref(), Some("p"));
    }
    s.run(ms(20));
    assert!(s.leads("q"), "{:?}", s.events("q"));
}

/// The leader's wall clock is set back by an hour: the claim ends by the other clock.
#[test]
fn clock_set_back_prolongs_no_claim() {
    let mut s = story();
    s.elect("p");
    let until = s.until("p");
    s.actor("p").lead = Some(-3_600_000);
    let left = until.since(s.now("p"));
    s.pass(left);
    assert!(!s.leads("p"));
    assert_eq!(s.actor("p").claims.iter().map(|claim| claim.0).max(), Some(until));
}

/// The grantor's wall clock is set back: its grant lasts until that clock shows F. While the wall
/// clock is ahead or right, the other clock counts.
#[test]
fn clock_set_back_prolongs_grant() {
    let mut s = story();
    s.ask("p", "a", at_wall(wall(0)));
    let before = remaining(&mut s, "a");
    s.actor("a").lead = Some(-150);
    assert!(remaining(&mut s, "a") >= before + ms(150));
    for lead in [500, 0] {
        s.actor("a").lead = Some(lead);
        assert_eq!(remaining(&mut s, "a"), before, "as if it had not been set");
    }
}

/// A grantor renews while its wall clock is set back. Once the clock is right again, the step does
/// not lengthen the grant.
#[test]
fn renewal_keeps_no_step() {
    let mut s = story();
    s.ask("p", "a", at_wall(wall(0)));
    let before = remaining(&mut s, "a");
    s.actor("a").lead = Some(-90);
    s.ask("p", "a", Request { start: at(11), delta: ms(1), lease: ms(1), ..at_wall(wall(0)) });
    assert!(remaining(&mut s, "a") >= before + ms(90));
    s.actor("a").lead = Some(0);
    assert_eq!(remaining(&mut s, "a"), before);
}

/// A grant that has ended does not come back with the clock.
#[test]
fn ended_grant_stays_over() {
    let mut s = story();
    s.ask("p", "a", at_wall(wall(0)));
    let left = remaining(&mut s, "a");
    s.slip(left);
    s.actor("a").lead = Some(-3_600_000);
    assert_eq!(s.holder("a"), None);
}

/// After an earlier grant has ended early, a request for a tenth of a lease is granted for no
/// longer than that.
fn next_grant_is_short(s: &mut Story) {
    let tenth = ms(100);
    s.ask("q", "a", Request { delta: tenth, lease: tenth, ..at_wall(wall(0)) });
    assert_eq!(s.holder("a").as_deref(), Some("q"));
    assert!(remaining(s, "a") < ms(400));
}

/// A grant that was given back does not come back with the clock.
#[test]
fn released_grant_stays_released() {
    let mut s = story();
    s.ask("p", "a", at_wall(wall(0)));
    s.tell("p", "a", release(at(10)));
    s.actor("a").lead = Some(-90);
    assert_eq!(s.holder("a"), None);
    next_grant_is_short(&mut s);
}

/// The grant of a process that has ended does not come back with the clock, either.
#[test]
fn grant_of_ended_process_stays_over() {
    let mut s = story();
    let supervisor = Supervisor { name: name("b") };
    s.tell("p", "a", Message::from(supervisor));
    s.ask("p", "a", at_wall(wall(0)));
    let who = s.who("p");
    s.tell("b", "a", Message::from(Gone { who }));
    s.actor("a").lead = Some(-90);
    assert_eq!(s.holder("a"), None);
    next_grant_is_short(&mut s);
}

/// A repeated request gets the same ok, with the rest at the first arrival.
#[test]
fn repeated_ok_tells_same_rest() {
    let mut s = story();
    let asked = at_wall(wall(0));
    let first = rest(&s.ask("p", "a", asked.clone()));
    s.slip(ms(300));
    assert_eq!(rest(&s.ask("p", "a", asked)), first);
    assert_eq!(first, Some(ms(1_100)));
}

/// A grantor that has started again knows no end on the wall clock: it repeats no ok without such
/// an end, but grants the next request.
#[test]
fn restarted_grantor_repeats_no_ok() {
    let mut s = story();
    s.has_granted("a");
    s.ask("p", "a", at_wall(wall(0)));
    s.restart("a");
    s.drop_all();
    let effects = s.ask("p", "a", at_wall(wall(0)));
    assert!(granted(&effects).is_none() && refusal(&effects).is_none());
    let effects = s.ask("p", "a", Request { start: at(11), ..at_wall(wall(0)) });
    assert_eq!(rest(&effects), Some(ms(1_100)));
}

/// A grantor that has forgotten its grants waits for 2Δ more: the Start of a forgotten request may
/// have been Δ ahead of its clock, and E of the leader is another Δ later on that clock.
#[test]
fn quarantine_covers_skew() {
    let mut s = story();
    s.has_granted("a");
    s.reboot("a");
    let quarantined = s.events("a").iter().find_map(|event| match event {
        Event::Own(OwnEvent::Quarantined { until }) => Some(*until),
        _ => None,
    });
    // δ_max is 2 s.
    assert_eq!(quarantined, Some(Time::from_nanos(1_000_000_000).after(ms(2_420))));
}

/// Edicts, releases and renewals go on as without a bound on skew.
#[test]
fn leader_renews_and_hands_over() {
    let mut s = story();
    s.actor("p").lead = Some(50);
    s.actor("b").lead = Some(-50);
    s.elect("p");
    s.run(ms(5_000));
    assert!(s.leads("p"));
    s.campaign("q");
    s.run(ms(100));
    s.resign("p");
    s.run(ms(10));
    assert!(s.leads("q"));
}

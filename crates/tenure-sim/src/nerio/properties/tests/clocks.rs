//! Facts that break a property in worlds with a bound on skew.

use std::time::Duration;

use tenure_core::nerio::{Inc, Request, Sender, WallStart};
use tenure_core::{LeaderView, Time, View, WallTime};

use super::super::grants_last::GrantsLast;
use super::super::observers_see_what_is::ObserversSeeWhatIs;
use super::super::verification_never_overstates::VerificationNeverOverstates;
use super::*;
use crate::nerio::walls::{ALLOWANCE, Walls, wall_reaches};
use crate::world::EPOCH;
use crate::world::conditions::Incident;

const SECOND: u64 = 1_000_000_000;

/// A world with a bound on skew, clocks that are right, and members that stay.
fn quiet() -> Run<QuorumLeases> {
    let mut plans = (1..10_000).map(|seed| Worlds::default().plan(seed));
    let of = |plan: &Plan| plan.own.walls == Walls::Within && !plan.own.focus.changes();
    let mut plan = plans.find(of).unwrap();
    plan.conditions.incidents.clear();
    plan.conditions.sites.iter_mut().for_each(|site| site.wall = 0);
    Run::new(plan)
}

/// The clocks of a node whose wall clock is right.
fn read(at: u64) -> Read {
    Read { at, local: Time::from_nanos(at), wall: WallTime::from_nanos(EPOCH + at) }
}

/// Sets the wall clock of the first node back by so much at this time.
fn set_back(run: &mut Run<QuorumLeases>, at: u64, by: u64) {
    let ahead = -by.cast_signed();
    run.plan.conditions.incidents.push((at, Incident::Step { node: 0, ahead }));
}

/// The complaint about a grant of the first member to the second member, decided with these clocks.
/// The grant lasts `longer` nanoseconds more than the request asks for.
fn grant_longer_by(run: &mut Run<QuorumLeases>, decided: Read, longer: u64) -> Option<String> {
    let config = run.plan.config().clone();
    let (skew, delta) = (config.clock_skew_max.unwrap(), config.lease);
    let of = record(run, 1);
    let request = Request {
        election: of.election.clone(),
        start: of.start,
        delta,
        lease: delta,
        first: of.start,
        fence: Fence::NONE,
        announced: None,
        priority: 0,
        leading: false,
        next: None,
        value: of.value.clone(),
        wall: Some(WallStart { start: WallTime::from_nanos(EPOCH), skew }),
    };
    let (proved, epoch) = (true, first(run));
    let from = Sender { who: of.holder.clone(), address: of.address, proved, epoch };
    let rest = config.drift.stretch(delta + skew);
    let finish = Time::from_nanos(longer).after(rest).after(ALLOWANCE);
    let record = GrantRecord { finish, ..of };
    let (local, wall) = (Time::ZERO, WallTime::from_nanos(EPOCH));
    let asks = Own::Asks { grantor: 0, election: 0, from: &from, request: &request, local, wall };
    let (grantor, finish) = (0, finish.as_nanos());
    let granted = Own::Granted { grantor, election: 0, record: &record, finish, read: decided };
    says::<GrantsLast>(run, &[(0, Fact::Own(asks)), (decided.at, Fact::Own(granted))])
}

#[test]
fn grant_past_both_clocks_is_noticed() {
    assert_eq!(grant_longer_by(&mut quiet(), read(0), 0), None);
    for longer in [1, SECOND] {
        let said = grant_longer_by(&mut quiet(), read(0), longer).unwrap_or_default();
        assert!(said.contains("which is not what was asked for"), "{said:?}");
    }
}

/// The request has waited while the wall clock was set back: the grant ends by that clock.
#[test]
fn grant_follows_clock_set_back() {
    let drift = quiet().plan.config().drift;
    let behind = Read { wall: WallTime::from_nanos(EPOCH - SECOND), ..read(0) };
    let longer = drift.stretch(Duration::from_secs(1)).as_nanos() as u64;
    // The grantor may round the sum of the spans once; this test rounds each span.
    let fits = |longer| grant_longer_by(&mut quiet(), behind, longer).is_none();
    assert!((longer - 1..=longer).any(fits));
    assert!(!fits(0) && !fits(longer + 1));
}

/// The complaint about a verification that promises this end, of a leadership with these ends.
fn verifies(run: &mut Run<QuorumLeases>, until: u64, alone: u64, wall: u64) -> Option<String> {
    lead(run, 1);
    let led = &mut run.history.elections[0].leaderships[0];
    led.own = Details { alone, wall: Some(WallTime::from_nanos(EPOCH + wall)), ..led.own.clone() };
    led.own.read = read(0);
    led.until = until;
    let leader = &who(run, 1);
    let verified = Own::Verified { election: 0, leader, until, fence: None };
    says::<VerificationNeverOverstates>(run, &[(1, Fact::Own(verified))])
}

#[test]
fn verification_past_either_clock_is_noticed() {
    assert_eq!(verifies(&mut quiet(), END, END, END), None);
    for (alone, wall) in [(END, 2 * END), (2 * END, END)] {
        let said = verifies(&mut quiet(), END + 1, alone, wall).unwrap_or_default();
        assert!(said.contains("but its grants end"), "{said:?}");
    }
}

/// The complaint about a view of the second member as leader until this time.
fn views(run: &mut Run<QuorumLeases>, until: u64) -> Option<String> {
    let of = record(run, 1);
    let leader = LeaderView {
        id: of.holder.name.clone().into(),
        value: of.value.clone().into(),
        fence: Some(Fence::NONE),
        until: Some(Time::from_nanos(until)),
        incarnation: Some(Inc(1).0),
        address: Some(of.address),
        leaving: None,
        heard: None,
    };
    let view = View::Leader(leader);
    let granted = |grantor| {
        let (record, finish, read) = (&of, END, read(0));
        Fact::Own(Own::Granted { grantor, election: 0, record, finish, read })
    };
    let mut facts: Vec<_> = members(run).map(|grantor| (0, granted(grantor))).collect();
    let viewed = Fact::Viewed { node: 0, election: 0, view: &view, until, looked: 2 };
    facts.push((2, viewed));
    says::<ObserversSeeWhatIs>(run, &facts)
}

#[test]
fn view_past_lengthened_grants_is_noticed() {
    let drift = quiet().plan.config().drift;
    let longer = |by| drift.real_at_most(drift.stretch(2 * ALLOWANCE + by)).as_nanos() as u64;
    let right = END + longer(Duration::ZERO);
    assert_eq!(views(&mut quiet(), right), None);
    let said = views(&mut quiet(), right + 1).unwrap_or_default();
    assert!(said.contains("granted it until then"), "{said:?}");
    let mut run = quiet();
    for node in members(&run) {
        let ahead = -SECOND.cast_signed();
        run.plan.conditions.incidents.push((1, Incident::Step { node, ahead }));
    }
    let set_back = END + longer(Duration::from_secs(1));
    assert_eq!(views(&mut run, set_back), None);
    assert!(views(&mut run, set_back + 1).is_some());
}

#[test]
fn set_back_counts_from_reading() {
    let mut run = quiet();
    set_back(&mut run, 10, 5);
    set_back(&mut run, 20, 7);
    let behind = |since, now| read(1).set_back(&run.plan.conditions, 0, since, now);
    assert_eq!([behind(1, 9), behind(1, 10), behind(1, 20), behind(21, 30)], [0, 5, 7, 7]);
    assert_eq!(read(1).set_back(&run.plan.conditions, 1, 1, 30), 0);
}

/// A clock that shows an end, and is set back, shows the end a second time.
#[test]
fn claim_may_outlast_set_back() {
    let mut run = quiet();
    set_back(&mut run, 10, 5);
    set_back(&mut run, 30, 2);
    let reaches = |end| {
        let end = WallTime::from_nanos(EPOCH + end);
        wall_reaches(&run.plan.conditions, 0, 1, 0, end)
    };
    assert_eq!([4, 8, 20, 26, 28, 40].map(reaches), [4, 13, 25, 30, 30, 42]);
}

//! Facts that break a promise, for each promise. `tests/worlds.rs` shows that worlds produce such
//! facts, and that the promises about leaders notice them.

use tenure_core::nerio::Nerio;
use tenure_core::{End, Loss, Time};

use super::{
    BoundedMemory, Check, Claim, EventsCome, Fact, LeaderInTheEnd, Observers, Property, Scenario,
    Stability,
};
use crate::nerio::{QuorumLeases, Worlds};
use crate::scenario::Run;
use crate::sweep::Source;
use crate::world::node::Node;

type TimedFact<'a> = (u64, Fact<'a, QuorumLeases>);

/// A world without any event.
fn quiet() -> Run<QuorumLeases> {
    Run::new(Worlds::default().plan(1))
}

fn begun<P: Property<QuorumLeases>>(run: &Run<QuorumLeases>) -> P {
    let mut promise = P::default();
    promise.begin(&run.plan);
    promise
}

#[track_caller]
fn says<P>(mut promise: P, run: &Run<QuorumLeases>, facts: &[TimedFact<'_>], what: &str)
where
    P: Property<QuorumLeases>,
{
    let Run { plan, history, apps, own, .. } = run;
    let mut judged = facts
        .iter()
        .map(|(now, fact)| promise.see(&Check { now: *now, plan, history, apps, own }, *fact));
    let said = judged.find_map(Result::err).unwrap_or_default();
    assert!(said.contains(what), "{said:?}, and not {what:?}");
}

#[test]
fn missed_vacancy_is_noticed() {
    let run = quiet();
    let begins = Fact::Observes { node: 0, election: 0, begins: true };
    let facts = [(0, begins), (run.plan.conditions.end, Fact::Moment)];
    says::<Observers>(begun(&run), &run, &facts, "does not see that");
}

#[test]
fn missing_leader_is_noticed() {
    let mut run = quiet();
    let can_lead = |node: &usize| QuorumLeases::can_lead(&run.plan, *node);
    let node = (0..run.apps.len()).find(can_lead).unwrap();
    run.apps[node][0].campaigning = true;
    let facts = [(run.plan.settled, Fact::Moment)];
    says::<LeaderInTheEnd>(begun(&run), &run, &facts, "nobody leads");
}

#[test]
fn unstable_leader_is_noticed() {
    let run = quiet();
    let end = &End::Lost(Loss::Expired);
    let ended = Fact::Ended { node: 0, election: 0, end, decided: run.plan.settled };
    let facts = [(run.plan.settled, ended)];
    says::<Stability>(begun(&run), &run, &facts, "though nothing goes wrong");
}

fn core(run: &Run<QuorumLeases>) -> Nerio {
    match run.own.node(&run.plan, 0, &run.plan.conditions.sites[0].clock) {
        Node::Process(core) => core,
        Node::Service(_) => panic!("the first node is a member"),
    }
}

#[test]
fn missing_events_are_noticed() {
    let run = quiet();
    let core = &core(&run);
    let ends = Time::from_nanos(10);
    let claim = Claim {
        node: 0,
        life: 1,
        election: 0,
        fence: None,
        term: 0,
        until: 10,
        ends,
        alone: 10,
        wall: None,
        decided: 0,
    };
    let handled = Fact::Handled { node: 0, core, timer: None };
    let raised = [(1, Fact::Claimed(claim)), (2, handled)];
    says::<EventsCome>(begun(&run), &run, &raised, "did not say that it is elected");
    let elected = Fact::Elected { node: 0, election: 0, id: "a", decided: 0, read: Time::ZERO };
    let unsettled = [(1, elected), (run.plan.retired - 1, Fact::Moment)];
    says::<EventsCome>(begun(&run), &run, &unsettled, "did not settle");
    let ended = Fact::Ended { node: 0, election: 0, end: &End::Withdrawn, decided: 0 };
    let unreleased = [(1, ended), (run.plan.conditions.end, Fact::Moment)];
    says::<EventsCome>(begun(&run), &run, &unreleased, "was not released");
}

#[test]
fn unbounded_core_is_noticed() {
    let run = quiet();
    let core = &core(&run);
    let mut promise: BoundedMemory = begun(&run);
    promise.limit.bytes = 10;
    let handled = (1, Fact::Handled { node: 0, core, timer: None });
    let facts = vec![handled; promise.limit.every as usize];
    says(promise, &run, &facts, "10 are enough for its limits");
}

//! Facts that break a property of changing members, for each of these properties.

mod clocks;

use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{
    Accept, Boot, Current, Document, EpochId, GrantRecord, Granted, Inc, Instance, Mark, Message,
    Origin, Seat, Sender, Service, Stamp, Who,
};
use tenure_core::{Fence, Time};

use super::answers_name_memories::AnswersNameMemories;
use super::changes_end::ChangesEnd;
use super::claims_stand_on_grants::ClaimsStandOnGrants;
use super::epochs_end_once::EpochsEndOnce;
use super::heard_members_stay::HeardMembersStay;
use super::one_successor::OneSuccessor;
use super::rests_cover_claims::RestsCoverClaims;
use super::{Check, Claim, Details, Disk, Fact, Leadership, Own, Plan, Property, QuorumLeases};
use crate::nerio::Worlds;
use crate::nerio::focus::Focus;
use crate::nerio::walls::Read;
use crate::scenario::Run;
use crate::sweep::Source;

type TimedFact<'a> = (u64, Fact<'a>);

/// End of all leases of these tests.
const END: u64 = 1_000;

/// A world whose members change, before its first event.
fn quiet() -> Run<QuorumLeases> {
    let mut plans = (1..1_000).map(|seed| Worlds::default().plan(seed));
    Run::new(plans.find(|plan| plan.own.focus == Focus::Change).unwrap())
}

/// The first complaint of a property about these facts.
fn says<P: Property<QuorumLeases>>(
    run: &mut Run<QuorumLeases>,
    facts: &[TimedFact<'_>],
) -> Option<String> {
    let mut property = P::default();
    property.begin(&run.plan);
    facts.iter().find_map(|(now, fact)| {
        let now = *now;
        let Run { plan, history, apps, own, .. } = &mut *run;
        let said = property.see(&Check { now, plan, history, apps, own }, *fact).err();
        if let Fact::Own(fact) = fact {
            own.note_own(history, now, *fact);
        }
        said
    })
}

#[track_caller]
fn breaks<P>(run: &mut Run<QuorumLeases>, facts: &[TimedFact<'_>], what: &str)
where
    P: Property<QuorumLeases>,
{
    let said = says::<P>(run, facts).unwrap_or_default();
    assert!(said.contains(what), "{said:?}, and not {what:?}");
}

fn memory(grantor: usize) -> Instance {
    Instance(grantor as u128 + 1)
}

/// A document of the first `count` members that follows epoch 0.
fn successor(run: &Run<QuorumLeases>, count: usize) -> Document {
    let before = run.plan.membership().document().clone();
    let seats = before.seats.iter().take(count).enumerate();
    let seat = |(grantor, seat): (usize, &Seat)| {
        let instance = Some(memory(grantor));
        Seat { instance, ..seat.clone() }
    };
    let seats = seats.map(seat).collect();
    let (id, origin) = (before.id(), Origin::Changed);
    Document { number: 1, before: id, founding: id.digest, origin, seats, ..before }
}

fn first(run: &Run<QuorumLeases>) -> EpochId {
    run.plan.membership().id()
}

/// The first start of a member.
fn opens<'a>(grantor: usize) -> Fact<'a> {
    let instance = memory(grantor);
    let (knows_fences, entered, wedged) = (true, None, false);
    Fact::Own(Own::Opens { grantor, knows_fences, instance, entered, wedged })
}

fn accepts(grantor: usize, epoch: EpochId, counter: u64, successor: &Document) -> Fact<'_> {
    let ballot = Ballot { counter, inc: Inc(1) };
    Fact::Own(Own::Accepts { grantor, epoch, ballot, successor })
}

fn enters(grantor: usize, document: &Document) -> Fact<'_> {
    Fact::Own(Own::Enters { grantor, document })
}

fn who(run: &Run<QuorumLeases>, node: usize) -> Who {
    Who { name: run.plan.nodes[node].name.clone(), inc: Inc(1) }
}

fn record(run: &Run<QuorumLeases>, node: usize) -> GrantRecord {
    let holder = who(run, node);
    GrantRecord {
        election: run.plan.elections[0].clone(),
        address: run.plan.nodes[node].address,
        value: holder.name.as_str().parse().unwrap(),
        holder,
        start: Time::from_nanos(1),
        finish: Time::from_nanos(END),
        stamp: Stamp { boot: Boot(1), clock: Time::from_nanos(1), counter: 0 },
        priority: 0,
        leading: false,
        announced: None,
        accepted: true,
        fence_seen: Fence::NONE,
        fence_owner: None,
    }
}

fn grants(grantor: usize, record: &GrantRecord) -> Fact<'_> {
    let read = Read::default();
    Fact::Own(Own::Granted { grantor, election: 0, record, finish: END, read })
}

/// Notes that the node leads.
fn lead(run: &mut Run<QuorumLeases>, node: usize) {
    let (who, first, read) = (who(run, node), Time::ZERO, Read::default());
    let own = Details { who, first, released: None, promised: 0, alone: END, wall: None, read };
    let (life, fence, term) = (1, None, 0);
    let (from, until, backed) = (0, END, END);
    let led = Leadership { node, life, fence, term, from, until, backed, own };
    run.history.elections[0].leaderships.push(led);
}

fn members(run: &Run<QuorumLeases>) -> std::ops::Range<usize> {
    0..run.plan.members()
}

#[test]
fn second_successor_is_noticed() {
    let mut run = quiet();
    let count = run.plan.members();
    let (one, other) = (successor(&run, count), successor(&run, count - 1));
    let facts = [(1, enters(0, &one)), (2, enters(1, &other))];
    breaks::<OneSuccessor>(&mut run, &facts, "enters epoch 1 with digest");
}

#[test]
fn return_to_earlier_epoch_is_noticed() {
    let mut run = quiet();
    let later = successor(&run, 1).id();
    let switches = |epoch| Fact::Own(Own::Switches { node: 0, epoch });
    let facts = [(1, switches(later)), (2, switches(first(&run)))];
    breaks::<OneSuccessor>(&mut run, &facts, "go back from epoch 1 to 0");
}

#[test]
fn grant_after_acceptance_is_noticed() {
    let mut run = quiet();
    let (next, epoch) = (successor(&run, 1), first(&run));
    let record = record(&run, 0);
    let facts = [(1, opens(0)), (2, accepts(0, epoch, 1, &next)), (3, grants(0, &record))];
    breaks::<EpochsEndOnce>(&mut run, &facts, "although it has accepted the next epoch");
}

/// The complaint of the property when all members accept the successor by these ballots, and one
/// member enters it.
fn entry_after(ballot: impl Fn(usize) -> u64) -> Option<String> {
    let mut run = quiet();
    let (next, epoch) = (successor(&run, 1), first(&run));
    let starts = members(&run).map(|grantor| (1, opens(grantor)));
    let votes = members(&run).map(|grantor| (2, accepts(grantor, epoch, ballot(grantor), &next)));
    let mut facts: Vec<_> = starts.chain(votes).collect();
    facts.push((3, enters(0, &next)));
    says::<EpochsEndOnce>(&mut run, &facts)
}

#[test]
fn mixed_ballots_end_nothing() {
    let apart = entry_after(|grantor| grantor as u64 + 1).unwrap_or_default();
    assert!(apart.contains("no quorum of epoch 0"), "{apart:?}");
    assert_eq!(entry_after(|_| 9), None);
}

/// The leader stands on grants of epoch 0, and a member of epoch 1 grants to another candidate.
#[test]
fn forgotten_rest_is_noticed() {
    let mut run = quiet();
    let next = successor(&run, 1);
    let (one, other) = (record(&run, 0), record(&run, 1));
    lead(&mut run, 0);
    let start = members(&run).flat_map(|grantor| [(1, opens(grantor)), (1, grants(grantor, &one))]);
    let mut facts: Vec<_> = start.collect();
    facts.extend([(2, enters(0, &next)), (3, grants(0, &other))]);
    breaks::<RestsCoverClaims>(&mut run, &facts, "by grants of an earlier epoch");
}

/// Half of the grants are of epoch 0, and half of epoch 1.
#[test]
fn claim_on_two_epochs_is_noticed() {
    let mut run = quiet();
    let count = run.plan.members();
    let (next, one) = (successor(&run, count), record(&run, 0));
    let mut facts: Vec<_> = members(&run).map(|grantor| (1, opens(grantor))).collect();
    for grantor in members(&run) {
        if grantor % 2 == 1 {
            facts.push((2, enters(grantor, &next)));
        }
        facts.push((3, grants(grantor, &one)));
    }
    if count % 2 == 1 {
        // Without this removal the grants of epoch 0 would be a quorum.
        facts.retain(|(_, fact)| !matches!(fact, Fact::Own(Own::Granted { grantor: 0, .. })));
    }
    run.own.who[0] = who(&run, 0);
    let (node, life, election, fence, term) = (0, 1, 0, None, 0);
    let ends = Time::from_nanos(END);
    let (until, alone, wall, decided) = (END, END, None, 4);
    let claim = Claim { node, life, election, fence, term, until, ends, alone, wall, decided };
    facts.push((4, Fact::Claimed(claim)));
    breaks::<ClaimsStandOnGrants>(&mut run, &facts, "claims");
}

#[test]
fn endless_wedge_is_noticed() {
    let mut run = quiet();
    let (next, epoch) = (successor(&run, 1), first(&run));
    run.history.lives[0] = Some(1);
    let settled = run.plan.settled;
    let wedged = [(1, opens(0)), (2, accepts(0, epoch, 1, &next)), (settled, Fact::Moment)];
    breaks::<ChangesEnd>(&mut run, &wedged, "waits for the decision on the epoch after 0");
}

#[test]
fn missing_entry_is_noticed() {
    let mut run = quiet();
    let next = successor(&run, 2);
    run.history.lives[0] = Some(1);
    let settled = run.plan.settled;
    let facts = [(1, opens(0)), (1, opens(1)), (2, enters(1, &next)), (settled, Fact::Moment)];
    breaks::<ChangesEnd>(&mut run, &facts, "has not entered epoch 1");
}

/// A member of epoch 1 has kept its marks of epoch 0.
#[test]
fn old_mark_is_noticed() {
    let mut run = quiet();
    let (next, record) = (successor(&run, 2), record(&run, 0));
    let ok = Granted {
        election: record.election,
        asker: Inc(1),
        start: record.start,
        instance: memory(0),
        memories: vec![Mark::NONE],
        stamp: record.stamp,
        accepted: true,
        seen: Fence::NONE,
        waited: false,
        next_waits: false,
        waiting: None,
        wall: None,
    };
    let (message, disk) = (Message::from(ok), Disk::new(0, 1, true));
    let sent = || Fact::Own(Own::Sent { node: 0, message: &message, disk: &disk });
    assert_eq!(says::<AnswersNameMemories>(&mut run, &[(1, opens(0)), (2, sent())]), None);
    let facts = [(3, enters(0, &next)), (4, sent())];
    breaks::<AnswersNameMemories>(&mut run, &facts, "names memories of epoch 0");
}

/// The complaint when the first member hears the second member between these two facts.
fn hears_between(before: Own<'_>, after: Own<'_>, run: &mut Run<QuorumLeases>) -> Option<String> {
    let next = successor(run, run.plan.members());
    let (asker, start, entered, service) = (Inc(0), Time::ZERO, true, Service::Serving);
    let (epoch, founding, before_it) = (next.id(), next.founding, next.before);
    let message = Message::from(Current {
        asker,
        start,
        epoch,
        founding,
        before: before_it,
        instance: memory(1),
        entered,
        service,
        length: 0,
    });
    let (who, address) = (who(run, 1), run.plan.nodes[1].address);
    let from = Sender { who, address, proved: true, epoch };
    let local = Time::from_nanos(5);
    let told = Fact::Own(Own::Told { grantor: 0, from: &from, message: &message, local });
    let (before, after) = ((2, Fact::Own(before)), (4, Fact::Own(after)));
    says::<HeardMembersStay>(run, &[(1, enters(0, &next)), before, (3, told), after])
}

/// A world whose members replace lost members by themselves.
fn healing() -> Run<QuorumLeases> {
    let mut plans = (1..10_000).map(|seed| Worlds::default().plan(seed));
    Run::new(plans.find(|plan| plan.config().replace.is_some()).unwrap())
}

#[test]
fn agreement_despite_answer_is_noticed() {
    let mut run = healing();
    let name = run.plan.nodes[1].name.clone();
    let agrees = |local| Own::Agrees { grantor: 0, name: &name, local };
    let said = hears_between(Own::Serves { grantor: 0 }, agrees(Time::from_nanos(6)), &mut run);
    assert!(said.unwrap_or_default().contains("agrees to replace"));
    let late = Time::from_nanos(5).after(run.plan.config().replace.unwrap().silence);
    assert_eq!(hears_between(Own::Serves { grantor: 0 }, agrees(late), &mut run), None);
}

/// The answer arrives in the life that agrees, and answers a question of the earlier life.
#[test]
fn answer_to_former_life_counts_not() {
    let mut run = healing();
    let name = run.plan.nodes[1].name.clone();
    let agrees = Own::Agrees { grantor: 0, name: &name, local: Time::from_nanos(6) };
    run.own.who[0].inc = Inc(7);
    assert_eq!(hears_between(Own::Serves { grantor: 0 }, agrees, &mut run), None);
}

#[test]
fn proposal_despite_answer_is_noticed() {
    let mut run = healing();
    let name = run.plan.nodes[1].name.clone();
    let begins = Own::Replaces { grantor: 0, name: &name, local: Time::from_nanos(4) };
    let (epoch, ballot) = (first(&run), Ballot { counter: 1, inc: Inc(1) });
    let message = Message::from(Accept { epoch, ballot, successor: epoch });
    let disk = Disk::new(0, 1, true);
    let proposes = || Own::Sent { node: 0, message: &message, disk: &disk };
    let said = hears_between(begins, proposes(), &mut run);
    assert!(said.unwrap_or_default().contains("itself has answered"));
    assert_eq!(hears_between(Own::Serves { grantor: 0 }, proposes(), &mut run), None);
}

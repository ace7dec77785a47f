//! Changes of members in a state directory: votes, entries, and the table of grants of each epoch.

use tenure_core::Time;
use tenure_core::nerio::epoch::{Ballot, Vote};
use tenure_core::nerio::{Inc, Origin};

use super::*;

/// The document of the epoch with this number, of a cluster of one.
fn epoch(number: u64) -> Arc<Document> {
    let mut document = Document::of_line(&config());
    if let Some(before) = number.checked_sub(1) {
        document.number = number;
        document.before = epoch(before).id();
        document.founding = epoch(0).id().digest;
        document.origin = Origin::Changed;
        document.seats[0].instance = Some(Instance(number.into()));
    }
    Arc::new(document)
}

const INHERITED: Duration = Duration::from_secs(7);

pub(in crate::state) fn entry(number: u64, floor: Fence) -> Record {
    Record::Entered { document: epoch(number), floor, inherited: INHERITED, votes: true }
}

/// A vote in the epoch with this number, for the next epoch if it `accepts`.
pub(in crate::state) fn vote(number: u64, counter: u64, accepts: bool) -> Record {
    let promised = ballot(counter);
    let accepted = accepts.then(|| (promised, Document::clone(&epoch(number + 1))));
    Record::Vote { epoch: epoch(number).id(), vote: Box::new(Vote { promised, accepted }) }
}

pub(in crate::state) fn ballot(counter: u64) -> Ballot {
    Ballot { counter, inc: Inc(7) }
}

pub(in crate::state) fn table(number: u64, until: u64) -> Record {
    Record::Table { epoch: epoch(number).id(), until: Time::from_nanos(until) }
}

/// The grants that a start finds in the table of an epoch.
fn found(number: u64, until: u64, grants: Vec<GrantRecord>) -> Grants {
    let (epoch, until) = (Some(epoch(number).id()), Time::from_nanos(until));
    Grants::SameBoot(GrantTable { epoch, until, grants })
}

fn core_memory(world: &World, boot: &str) -> nerio::Memory {
    let (_state, recovered) = world.open(boot, Opening::Existing).unwrap();
    recovered.into_core(&config()).unwrap()
}

#[test]
fn vote_survives_machine() {
    let world = World::new();
    let mut state = world.first();
    state.write(&entry(0, Fence::NONE)).unwrap();
    state.flusher().flush(&vote(0, 3, true)).unwrap();
    state.flusher().flush(&vote(0, 5, false)).unwrap();
    state.flusher().flush(&vote(0, 2, true)).unwrap();
    state.flusher().flush(&vote(1, 9, true)).unwrap();
    drop(state);
    for boot in ["boot 1", "boot 2"] {
        let memory = core_memory(&world, boot);
        assert_eq!(memory.membership.unwrap().id(), epoch(0).id());
        let accepted = memory.vote.accepted.map(|(by, successor)| (by, successor.id()));
        assert_eq!(memory.vote.promised, ballot(5), "neither earlier nor of another epoch");
        assert_eq!(accepted, Some((ballot(3), epoch(1).id())));
    }
}

#[test]
fn entry_survives_machine() {
    let world = World::new();
    let mut state = world.first();
    state.write(&entry(0, Fence::NONE)).unwrap();
    state.write(&vote(0, 3, true)).unwrap();
    state.flusher().flush(&entry(1, Fence::new(50))).unwrap();
    drop(state);
    for boot in ["boot 1", "boot 2"] {
        let memory = core_memory(&world, boot);
        assert_eq!(memory.membership.unwrap().id(), epoch(1).id());
        assert_eq!((memory.inherited, memory.reserve), (INHERITED, Fence::new(50)));
        assert_eq!((memory.vote, memory.enters), (Vote::NONE, false), "the next is open");
    }

    let (mut state, _) = world.start("boot 2", Opening::Existing);
    state.write(&entry(0, Fence::NONE)).unwrap();
    state.write(&Record::Settled { epoch: epoch(0).id() }).unwrap();
    drop(state);
    let memory = core_memory(&world, "boot 2");
    assert_eq!(memory.membership.unwrap().id(), epoch(1).id(), "no epoch comes back");
    assert_eq!(memory.inherited, INHERITED);

    let (mut state, _) = world.start("boot 2", Opening::Existing);
    state.write(&Record::Settled { epoch: epoch(1).id() }).unwrap();
    drop(state);
    assert_eq!(core_memory(&world, "boot 2").inherited, Duration::ZERO);
}

/// The lost memory may have voted in this epoch. So the new memory never votes there.
#[test]
fn lost_memory_stays_barred() {
    let world = World::new();
    let (mut state, _) = world.start("boot 1", Opening::Existing);
    let (document, floor, inherited) = (epoch(0), Fence::new(9), Duration::ZERO);
    let entered = Record::Entered { document, floor, inherited, votes: false };
    state.write(&entered).unwrap();
    state.write(&vote(0, 3, true)).unwrap();
    drop(state);
    assert!(core_memory(&world, "boot 2").vote.is_barred());
}

#[test]
fn table_names_epoch_and_last_rest() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    state.write(&entry(1, Fence::NONE)).unwrap();
    state.write(&table(1, 90)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), found(1, 90, Vec::new()), "granted before, and void now");
    assert_eq!(core_memory(&world, "boot 1").rests_until, Time::from_nanos(90));

    let (mut state, _) = world.start("boot 1", Opening::Existing);
    state.write(&grant_record("audit", 2)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), found(1, 90, vec![grant("audit", 2)]));
    assert_eq!(world.known("boot 2"), Grants::OtherBoot);

    let (mut state, _) = world.start("boot 1", Opening::Existing);
    state.write(&entry(2, Fence::NONE)).unwrap();
    state.write(&table(2, 70)).unwrap();
    state.write(&grant_record("billing", 3)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), found(2, 70, vec![grant("billing", 3)]));
}

/// The process ends after it has entered an epoch, and before it has written the epoch's table. The
/// grants of the previous epoch are void, and the holders of inherited leases are unknown.
#[test]
fn entry_without_table_waits() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    state.write(&entry(1, Fence::NONE)).unwrap();
    drop(state);
    for _ in 0..2 {
        assert_eq!(world.known("boot 1"), Grants::OtherEpoch);
        let memory = core_memory(&world, "boot 1");
        assert_eq!(memory.kept, nerio::Kept::Reserve);
    }
    let (mut state, _) = world.start("boot 1", Opening::Existing);
    state.write(&grant_record("audit", 2)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), found(1, 0, vec![grant("audit", 2)]), "it has waited");
}

/// A process that ends while it begins a table leaves a head without pairs. A start refuses such a
/// table.
#[test]
fn head_alone_is_not_believed() {
    let world = World::new();
    let mut state = world.first();
    state.write(&entry(1, Fence::NONE)).unwrap();
    state.write(&table(1, 90)).unwrap();
    drop(state);
    cut(&world, HEAD as u64);
    let tear = Tear::Length { bytes: HEAD as u64 };
    assert_eq!(world.known("boot 1"), Grants::Torn(tear));
}

//! A member whose directory was lost while its old process lives, cut off from the other members.

use tenure_core::nerio::{
    Entry, Event, FenceRead, Instance, Message, OwnEvent, Refusal, Roster, Service, ToAsker,
};

use crate::story::*;

const FIVE: [&str; 5] = ["a", "b", "c", "p", "q"];

/// Candidate p leads with the grants of a and b. Then a is cut off from the other members, and
/// another process begins in its place, with an empty directory: the old process is put aside.
fn replaced() -> (Story, Actor) {
    let mut s = Story::new();
    s.campaign("p");
    for _ in 0..40 {
        for grantor in ["a", "b"] {
            s.deliver("p", grantor);
            s.deliver(grantor, "p");
        }
        s.drop_all();
        s.pass(ms(10));
    }
    assert_eq!(s.leader(), Some("p"));
    let old = s.actors.remove("a").unwrap();
    s.start_empty("a");
    s.drop_all();
    (s, old)
}

/// Candidate p reaches the old process and b, candidate q the new process and c; members reach each
/// other.
fn live_on(s: &mut Story, old: &mut Actor, steps: usize) -> bool {
    let mut both = false;
    for _ in 0..steps {
        let of_new: Vec<_> = s.letters.iter().filter(|l| l.by == "a").cloned().collect();
        s.letters.retain(|l| l.by != "a");
        std::mem::swap(s.actors.get_mut("a").unwrap(), old);
        for (from, to) in [("p", "a"), ("a", "p")] {
            s.deliver(from, to);
        }
        std::mem::swap(s.actors.get_mut("a").unwrap(), old);
        s.letters.retain(|l| l.by != "a");
        s.letters.extend(of_new);
        for (from, to) in [("p", "b"), ("b", "p"), ("q", "a"), ("a", "q"), ("q", "c"), ("c", "q")] {
            s.deliver(from, to);
        }
        for from in GRANTORS {
            for to in GRANTORS {
                s.deliver(from, to);
            }
        }
        s.drop_all();
        s.pass(ms(10));
        old.clock = s.actors["a"].clock;
        both |= s.leads("p") && s.leads("q");
    }
    both
}

/// The old a and b grant p, the new a and c grant q, and p and q never lead together.
#[test]
fn two_memories_elect_one_leader() {
    let (mut s, mut old) = replaced();
    s.campaign("q");
    assert!(!live_on(&mut s, &mut old, 1_000), "two lead");
    assert_eq!(s.leader(), Some("q"), "the old memory of a counts for nobody any more");
    let old_memory = Event::Own(OwnEvent::OldMemory { member: name("a"), by: name("b") });
    assert!(s.events("p").contains(&old_memory), "{:?}", s.events("p"));
}

/// A grantor does not report a memory before it is durable: b, whose disk is slow, does not answer.
#[test]
fn memory_is_durable_before_answer() {
    let mut s = Story::new();
    s.slow_disks = true;
    let read = FenceRead { start: at(1), instance: Instance::new(1 << 40, 7), record: true };
    let effects = s.tell("a", "b", Message::from(read.clone()));
    assert!(
        !sent(&effects).any(|m| matches!(m, Message::Asker(ToAsker::FenceSeen(_)))),
        "{effects:?}"
    );
    s.flush_one("b");
    let answers = |s: &Story| {
        let seen = |l: &Letter| match &l.message {
            Message::Asker(ToAsker::FenceSeen(seen)) => Some(seen.roster.clone()),
            _ => None,
        };
        s.letters.iter().filter_map(seen).count()
    };
    assert_eq!(answers(&s), 1);
    s.slow_disks = false;
    s.restart("b");
    let effects = s.tell("a", "b", Message::from(read.clone()));
    let seen = sent(&effects).find_map(|m| match m {
        Message::Asker(ToAsker::FenceSeen(seen)) => Some(seen.clone()),
        _ => None,
    });
    let roster = seen.unwrap().roster;
    let known = roster.entries().any(|entry| entry == Entry::new(read.instance));
    assert!(known, "it remembers: {roster:?}");
}

/// The directory of b is lost, and the old memory of a answers at a's address. The old memory has
/// not seen the latest fences, and c knows a later memory of a.
#[test]
fn old_memory_bounds_nothing() {
    let mut s = Story::new();
    let old = s.actors.remove("a").unwrap();
    s.start_empty("a");
    s.run(ms(3_000));
    assert_eq!(s.state("a").service, Service::Serving);
    let now = s.now("a");
    let new = s.actors.insert("a", Actor { clock: now, ..old }).unwrap();
    s.lose_disk("b");
    s.run(ms(6_000));
    assert_ne!(s.state("b").service, Service::Serving);
    let now = s.now("a");
    s.actors.insert("a", Actor { clock: now, ..new });
    s.run(ms(6_000));
    assert_eq!(s.state("b").service, Service::Serving);
}

/// Two of three start with empty directories, as their disks are not mounted: no member writes
/// these directories down as those of a and b. With its real directory a goes on, and b reads from
/// a and c.
#[test]
fn unfit_directory_takes_no_place() {
    let mut s = Story::new();
    s.elect("p");
    let disk = s.actor("a").disk.clone().unwrap();
    for member in ["a", "b"] {
        s.lose_disk(member);
    }
    s.run(ms(10_000));
    for member in ["a", "b"] {
        assert_eq!(s.state(member).service, Service::Recovering { known: true });
    }
    s.start("a", Some(disk));
    s.run(ms(4_000));
    for member in ["a", "b"] {
        assert_eq!(s.state(member).service, Service::Serving, "{:?}", s.events(member));
    }
}

/// Other members go by the later of two memories of a member, even if they hear of the earlier
/// memory last.
#[test]
fn an_earlier_memory_never_comes_back() {
    let mut s = Story::new();
    let later = Instance::new(1 << 40, 7);
    for instance in [later, Instance::new(1 << 39, 8)] {
        s.tell("a", "b", Message::from(FenceRead { start: at(1), instance, record: true }));
    }
    s.drop_all();
    let read = FenceRead { start: at(2), instance: Instance::new(1 << 38, 9), record: true };
    let effects = s.tell("a", "b", Message::from(read));
    let knows = sent(&effects).any(|m| match m {
        Message::Asker(ToAsker::FenceSeen(seen)) => {
            seen.roster.entries().any(|entry| entry.instance == later)
        }
        _ => false,
    });
    assert!(knows, "{effects:?}");
}

/// Other members remember, but have not written down the asker's memory: the wait for grants of the
/// earlier memory does not begin yet.
#[test]
fn answer_names_the_askers_memory() {
    let mut s = Story::new();
    s.lose_disk("a");
    s.others_answer(ms(2_000), &Roster::default());
    let refused = refusal(&s.ask("q", "a", request(at(10))));
    assert_eq!(refused, Some(Refusal::Recovering { known: true }));
    s.drop_all();
    s.pass(ms(200));
    let others = vec![name("b"), name("c")];
    let is_strange = |event: &Event| match event {
        Event::Own(OwnEvent::RecoveryWaits { strange, .. }) => *strange == others,
        _ => false,
    };
    assert!(s.events("a").iter().any(is_strange), "{:?}", s.events("a"));
}

/// A new memory learns the memories that others know before it serves, so it ignores the old memory
/// of another member, too.
#[test]
fn new_memory_takes_over_rosters() {
    let mut s = Story::new();
    s.lose_disk("a");
    s.run(ms(3_000));
    s.lose_disk("b");
    s.run(ms(3_000));
    assert_eq!(s.state("b").service, Service::Serving);
    let (latest, instance) = (s.instance("a"), s.instance("c"));
    let read = FenceRead { start: at(1), instance, record: false };
    let effects = s.tell("c", "b", Message::from(read));
    let knows = sent(&effects).any(|m| match m {
        Message::Asker(ToAsker::FenceSeen(seen)) => {
            seen.roster.entries().any(|entry| entry.instance == latest)
        }
        _ => false,
    });
    assert!(knows, "{effects:?}");
}

/// The old directory is mounted again: the other members know a later memory; the grantor reports
/// that, and grants no more.
#[test]
fn returning_old_directory_is_reported() {
    let mut s = Story::new();
    s.elect("p");
    let old = s.actor("a").disk.clone().unwrap();
    s.lose_disk("a");
    s.run(ms(3_000));
    assert_eq!(s.state("a").service, Service::Serving);
    s.start("a", Some(old));
    s.run(ms(3_000));
    assert!(s.events("a").contains(&Event::Own(OwnEvent::Replaced)));
    assert_eq!(s.state("a").service, Service::Replaced);
    assert_eq!(refusal(&s.ask("q", "a", request(at(10)))), Some(Refusal::Replaced));
    assert_eq!(s.leader(), Some("p"));
}

/// Other members take a new memory for earlier than the memory that they know. The memory then
/// takes a later number, because no member relies on it yet.
#[test]
fn slow_clock_excludes_no_member() {
    let mut s = Story::new();
    s.elect("p");
    let later = Instance::new(1 << 40, 7);
    for member in ["b", "c"] {
        s.tell(
            "a",
            member,
            Message::from(FenceRead { start: at(1), instance: later, record: true }),
        );
    }
    s.drop_all();
    s.lose_disk("a");
    s.run(ms(3_000));
    assert_eq!(s.state("a").service, Service::Serving);
    assert!(s.instance("a") > later);
}

/// Another process begins in a's place with an empty directory while a waits, and the other members
/// write the memory of that process down. The process may grant until they write down the memory
/// that a becomes.
#[test]
fn later_memory_waits_anew() {
    let mut s = Story::new();
    s.lose_disk("a");
    s.run(ms(1_000));
    let instance = Instance::new(1 << 40, 7);
    for member in ["b", "c"] {
        s.tell("a", member, Message::from(FenceRead { start: at(1), instance, record: true }));
    }
    s.drop_all();
    s.run(ms(1_500));
    assert!(s.instance("a") > instance);
    let service = s.state("a").service;
    assert!(matches!(service, Service::Quarantine { .. }), "{service:?}");
    s.run(ms(2_200));
    assert_eq!(s.state("a").service, Service::Serving);
}

/// Five members that were started with `--new`, and r, which is no member.
fn five() -> Story {
    let mut s = Story::empty(config(&FIVE));
    for member in FIVE {
        let disk = s.directory(true);
        s.start(member, Some(disk));
    }
    s.start("r", None);
    s
}

/// Member a asks these members, which answer.
fn ask(s: &mut Story, others: &[&str]) {
    for other in others {
        s.deliver("a", other);
        s.deliver(other, "a");
    }
}

/// More than the longest lease passes, and no message arrives.
fn outlast(s: &mut Story) {
    s.drop_all();
    s.pass(ms(2_210));
}

/// The directories of a and p are lost. The new p, b and c write down a's new memory, and q does so
/// after the wait: until then the old a and p may have formed a quorum with q, which remembers.
#[test]
fn wait_begins_with_members_that_remember() {
    let mut s = five();
    s.lose_disk("p");
    s.lose_disk("a");
    ask(&mut s, &["b", "c", "q"]);
    ask(&mut s, &["b", "c", "p"]);
    outlast(&mut s);
    ask(&mut s, &["b", "c", "q"]);
    let service = s.state("a").service;
    assert!(matches!(service, Service::Quarantine { .. }), "{service:?}");
    outlast(&mut s);
    ask(&mut s, &["b", "c", "q"]);
    assert_eq!(s.state("a").service, Service::Serving);
}

/// Member q has written down the memory that a had before it became a later one: a soon repeats its
/// report to q, as q keeps the present memory out of quorums.
#[test]
fn later_memory_is_reported_again() {
    let mut s = five();
    s.lose_disk("a");
    ask(&mut s, &["b", "c", "q"]);
    ask(&mut s, &["b", "c", "q"]);
    let instance = Instance::new(1 << 40, 7);
    s.tell("a", "b", Message::from(FenceRead { start: at(1), instance, record: true }));
    outlast(&mut s);
    ask(&mut s, &["b"]);
    s.drop_all();
    s.pass(REFRESH);
    assert!(s.instance("a") > instance);
    ask(&mut s, &["b", "c", "p"]);
    outlast(&mut s);
    ask(&mut s, &["b", "c", "p"]);
    assert_eq!(s.state("a").service, Service::Serving);
    s.drop_all();
    s.pass(REFRESH * 8);
    assert_eq!(s.take("a", "q").len(), 1);
}

/// Time passes, and all five members exchange messages, except a and b with each other.
fn apart(s: &mut Story, steps: usize) {
    let pairs = FIVE.into_iter().flat_map(|from| FIVE.map(|to| (from, to)));
    let joined = pairs.filter(|pair| pair.0 != pair.1 && ![("a", "b"), ("b", "a")].contains(pair));
    let joined: Vec<_> = joined.collect();
    for _ in 0..steps {
        s.pass(ms(10));
        for (from, to) in joined.iter().chain(&joined) {
            s.deliver(from, to);
        }
        s.drop_all();
    }
}

/// All members were started with `--new`, and b loses its directory twice: the second time while
/// the link between a and b is cut. The others tell a of the latest memory, and a, b and c elect a
/// leader.
#[test]
fn new_members_hear_of_later_memories() {
    let mut s = five();
    s.lose_disk("b");
    s.run(ms(3_000));
    assert_eq!(s.state("b").service, Service::Serving);
    s.lose_disk("b");
    apart(&mut s, 800);
    assert_eq!(s.state("b").service, Service::Serving);
    s.campaign("r");
    for _ in 0..40 {
        for member in GRANTORS {
            s.deliver("r", member);
            s.deliver(member, "r");
        }
        s.drop_all();
        s.pass(ms(10));
    }
    assert!(s.leads("r"), "{:?}", s.events("r"));
}

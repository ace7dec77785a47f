//! The scalar fence: one integer that grows with each leadership.

use std::time::Duration;

use tenure_core::Fence;
use tenure_core::nerio::{Effect, Event, Message, OwnEvent, Refusal, Request, ToCandidate};

use crate::story::*;

/// Rule 1: a proposal above the fence seen is accepted; the ok says so, with the previous value.
#[test]
fn proposal_above_seen_is_accepted() {
    let mut s = Story::new();
    let ok = granted(&s.ask("p", "a", proposal(at(10), 7))).unwrap();
    assert_eq!((ok.accepted, ok.seen), (true, Fence::NONE));
    s.tell("p", "a", release(at(10)));
    for (fence, accepted) in [(6, false), (7, false), (8, true)] {
        let ok = granted(&s.ask("q", "a", proposal(at(20 + fence), fence))).unwrap();
        assert_eq!((ok.accepted, ok.seen), (accepted, Fence::new(7)), "{fence}");
        s.tell("q", "a", release(at(20 + fence)));
    }
}

/// Rule 2: a fence is handed out only if all oks of the completing quorum accepted the same fence
/// for the same leadership. Otherwise the candidate renews at once with the fence `max(seen) + 1`.
/// The claim is raised only with an accepted fence, and the grantors learn the fence before the
/// first renewal.
#[test]
fn refused_fence_costs_another_round() {
    let mut s = Story::new();
    s.ask("r", "a", proposal(at(10), 7));
    s.tell("r", "a", release(at(10)));
    s.letters.clear();
    s.campaign("p");
    s.slip(ms(1));
    s.deliver("p", "a");
    s.deliver("p", "b");
    s.deliver("a", "p");
    let effects = s.deliver("b", "p");
    assert!(!s.leads("p"), "it holds a lease, and no fence yet");
    let again = requests(&effects);
    assert_eq!(again.len(), 3, "at once");
    assert!(again.iter().all(|request| request.fence == Fence::new(8)));
    s.deliver_all();
    assert_eq!(s.fence("p"), 8);
    s.run(ms(1));
    for grantor in GRANTORS {
        let told = s.state(grantor).holder.unwrap().fence;
        assert_eq!(told, Some(Fence::new(8)), "{grantor} can say at once who leads");
    }
}

/// Rule 2: grantor a has accepted the first proposal. A refusal of c led p to a second proposal,
/// which b has accepted.
#[test]
fn different_fences_cost_another_round() {
    let mut s = Story::new();
    s.ask("r", "c", proposal(at(10), 7));
    s.letters.clear();
    s.campaign("p");
    for (from, to) in [("p", "a"), ("p", "c"), ("a", "p"), ("c", "p")] {
        s.deliver(from, to);
    }
    s.drop_all();
    s.pass(REFRESH);
    s.take("p", "a");
    s.slip(ms(1));
    assert!(granted(&s.deliver("p", "b")).unwrap().accepted);
    s.deliver("b", "p");
    assert!(!s.leads("p"), "a quorum has granted, and accepted no fence together");
    s.deliver_all();
    assert_eq!(s.fence("p"), 8);
}

/// A lease of full length is announced even if the fence took several rounds.
#[test]
fn slow_fence_still_settles() {
    let mut s = Story::new();
    s.slow_disks = true;
    for grantor in GRANTORS {
        s.lose_disk_but_keep_reserve(grantor);
    }
    s.pass(ms(3_000));
    s.campaign("p");
    for _ in 0..100 {
        s.run(ms(1));
    }
    assert!(!s.leads("p"), "no fence is accepted before the reserve is durable");
    for grantor in GRANTORS {
        s.flush_one(grantor);
    }
    s.run(ms(400));
    assert!(s.leads("p"));
    let settled = s.events("p").iter().filter(|event| **event == Event::Settled).count();
    assert_eq!(settled, 1, "{:?}", s.events("p"));
}

/// While no fence is accepted, the candidate asks ever more slowly.
#[test]
fn refused_fence_slows_proposals() {
    let mut s = Story::new();
    s.slow_disks = true;
    for grantor in GRANTORS {
        s.lose_disk_but_keep_reserve(grantor);
    }
    s.pass(ms(3_000));
    s.campaign("p");
    let mut requests = 0;
    for _ in 0..10_000 {
        requests += s.letters.iter().filter(|l| l.to == address("a")).count();
        s.deliver_all();
        s.pass(Duration::from_micros(100));
    }
    assert!(!s.leads("p"));
    assert!(requests < 60, "{requests} requests in a second at a round trip of 0.1 ms");
}

/// Rule 2: the fence stays over renewals that complete before the lease ends.
#[test]
fn a_fence_stays_over_renewals() {
    let mut s = Story::new();
    s.elect("p");
    let fence = s.fence("p");
    s.run(ms(10_000));
    assert_eq!((s.leader(), s.fence("p")), (Some("p"), fence));
}

/// Rule 2: after a lapse a new leadership with a new fence begins, even without another leader in
/// between.
#[test]
fn lapse_ends_the_fence() {
    let mut s = Story::new();
    s.elect("p");
    let fence = s.fence("p");
    while s.leads("p") {
        s.drop_all();
        s.pass(ms(1));
    }
    s.run(ms(5));
    assert!(!s.leads("p"), "the application decides whether to campaign again");
    s.elect("p");
    assert!(s.fence("p") > fence);
}

/// Rule 3: no fsync for each grant: a reserve covers many fences.
#[test]
fn a_reserve_covers_many_grants() {
    let mut s = Story::new();
    let mut flushes = 0;
    for n in 1..=2_048 {
        let effects = s.ask("p", "a", proposal(at(n), n));
        assert!(granted(&effects).unwrap().accepted, "reserved ahead: {n}");
        flushes += effects.iter().filter(|e| matches!(e, Effect::Flush(..))).count();
    }
    assert!(flushes <= 4, "{flushes}");
}

/// Rule 3: only the flush of the highest reserve makes that reserve durable; the flush of a lower
/// reserve does not.
#[test]
fn older_flush_proves_no_newer_reserve() {
    let mut s = Story::new();
    s.slow_disks = true;
    s.ask("p", "a", proposal(at(10), 5_000));
    s.ask("p", "a", proposal(at(20), 9_000_000));
    s.flush_one("a");
    let ok = granted(&s.ask("p", "a", proposal(at(30), 9_000_000))).unwrap();
    assert!(!ok.accepted, "a crash now would restart far below it");
    s.flush_one("a");
    assert!(granted(&s.ask("p", "a", proposal(at(40), 9_000_000))).unwrap().accepted);
}

/// Rule 3: a flush that was dropped with the effects of a failed write is asked for again.
#[test]
fn dropped_flush_is_repeated() {
    let mut s = Story::new();
    s.failing = Some("a");
    s.ask("p", "a", proposal(at(10), 5_000));
    s.pass(ms(1_200));
    s.ask("p", "a", proposal(at(20), 5_000));
    assert!(granted(&s.ask("p", "a", proposal(at(30), 5_000))).unwrap().accepted);
}

/// Rule 3: a restart begins at H, with no owner.
#[test]
fn a_restart_begins_at_the_reserve() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(10), 7));
    s.reboot("a");
    s.pass(ms(2_200));
    assert_eq!(s.state("a").seen, Fence::new(1_024));
    let again = Request { first: at(10), ..proposal(at(20), 1_024) };
    assert!(!granted(&s.ask("p", "a", again)).unwrap().accepted);
}

/// Rule 4, restart: the first reserve shows that the read is done; a start before that reads again.
#[test]
fn interrupted_read_is_repeated() {
    // The restart comes during the wait, or during the read.
    for passed in [2_100, 2_200] {
        restart_before_the_read_is_durable(ms(passed));
    }
}

fn restart_before_the_read_is_durable(passed: Duration) {
    let mut s = Story::new();
    s.lose_disk("a");
    s.deliver_all();
    s.pass(passed);
    s.restart("a");
    s.deliver_all();
    s.pass(ms(2_200));
    assert_eq!(
        refusal(&s.ask("r", "a", request(at(30)))),
        Some(Refusal::Recovering { known: false })
    );
    s.deliver_all();
    s.restart("a");
    let waits = refusal(&s.ask("r", "a", request(at(31))));
    assert!(matches!(waits, Some(Refusal::Quarantine { .. })), "{waits:?}");
    s.pass(ms(2_200));
    assert!(granted(&s.ask("r", "a", request(at(32)))).is_some(), "to read once is enough");
}

/// Rule 5: fence order and QT order agree.
#[test]
fn fences_and_quorum_timestamps_agree() {
    let mut s = Story::new();
    let mut last = None;
    for candidate in ["p", "q", "r", "q", "p"] {
        s.actor(candidate).events.clear();
        s.elect(candidate);
        let elected = s.events(candidate).iter().find_map(|event| match event {
            Event::Own(OwnEvent::Stamped { fence, timestamp, .. }) => {
                Some((*fence, timestamp.clone()))
            }
            _ => None,
        });
        let (fence, timestamp) = elected.unwrap();
        if let Some((before, earlier)) = last.replace((fence, timestamp.clone())) {
            assert!(before < fence);
            assert_eq!(earlier.order(&timestamp), Ok(std::cmp::Ordering::Less));
        }
        s.resign(candidate);
        s.deliver_all();
    }
}

/// Rule 6, for candidates: a candidate recovers from a wrong report of a fence that no node has
/// seen.
#[test]
fn wrong_fence_stops_no_candidate() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    let mut answer = s.take("a", "p").remove(0);
    let Message::Candidate(ToCandidate::Granted(ok)) = &mut answer.message else {
        panic!("{answer:?}")
    };
    ok.seen = Fence::new(u64::MAX - 1);
    s.put(&answer);
    s.drop_all();
    s.run(ms(1_000));
    assert!(s.leads("p"), "{:?}", s.events("p"));
    assert!(s.fence("p") < 1_000);
}

//! The scalar fence.

use tenure_core::Fence;
use tenure_core::nerio::{Effect, Event, Message, Record, Refusal, Request, ToGrantor};

use crate::story::*;

/// Rule 1: `L = (name, inc, first Start of the attempt)`; the same leadership is accepted again.
#[test]
fn fence_belongs_to_one_attempt() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(10), 7));
    let same = Request { first: at(10), ..proposal(at(11), 7) };
    assert!(granted(&s.ask("p", "a", same)).unwrap().accepted, "the same attempt");
    let other = Request { first: at(12), ..proposal(at(12), 7) };
    assert!(!granted(&s.ask("p", "a", other)).unwrap().accepted, "another attempt of p");
}

/// Rule 3: `fence_seen ≤ H` with H on disk before the ok leaves; if the reserve is not ready the
/// lease is granted and the fence is not accepted.
#[test]
fn fences_stay_below_durable_reserve() {
    let mut s = Story::new();
    s.slow_disks = true;
    let effects = s.ask("p", "a", proposal(at(10), 5_000));
    assert!(!granted(&effects).unwrap().accepted);
    assert!(effects.iter().any(
        |e| matches!(e, Effect::Flush(_, Record::Reserve { high }) if *high >= Fence::new(5_000))
    ));
    let effects = s.ask("p", "a", proposal(at(15), 5_000));
    assert!(!granted(&effects).unwrap().accepted, "asked for, and not yet durable");
    s.flush_one("a");
    assert!(granted(&s.ask("p", "a", proposal(at(20), 5_000))).unwrap().accepted);
}

/// Rule 4: without a disk the grantor reads the fences of a full quorum that does not contain
/// itself, takes the maximum, and grants nothing before.
#[test]
fn lost_grantor_reads_a_quorum() {
    let mut s = Story::new();
    s.ask("p", "b", proposal(at(10), 7));
    s.ask("q", "c", proposal(at(10), 9));
    s.lose_disk("a");
    s.deliver_all();
    s.pass(ms(2_200));
    assert_eq!(
        refusal(&s.ask("r", "a", request(at(30)))),
        Some(Refusal::Recovering { known: false })
    );
    s.deliver("a", "b");
    s.deliver("b", "a");
    assert_eq!(
        refusal(&s.ask("r", "a", request(at(31)))),
        Some(Refusal::Recovering { known: true }),
        "b alone"
    );
    s.deliver("a", "c");
    s.deliver("c", "a");
    assert_eq!(s.state("a").seen, Fence::new(9));
    assert!(granted(&s.ask("r", "a", request(at(32)))).is_some());
}

/// Rule 4: the release of the old leader opens its election while the grantor waits, before the
/// read. The next leader still gets a higher fence.
#[test]
fn read_fences_cover_released_elections() {
    let mut s = Story::new();
    for grantor in ["a", "b"] {
        s.ask("p", grantor, proposal(at(10), 7));
    }
    s.lose_disk("a");
    s.deliver_all();
    s.pass(ms(100));
    s.tell("p", "a", release(at(10)));
    s.drop_all();
    s.pass(ms(2_100));
    s.deliver_all();
    assert_eq!(s.state("a").seen, Fence::new(7), "c has seen none");
    s.campaign("q");
    for _ in 0..4 {
        s.slip(ms(1));
        s.take("q", "b");
        for (from, to) in [("q", "a"), ("q", "c"), ("a", "q"), ("c", "q")] {
            s.deliver(from, to);
        }
    }
    assert_eq!(s.fence("q"), 8);
}

/// Rules 4 and 6: answers to a grantor that lost its directory cover elections that no grantor
/// remembers one by one.
#[test]
fn answer_covers_forgotten_elections() {
    let mut s = Story::new();
    for grantor in ["b", "c"] {
        s.ask("p", grantor, proposal(at(10), 7));
    }
    s.pass(ms(3_300));
    s.lose_disk("a");
    s.run(ms(2_200));
    assert_eq!(s.state("a").seen, Fence::new(7));
}

/// Rule 4: recovering members do not answer reads, so with three grantors two such restarts at
/// once stop the election.
#[test]
fn recovering_grantor_answers_no_reads() {
    let mut s = Story::new();
    s.lose_disk("a");
    s.lose_disk("b");
    s.run(ms(10_000));
    assert_eq!(
        refusal(&s.ask("p", "a", request(at(30)))),
        Some(Refusal::Recovering { known: true })
    );
    assert_eq!(
        refusal(&s.ask("p", "b", request(at(30)))),
        Some(Refusal::Recovering { known: true })
    );
}

/// Rule 4: the read begins after the quarantine has *ended*: its answers must cover every ok of the
/// earlier incarnation that can still complete.
#[test]
fn read_begins_after_quarantine() {
    let mut s = Story::new();
    s.lose_disk("a");
    s.deliver_all();
    let reads = |s: &Story| {
        s.letters
            .iter()
            .filter(|l| matches!(l.message, Message::Grantor(ToGrantor::FenceRead(_))))
            .count()
    };
    s.timers();
    s.step("a", tenure_core::Input::Timeout);
    s.pass(ms(2_199));
    assert_eq!(reads(&s), 0, "leases that it has forgotten may still complete with a new fence");
    s.pass(ms(1));
    assert_eq!(reads(&s), 2);
}

/// Rule 1: refusals report the highest fence seen and never raise it.
#[test]
fn refusals_never_raise_the_fence() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(10), 7));
    assert_eq!(refused(&s.ask("q", "a", proposal(at(20), 99))).unwrap().seen, Fence::new(7));
    assert_eq!(s.state("a").seen, Fence::new(7));
}

/// Rule 1: a candidate proposes the highest fence that it knows, plus 1, so that one round trip is
/// normal.
#[test]
fn single_round_trip_is_normal() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(150));
    s.resign("p");
    s.deliver("p", "a");
    s.deliver("p", "b");
    s.deliver("a", "q");
    let effects = s.deliver("b", "q");
    assert!(emitted(&effects).iter().any(|event| matches!(event, Event::Elected { .. })));
    assert_eq!(s.fence("q"), 2);
}

/// Rule 6: one H and one floor for each grantor: when an election is evicted, the floor rises to
/// its fence.
#[test]
fn evicted_election_leaves_its_fence() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(10), 7));
    s.pass(ms(3_300));
    let written = s.actor("a").disk.as_ref().unwrap().grants();
    assert_eq!(
        (s.state("a").seen, written),
        (Fence::new(7), Some(0)),
        "evicted, and not forgotten"
    );
    let other = Request { election: "y".parse().unwrap(), ..proposal(at(20), 7) };
    assert!(!granted(&s.ask("p", "a", other)).unwrap().accepted);
}

/// Rule 6: a proposal above seen + 2⁴² is refused: one packet must not exhaust the number.
#[test]
fn far_proposal_is_refused() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(10), 7));
    let far = 7 + (1 << 42);
    let effects = s.ask("p", "a", proposal(at(20), far + 1));
    assert_eq!(refusal(&effects), Some(Refusal::FenceTooFar));
    assert!(granted(&s.ask("p", "a", proposal(at(30), far))).is_some());
}

/// Rule 6: a stranger has driven the fences of two grantors far apart, each within reach of the
/// fence that it had seen. Later candidates still lead, though not at once.
#[test]
fn distant_fences_converge() {
    let mut s = Story::new();
    for (grantor, steps) in [("a", 2), ("b", 4)] {
        for step in 1..=steps {
            // The first proposal only moves the reserve, and the grantor accepts the second
            // proposal.
            let far = proposal(at(10 * step), step << 42);
            s.ask("q", grantor, far.clone());
            let again = Request { start: at(10 * step + 1), ..far };
            assert!(granted(&s.ask("q", grantor, again)).unwrap().accepted, "{grantor} {step}");
        }
    }
    s.pass(ms(3_000));
    s.drop_all();
    s.campaign("p");
    s.run(ms(20_000));
    assert!(s.leads("p"));
    assert!(s.fence("p") > 2 << 42);
}

/// Rule 3: proposals come faster than a disk flushes. However many proposals need a higher reserve
/// meanwhile, one flush is under way, and one more follows.
#[test]
fn single_reserve_is_under_way() {
    let mut s = Story::new();
    s.slow_disks = true;
    for n in 1..=100 {
        s.ask("p", "a", proposal(at(n), 1_000 * n));
    }
    assert_eq!(s.actor("a").flushes.len(), 1);
    s.flush_one("a");
    assert_eq!(s.actor("a").flushes.len(), 1, "one for all that was wanted meanwhile");
    s.flush_one("a");
    let ok = granted(&s.ask("p", "a", proposal(at(101), 100_000))).unwrap();
    assert!(ok.accepted, "it has room for the highest of them");
}

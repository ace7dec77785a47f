//! The numbered sentences of the text, each with a test, in its order: S1 to S20 of the table in
//! the module's document. `docs/seeds/allcall.md` goes through the whole text.

use std::time::Duration;

use tenure_core::allcall::{Body, Config, Entry, Event, OnConflict};
use tenure_core::{End, Loss};

use crate::stage::{Says, Stage, X, config, ms};

const NOTHING: Duration = Duration::ZERO;
/// The defaults of the text.
const H: Duration = Duration::from_secs(1);
const K: Duration = Duration::from_secs(1);
const L: Duration = Duration::from_secs(10);

#[test]
fn s1_defaults_are_the_texts() {
    let Config { heartbeat, lease, max_clock_skew, .. } = config(0);
    assert_eq!((heartbeat, lease, max_clock_skew), (H, L, K));
    let mut stage = Stage::led(2);
    stage.own.log.clear();
    stage.pass(ms(10_000));
    assert_eq!((stage.calls(0), stage.calls(1)), (10, 10), "one call a heartbeat");
}

/// "A failed leader won't be replaced until its lease (+maxClockSkew) has expired."
#[test]
fn s2_failed_leader_keeps_lease_and_skew() {
    // With a short heartbeat the successor stands soon after it may.
    for heartbeat in [ms(200), H] {
        let configs = (0..2).map(|node| Config { heartbeat, ..config(node) }).collect();
        let mut stage = Stage::with(configs);
        stage.contend_together(2);
        stage.pass(ms(15_000));
        let said = stage.said(0);
        let claim = said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap();
        let left = claim.until.since(stage.wall(0));
        stage.kill(0);
        stage.pass(left + K - ms(1));
        assert!(stage.leaders(X).is_empty());
        stage.pass(5 * heartbeat / 2);
        assert_eq!(stage.leaders(X), [1]);
    }
}

/// "If necessary an extremely long true random number is used to break ties between server ranks."
#[test]
fn s3_random_number_breaks_ties() {
    let equal = |node| Config { rank: Some(5), ..config(node) };
    let mut stage = Stage::with(vec![equal(0), equal(1)]);
    stage.contend_together(2);
    // The ranks stay the same in 11 terms, so the same participant leads.
    stage.pass(11 * L);
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.overlap(), NOTHING);
    assert_eq!(stage.told(0, |event| matches!(event, Event::Elected { .. })), 1);
    assert_eq!(stage.told(1, |event| matches!(event, Event::Elected { .. })), 0);
}

/// "The lower the rank is preferred for being the leader."
#[test]
fn s4_the_lower_rank_is_preferred() {
    let mut stage = Stage::new(3);
    [2, 1, 0].into_iter().for_each(|node| stage.contend(node));
    stage.pass(L + K + 3 * H);
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.overlap(), NOTHING);
}

/// "We order the pair (leaseExpires, rank) first by largest leaseExpires time, then by lower rank."
#[test]
fn s5_later_lease_beats_lower_rank() {
    let mut stage = Stage::new(2);
    stage.isolate_all();
    for node in [0, 1] {
        stage.contend(node);
        stage.pass(ms(1_000));
    }
    stage.until(L + K + 3 * H, |stage| stage.leaders(X) == [0, 1]);
    // Participant 1 was granted its lease later.
    stage.heal();
    stage.pass(2 * H + ms(100));
    assert_eq!(stage.leaders(X), [1]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Superseded)));
}

/// "It does not issue allcalls until after leaseTime + maxClockSkew time has elapsed."
#[test]
fn s6_newcomer_listens_for_lease_and_skew() {
    let mut stage = Stage::new(1);
    stage.contend(0);
    stage.pass(L + K);
    assert_eq!(stage.calls(0), 0);
    stage.pass(2 * H);
    assert!(stage.calls(0) > 0);
}

/// "During init, the server does, however, accept and respond to allcalls()."
#[test]
fn s7_newcomer_answers_and_learns() {
    let mut stage = Stage::new(2);
    stage.contend(0);
    stage.pass(L + K + 3 * H);
    stage.contend(1);
    stage.observe(1, X);
    stage.own.log.clear();
    stage.pass(3 * H);
    assert_eq!(stage.calls(1), 0);
    assert!(stage.replies(1) >= 3);
    let Body::Reply(reply) = stage.last(1, |body| matches!(body, Body::Reply(_))).body else {
        unreachable!()
    };
    assert!(!reply.entries[0].eligible);
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
}

/// "The allcall() ping will contain the current (lease, leader-rank) and leader-id according to the
/// issuer." A follower sends a digest instead.
#[test]
fn s8_call_names_senders_leader() {
    let stage = Stage::led(2);
    let entry = |node| match stage.last(node, |body| matches!(body, Body::Call(_))).body {
        Body::Call(call) => call.entries[0].clone(),
        _ => unreachable!(),
    };
    let [leader, follower]: [Entry; 2] = [0, 1].map(entry);
    let claim = leader.claim.unwrap();
    assert_eq!((&claim.leader, claim.rank.number), (&stage.who(0), 0));
    assert_eq!((follower.claim, follower.digest), (None, leader.digest));
}

/// "Every recipient of the allcall updates her local information of who she thinks the leader is,
/// so long as the received information is monotone in the (lease, leader-rank) ordering."
#[test]
fn s9_knowledge_of_leaders_grows() {
    let mut stage = Stage::led(3);
    let call = |stage: &Stage| stage.last(0, |body| matches!(body, Body::Call(_)));
    let early = call(&stage);
    stage.observe(2, X);
    let end = |packet: &tenure_core::allcall::Packet| packet.body.claim().map(|claim| claim.until);
    stage.until(L, |stage| end(&call(stage)) > end(&early));
    stage.pass(ms(50));
    stage.observe(2, X);
    let known = stage.view(2, X).unwrap().leader().unwrap().until;
    // The leader's claim comes again with an earlier E, in a new round.
    let mut stale = early;
    if let Body::Call(call) = &mut stale.body {
        call.round.0 += 100;
    }
    stage.deliver(2, stale);
    stage.observe(2, X);
    assert_eq!(stage.view(2, X).unwrap().leader().unwrap().until, known);
}

/// "It enters its ping phase, where it stays until it is shut down."
#[test]
fn s10_participant_calls_until_shut_down() {
    let mut stage = Stage::led(2);
    for _ in 0..20 {
        stage.own.log.clear();
        stage.pass(H);
        assert_eq!((stage.calls(1), stage.replies(1)), (1, 1));
    }
}

/// "Election and leasing are computed locally, by each node, one heartBeat after" the call.
#[test]
fn s11_election_follows_one_heartbeat_later() {
    let mut stage = Stage::new(1);
    stage.contend(0);
    stage.until(L + K + 2 * H, |stage| stage.calls(0) == 2);
    // The second call announces that the candidate is eligible; the third call carries the claim.
    stage.pass(H - ms(20));
    assert_eq!((stage.calls(0), stage.leaders(X).len()), (2, 0));
    stage.pass(ms(40));
    assert_eq!((stage.calls(0), stage.leaders(X).len()), (3, 1));
}

/// "The localnode who issued the allcall sorts the respondents, including itself, and if all leases
/// have expired, it determines who is the new leader and marks their lease as starting from now." A
/// process marks only its own lease, and waits if another is the best (ruling 1).
#[test]
fn s12_others_wait_for_best_claim() {
    let stage = Stage::led(3);
    for node in 1..3 {
        let claims = stage.said(node).into_iter().filter_map(|packet| packet.body.claim());
        assert!(claims.into_iter().all(|claim| claim.leader == stage.who(0)));
    }
}

/// "This new determination is broadcast at the next heartbeat."
#[test]
fn s13_next_call_broadcasts_claim() {
    let mut stage = Stage::new(2);
    (0..2).for_each(|node| stage.join(node));
    stage.campaign(0, X);
    stage.observe(1, X);
    stage.until(L + K + 3 * H, |stage| stage.leaders(X) == [0]);
    let claim = stage.last(0, |body| matches!(body, Body::Call(_))).body.claim().cloned();
    assert_eq!(claim.unwrap().leader, stage.who(0));
    // An observer shows the leader after the next call, which repeats the claim.
    stage.pass(H);
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
}

/// "If that leader claim has a shorter lease expiration time than the existing leader, the new
/// proposed leader is rejected in favor of the current leader."
#[test]
fn s14_leader_finishes_its_term() {
    let mut stage = Stage::new(2);
    stage.contend(1);
    stage.pass(L + K + 3 * H);
    assert_eq!(stage.leaders(X), [1]);
    stage.contend(0);
    stage.pass(L + K);
    assert_eq!(stage.leaders(X), [1], "it renews while the better one only listens");
    stage.until(L + 2 * H, |stage| stage.leaders(X) == [0]);
    assert_eq!(stage.overlap(), NOTHING);
    assert_eq!(stage.ended(1, X), Some(&End::Lost(Loss::Transferred)));
}

/// "Each recipient of an allcall() replies to all cluster members. Both the sending and the
/// replying to the allcall are broadcasts."
#[test]
fn s15_replies_are_broadcast() {
    let mut stage = Stage::led(3);
    stage.own.log.clear();
    stage.pass(H + ms(200));
    let round = match stage.last(0, |body| matches!(body, Body::Call(_))).body {
        Body::Call(call) => call.round,
        _ => unreachable!(),
    };
    for node in 1..3 {
        let answers = stage.said(node).into_iter().filter_map(|packet| match &packet.body {
            Body::Reply(reply) => Some(&reply.answers),
            _ => None,
        });
        let mut answers = answers.flatten();
        assert!(answers.any(|answer| (&answer.caller, answer.round) == (&stage.who(0), round)));
    }
}

/// "The two leader situation persists for at most one lease term after the network join": one
/// heartbeat and a delay with `yield`, L − K + d with `serve-out`.
#[test]
fn s16_heal_leaves_one_leader() {
    for (on_conflict, most) in
        [(OnConflict::Yield, H + ms(2)), (OnConflict::ServeOut, L - K + ms(2))]
    {
        let configs = (0..2).map(|node| Config { on_conflict, ..config(node) }).collect();
        let mut stage = Stage::with(configs);
        stage.isolate_all();
        stage.contend_together(2);
        stage.pass(2 * L + ms(300));
        assert_eq!(stage.leaders(X), [0, 1]);
        let before = stage.overlap();
        stage.heal();
        stage.pass(3 * L);
        let after = stage.overlap() - before;
        assert!(after <= most, "{on_conflict}: {after:?}");
        assert_eq!(stage.leaders(X).len(), 1);
    }
}

/// "With at least one live node, the system can run for at most one lease term before electing a
/// leader": L + 3K + 2H in true time, by any two clocks.
#[test]
fn s17_successor_leads_within_bound() {
    for (old, new) in [(0, 0), (999, -999), (-999, 999)] {
        let mut stage = Stage::new(2);
        (stage.nodes[0].ahead, stage.nodes[1].ahead) = (old, new);
        stage.contend_together(2);
        stage.pass(ms(15_000));
        assert_eq!(stage.leaders(X), [0]);
        stage.kill(0);
        let took = stage.until(L + 3 * K + 2 * H, |stage| stage.leaders(X) == [1]);
        assert!(took <= L + 3 * K + 2 * H, "{took:?}");
        assert_eq!(stage.overlap(), NOTHING);
    }
}

/// "ALLCALL does not guarantee that there will never be more than one leader. Availability in the
/// face of network partition is desirable."
#[test]
fn s18_each_part_has_a_leader() {
    let mut stage = Stage::led(4);
    stage.partition(&[0, 1]);
    stage.pass(L + 3 * K + 2 * H);
    assert_eq!(stage.leaders(X), [0, 2]);
    // Each of ten participants that hear no other leads. After the heal rank 0 leads.
    let mut stage = Stage::new(10);
    stage.isolate_all();
    for node in 0..10 {
        stage.contend(node);
        stage.nodes[node].again = true;
        stage.pass(ms(70));
    }
    stage.pass(2 * L);
    assert_eq!(stage.leaders(X).len(), 10);
    stage.heal();
    let took = stage.until(L + K + 3 * H, |stage| stage.leaders(X) == [0]);
    assert!(took <= L + K + 3 * H, "{took:?}");
}

/// "ALLCALL does not guarantee that a leader will always be present, but the cluster will have a
/// leader after one lease term + maxClockSkew": and two rounds, which announce and elect it.
#[test]
fn s19_start_elects_within_bound() {
    let mut stage = Stage::new(3);
    stage.contend_together(3);
    stage.pass(L + K);
    assert!(stage.leaders(X).is_empty());
    stage.pass(3 * H + ms(10));
    assert_eq!(stage.leaders(X), [0]);
}

/// "One and two nodes, or an even number of nodes, will work just fine."
#[test]
fn s20_any_number_of_nodes_is_fine() {
    for nodes in [1, 2, 3, 4, 5, 16, 50] {
        let mut stage = Stage::led(nodes);
        stage.pass(2 * L);
        assert_eq!(stage.leaders(X), [0], "{nodes}");
        assert_eq!(stage.overlap(), NOTHING);
        let elected = |event: &Event| matches!(event, Event::Elected { .. });
        let elections: usize = (0..nodes).map(|node| stage.told(node, elected)).sum();
        assert_eq!(elections, 1, "a leader goes on: {nodes}");
        for node in 0..nodes {
            stage.command(node, X, tenure_core::Command::Resign);
        }
        assert!(stage.leaders(X).is_empty());
    }
}

//! Ends before their leases: tombstones and hand-overs (rulings 2 and 7).

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_core::allcall::{Body, Callers, Command, Config, Event};
use tenure_core::{End, Loss, View};

use crate::stage::{Says, Stage, X, config, ms};

/// A heartbeat and two delays after the stop.
const SOON: Duration = Duration::from_millis(1_003);

#[test]
fn a_clean_stop_is_followed_within_a_heartbeat() {
    for phase in [0, 250, 500, 999] {
        let mut stage = Stage::led(2);
        stage.pass(ms(phase));
        stage.command(0, X, Command::Resign);
        assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Resigned)));
        stage.kill(0);
        stage.pass(SOON);
        assert_eq!(stage.leaders(X), [1], "{phase}");
        assert_eq!(stage.overlap(), Duration::ZERO);
    }
}

#[test]
fn late_claim_revives_no_tombstone() {
    let mut stage = Stage::led(2);
    let mut stale = stage.last(0, |body| matches!(body, Body::Call(_)));
    if let Body::Call(call) = &mut stale.body {
        call.round.0 += 1;
    }
    stage.command(0, X, Command::Resign);
    stage.kill(0);
    stage.pass(ms(5));
    stage.deliver(1, stale);
    stage.pass(SOON);
    assert_eq!(stage.leaders(X), [1]);
}

#[test]
fn missed_resignation_arrives_through_others() {
    let mut stage = Stage::led(3);
    stage.own.loses = |_, to, packet| to == 1 && matches!(packet.body, Body::Resign(_));
    stage.command(0, X, Command::Resign);
    stage.kill(0);
    stage.pass(SOON + ms(1_000));
    assert_eq!(stage.leaders(X), [1]);
}

#[test]
fn repeated_hand_over_ends_no_term() {
    let mut stage = Stage::led(2);
    stage.kill(1);
    stage.command(0, X, Command::Resign);
    let hand_over = stage.last(0, |body| matches!(body, Body::Resign(_)));
    stage.campaign(0, X);
    stage.contend(1);
    stage.observe(1, X);
    stage.pass(ms(4_000));
    assert_eq!(stage.leaders(X), [0], "in its second term");
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
    stage.deliver(1, hand_over);
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
}

#[test]
fn resigned_leader_leads_again() {
    let mut stage = Stage::led(1);
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    // The process has listened all the time, so the first round announces it, and the next round
    // elects it.
    stage.pass(ms(2_100));
    assert_eq!(stage.leaders(X), [0]);
    let said = stage.said(0);
    let claim = said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap();
    assert_eq!(claim.term, 2);
}

#[test]
fn a_campaign_that_is_withdrawn_ends_quietly() {
    let mut stage = Stage::led(2);
    stage.own.log.clear();
    stage.command(1, X, Command::Resign);
    assert_eq!(stage.ended(1, X), Some(&End::Withdrawn));
    assert_eq!(stage.told(1, |event| *event == Event::Released), 1);
    assert!(stage.own.log.is_empty());
    stage.command(1, X, Command::Resign);
    assert_eq!(stage.told(1, |event| *event == Event::Released), 1, "again does nothing");
}

/// No state is left of an election that ended long ago.
#[test]
fn an_election_is_forgotten() {
    let mut stage = Stage::led(1);
    stage.command(0, X, Command::Resign);
    stage.pass(ms(20_000));
    stage.own.log.clear();
    stage.pass(ms(20_000));
    assert!(stage.own.log.is_empty());
    stage.observe(0, X);
    // The process has forgotten the election, so it listens for L + K.
    stage.pass(ms(12_000));
    assert_eq!(stage.view(0, X), Some(&View::Vacant));
    assert_eq!(stage.calls(0), 0, "an asker never calls");
}

/// Each of two servers delivers its own packets first, and others 50 ms later. A leader gives up
/// and campaigns again at once. If its former announcement still counted, the leader and the other
/// participant would stand at the same time. Each would then hear its own claim first.
#[test]
fn new_campaign_is_announced_first() {
    let mut stage = Stage::new(2);
    stage.own.route = ms(50);
    stage.contend_together(2);
    // The leader gives up in the middle of a round, after the answers.
    stage.pass(ms(15_500));
    assert_eq!(stage.leaders(X), [0]);
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    stage.pass(ms(10_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Each server delivers its own packets first, and others 190 ms later. A candidate withdraws,
/// answers a question, and campaigns again, all in one round. If its earlier announcement still
/// counted, the candidate would stand at its next call. The other candidate, which has heard the
/// answer, would stand at the same time. Each would then hear its own claim first.
#[test]
fn withdrawal_takes_announcement_back() {
    let mut stage = Stage::new(4);
    stage.delay = ms(10);
    stage.own.route = ms(190);
    (0..4).for_each(|node| stage.join(node));
    // In each heartbeat candidate 1 calls first, then the leader, then candidate 2.
    for (node, pause) in [(1, 10), (0, 40), (2, 0)] {
        stage.campaign(node, X);
        stage.pass(ms(pause));
    }
    // Candidate 1 called 20 ms ago, and answers the question together with the call of candidate 2.
    stage.pass(ms(14_981));
    assert_eq!(stage.leaders(X), [0]);
    stage.observe(3, X);
    stage.pass(ms(130));
    stage.command(1, X, Command::Resign);
    stage.pass(ms(450));
    stage.campaign(1, X);
    stage.pass(ms(100));
    stage.command(0, X, Command::Resign);
    stage.pass(ms(10_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// The better candidate withdraws before it leads, and campaigns again, over and over. An
/// application that waits only until a deadline does so.
#[test]
fn repeated_withdrawals_block_no_leader() {
    for (every, pause) in [(500, 0), (300, 0), (500, 100), (700, 300), (1_000, 0), (900, 450)] {
        let mut stage = Stage::new(2);
        stage.contend_together(2);
        stage.pass(ms(11_000));
        for _ in 0..12_000 / every {
            if !stage.leaders(X).is_empty() {
                break;
            }
            stage.command(0, X, Command::Resign);
            stage.pass(ms(pause));
            stage.campaign(0, X);
            stage.pass(ms(every - pause));
        }
        assert_eq!(stage.leaders(X).len(), 1, "{every} {pause}");
    }
    // The same holds when all candidates withdraw again and again.
    for (nodes, every) in [(1, 500), (1, 300), (2, 500), (2, 900)] {
        let mut stage = Stage::new(nodes);
        stage.contend_together(nodes);
        stage.pass(ms(11_200));
        for _ in 0..12_000 / every {
            if !stage.leaders(X).is_empty() {
                break;
            }
            for node in 0..nodes {
                stage.command(node, X, Command::Resign);
                stage.campaign(node, X);
            }
            stage.pass(ms(every));
        }
        assert_eq!(stage.leaders(X).len(), 1, "{nodes} {every}");
    }
}

/// Twenty leaders follow each other, and each resigns as soon as it leads. With a lease of 30 s
/// more tombstones are alive than there is room for.
#[test]
fn many_clean_stops_are_heard() {
    let lease = ms(30_000);
    let configs = (0..20).map(|node| Config { lease, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    (0..20).for_each(|node| stage.contend(node));
    stage.pass(ms(34_000));
    for node in 0..19 {
        let took = stage.until(ms(60_000), |stage| stage.leaders(X) == [node]);
        // The story checks for a leader every 5 ms.
        assert!(took <= ms(1_010), "{node} leads {took:?} after the one before it has stopped");
        stage.command(node, X, Command::Resign);
    }
}

/// The best follower withdraws and dies without a packet. The others count it as present for 2.5 H.
#[test]
fn departed_candidate_delays_its_successor() {
    let mut stage = Stage::led(3);
    stage.command(1, X, Command::Resign);
    stage.kill(1);
    stage.pass(ms(1));
    stage.command(0, X, Command::Resign);
    let took = stage.until(ms(60_000), |stage| stage.leaders(X) == [2]);
    // The successor stands at the end of a round.
    assert!(took > ms(1_500) && took <= ms(3_510), "{took:?}");
}

/// The only caller is gone. The next candidate begins to call after one round, is eligible after
/// the second, and is announced in the third.
#[test]
fn next_caller_calls_two_rounds_first() {
    let callers = Callers::Few(NonZeroU16::MIN);
    let configs = (0..3).map(|node| Config { callers, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.contend_together(3);
    stage.pass(ms(30_500));
    assert_eq!(stage.leaders(X), [0]);
    stage.command(0, X, Command::Resign);
    let took = stage.until(ms(60_000), |stage| stage.leaders(X) == [1]);
    assert!(took > ms(2_000) && took <= ms(3_010), "{took:?}");
}

#[test]
fn released_is_told_when_others_know() {
    let mut stage = Stage::led(2);
    stage.observe(1, X);
    stage.pass(ms(500));
    // The client holds back what the process publishes.
    stage.nodes[0].own.holds_back = true;
    stage.command(0, X, Command::Resign);
    stage.pass(ms(100));
    let follows = stage.view(1, X).and_then(|view| view.leader()).is_some();
    let released = stage.told(0, |event| *event == Event::Released);
    assert!(follows && released == 0, "others follow it still");
    stage.let_go(0);
    stage.pass(ms(5));
    assert!(stage.view(1, X).and_then(|view| view.leader()).is_none());
    assert_eq!(stage.told(0, |event| *event == Event::Released), 1);
}

/// The leader's packets reach no other participant: the leader reports its release when the lease
/// has run out.
#[test]
fn release_is_reported_after_the_lease() {
    let mut stage = Stage::led(2);
    stage.cut_off(0);
    stage.command(0, X, Command::Resign);
    // The leader was granted or renewed its lease at most half a lease and a heartbeat ago.
    stage.pass(ms(3_900));
    assert_eq!(stage.told(0, |event| *event == Event::Released), 0);
    stage.pass(ms(6_200));
    assert_eq!(stage.told(0, |event| *event == Event::Released), 1);
}

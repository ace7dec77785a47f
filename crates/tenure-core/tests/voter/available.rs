//! The mode `available`: a leader in each region, without an end and without a fence.

use std::time::Duration;

use tenure_core::voter::{
    Answer, Ask, Command, Config, Event, Founding, Message, Mode, Peer, Refusal, VoteDto,
};
use tenure_core::{End, Input, Loss, Standing, Time, View};

use crate::stage::{Stage, X, ballot, config, id, leads, ms, refusal, url};

fn regions(nodes: usize) -> Stage {
    regions_with(nodes, |config| config)
}

fn regions_with(nodes: usize, change: impl Fn(Config) -> Config) -> Stage {
    let of = |node| Config { founding: Founding::Anybody, ..config(node, nodes) };
    let config = |node| change(Config { mode: Mode::Available, ..of(node) });
    let mut stage = Stage::with((0..nodes).map(config).collect());
    for node in 0..nodes {
        stage.start(node);
        let urls = (0..nodes).map(url).collect();
        stage.hand(node, Input::Message { from: Peer::Caller(0), message: Message::Seeds(urls) });
        stage.campaign(node, X);
        stage.nodes[node].again = true;
    }
    stage
}

/// A leader in the only region.
fn led(nodes: usize) -> (Stage, usize) {
    let mut stage = regions(nodes);
    stage.until(ms(8_000), |stage| stage.leaders(X).len() == 1);
    stage.pass(ms(1_200));
    assert!(!stage.own.two_led);
    let leader = stage.leaders(X)[0];
    (stage, leader)
}

#[test]
fn a_leader_has_neither_end_nor_fence() {
    let (mut stage, leader) = led(3);
    assert_eq!(stage.standing(leader, X), Standing::Leading { until: Time::MAX, fence: None });
    let settled = stage.told(leader, |event| matches!(event, Event::Settled));
    assert_eq!(settled, 1);
    stage.pass(Duration::from_secs(120));
    assert_eq!(stage.leaders(X), [leader], "and goes on as long as it is heard");
    assert!(!stage.own.two_led);
}

#[test]
fn lonely_voter_leads_its_region() {
    let mut stage = regions(2);
    stage.partition(&[0]);
    stage.until(ms(10_000), |stage| stage.leaders(X) == [0, 1]);
}

#[test]
fn a_leader_that_is_gone_is_followed() {
    let (mut stage, leader) = led(3);
    stage.kill(leader);
    let took = stage.until(ms(8_000), |stage| stage.leaders(X).len() == 1);
    assert!(took > ms(2_000), "{took:?}");
    assert!(!stage.own.two_led);
}

/// A leader that resigns informs the others, so another candidate leads soon. The former leader
/// goes on as a voter.
#[test]
fn resigned_leader_is_replaced_at_once() {
    let (mut stage, leader) = led(3);
    stage.nodes[leader].again = false;
    stage.command(leader, X, Command::Resign);
    assert!(stage.leaders(X).is_empty());
    let took = stage.until(ms(8_000), |stage| stage.leaders(X).len() == 1);
    assert_ne!(stage.leaders(X), [leader]);
    assert!(took < ms(2_000), "{took:?}");
    // The others do not hear of the resignation. They wait as long as for a dead leader, although
    // the former leader answers after the heal.
    let (mut stage, leader) = led(3);
    stage.nodes[leader].again = false;
    stage.partition(&[leader]);
    stage.command(leader, X, Command::Resign);
    stage.pass(ms(1_500));
    stage.cut.clear();
    stage.until(ms(10_000), |stage| stage.leaders(X).len() == 1);
    assert_ne!(stage.leaders(X), [leader]);
    assert!(!stage.own.two_led);
}

/// Only one voter misses the leader's heartbeats, and does not replace the leader.
#[test]
fn a_leader_that_others_reach_is_not_replaced() {
    let (mut stage, leader) = led(3);
    let one = (leader + 1) % 3;
    stage.cut = vec![(leader, one), (one, leader)];
    stage.pass(Duration::from_secs(60));
    assert_eq!(stage.leaders(X), [leader]);
}

#[test]
fn two_leaders_become_one_after_a_heal() {
    for seed in 0..10 {
        let mut stage = regions(4);
        stage.pass(ms(seed * 37));
        stage.partition(&[0, 1]);
        stage.until(ms(10_000), |stage| stage.leaders(X).len() == 2);
        stage.cut.clear();
        // A single draw is enough, and the lesser leader has stopped before that.
        let most = stage.nodes[0].config.failover();
        stage.pass(most);
        assert_eq!(stage.leaders(X).len(), 1, "{seed}");
        stage.pass(Duration::from_secs(20));
        assert_eq!(stage.leaders(X).len(), 1, "{seed}");
    }
}

#[test]
fn lesser_leader_stops_on_heartbeat() {
    let mut stage = regions(2);
    stage.partition(&[0]);
    stage.until(ms(10_000), |stage| stage.leaders(X) == [0, 1]);
    stage.cut.clear();
    stage.nodes.iter_mut().for_each(|node| node.again = false);
    // Both have counter 1, and n1 is greater.
    stage.until(ms(2_500), |stage| stage.leaders(X) == [1]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Superseded)));
}

/// The greater leader cannot call the lesser leader. The lesser leader calls the greater, and
/// learns of it from the answer.
#[test]
fn lesser_leader_stops_on_answer() {
    let mut stage = regions(2);
    stage.partition(&[0]);
    stage.until(ms(10_000), |stage| stage.leaders(X) == [0, 1]);
    (stage.cut, stage.own.uncalled) = (Vec::new(), vec![(1, 0)]);
    stage.nodes.iter_mut().for_each(|node| node.again = false);
    stage.until(ms(6_000), |stage| stage.leaders(X) == [1]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Superseded)));
}

/// n0 has cast its number, and is cut off. Returns its vote.
fn drawing() -> (Stage, VoteDto) {
    let mut stage = regions(3);
    stage.delay = ms(100);
    let casts = |stage: &Stage| stage.asked(0, |ask| matches!(ask, Ask::Cast(_)));
    stage.until(ms(8_000), |stage| casts(stage).len() == 2);
    stage.partition(&[0]);
    let Some((.., Ask::Cast(own))) = casts(&stage).pop() else { panic!("no number was cast") };
    (stage, own)
}

/// n1 refuses the number of n0, because n1 takes part in a greater ballot of the same counter. If
/// n0 did not wait for n1, both ballots would have a winner.
#[test]
fn voter_in_another_ballot_is_awaited() {
    let (mut stage, own) = drawing();
    let counted = |stage: &Stage| stage.asked(0, |ask| matches!(ask, Ask::Result(_))).len();
    for (_, by, call, ask) in stage.asked(0, |ask| matches!(ask, Ask::Cast(_))) {
        let Ask::Cast(vote) = ask else { continue };
        let answer = match by {
            1 => Answer::Refused(Refusal::Left),
            _ => Answer::Cast(VoteDto { voter_id: id(by), vote: None, ..vote }),
        };
        stage.reply(0, (by, call), stage.header(by), answer);
    }
    assert_eq!(counted(&stage), 0, "n1 is there");
    let greater = VoteDto { voter_id: id(1), ballot: ballot(own.ballot.counter, 1), ..own };
    let caller = stage.voter(1);
    assert!(matches!(stage.ask(0, caller, Ask::Cast(greater)), Some(Answer::Cast(_))));
}

/// n1 wins with a lower ballot of the same counter while n0 draws. n0 then leaves its ballot.
#[test]
fn heard_leader_ends_the_ballot() {
    let (mut stage, own) = drawing();
    let won = ballot(own.ballot.counter, 1);
    let (caller, heartbeat) = (stage.voter(1), leads(&stage, 1, 9, &won, own.electorate));
    assert!(matches!(stage.ask(0, caller, heartbeat), Some(Answer::Heartbeat(_))));
    let Config { cast_timeout, result_timeout, .. } = stage.nodes[0].config;
    stage.pass(cast_timeout + result_timeout);
    assert!(!stage.leaders(X).contains(&0));
}

/// Heartbeats are long. During a cut each leader drops the other. After the cut they find each
/// other again.
#[test]
fn mutually_dropped_leaders_become_one() {
    for phase in 0..10 {
        let mut stage = regions_with(4, |config| Config { heartbeat: ms(10_000), ..config });
        stage.pass(ms(60_000));
        stage.partition(&[0, 1]);
        stage.until(ms(120_000), |stage| stage.leaders(X).len() == 2);
        stage.pass(ms(90_000 + 1_000 * phase));
        assert_eq!(stage.leaders(X).len(), 2);
        stage.cut.clear();
        let failover = stage.nodes[0].config.failover();
        stage.pass(failover);
        assert_eq!(stage.leaders(X).len(), 1, "{phase}");
    }
}

#[test]
fn there_is_no_electorate_to_change() {
    use tenure_core::voter::{Ask, Caller, Change};
    let (mut stage, leader) = led(2);
    let change = Ask::Change(Change::Remove(id(1 - leader)));
    let refused = refusal(stage.ask(leader, Caller::Operator, change));
    assert!(matches!(refused, Refusal::NotLeading { .. }));
    assert!(stage.status(leader).electorate.is_none());
    assert!(stage.memory(leader).electorate.is_none());
}

#[test]
fn an_observer_sees_the_leader_without_an_end() {
    use tenure_core::voter::Command;
    let (mut stage, leader) = led(3);
    let observer = (leader + 1) % 3;
    stage.command(observer, X, Command::Observe { every: Duration::ZERO });
    let Some(View::Leader(seen)) = stage.view(observer, X).cloned() else { panic!("no leader") };
    assert_eq!((&*seen.id, seen.until, seen.fence), (&*format!("n{leader}"), None, None));
    stage.pass(ms(5_000));
    let Some(View::Leader(now)) = stage.view(observer, X) else { panic!("no leader") };
    assert!(now.heard > seen.heard, "the leader was heard again");
}

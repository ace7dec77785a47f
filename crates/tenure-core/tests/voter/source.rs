//! The numbered sentences of the text, each with a test, in its order: S1 to S20 of the table in
//! the module's document. `docs/seeds/voter.md` goes through the whole text.

use std::time::Duration;

use tenure_core::voter::{
    Answer, Ask, BeatenDto, Caller, Config, Founding, Listed, Message, OwnEvent, Peer, Refusal,
    Role,
};
use tenure_core::{End, Input, Loss};

use crate::condition::waits;
use crate::stage::{
    Stage, X, ballot, cast, config, dto, election, id, leads, ms, refusal, shared, url,
};

/// The defaults of H and t.
const H: Duration = Duration::from_secs(1);
const T: Duration = Duration::from_millis(300);

/// Voters that find each other at seeds.
fn strangers(nodes: usize) -> Stage {
    let expected = |node| Config { founding: Founding::Expected(nodes as u16), ..config(node, 1) };
    Stage::with((0..nodes).map(expected).collect())
}

fn seeds(stage: &mut Stage, node: usize, at: &[usize]) {
    let urls = at.iter().map(|node| url(*node)).collect();
    stage.hand(node, Input::Message { from: Peer::Caller(0), message: Message::Seeds(urls) });
}

fn registers(stage: &Stage, node: usize) -> usize {
    stage.asked(node, |ask| matches!(ask, Ask::Register(_))).len()
}

/// "`voter-url`, `voter-id`, `voter-list`, `heartbeat-interval`, `missed-heartbeat-tolerance`".
#[test]
fn s1_five_settings_make_a_voter() {
    let listed = Listed { id: id(1), url: url(1) };
    let five = Config {
        founding: Founding::List([listed].into()),
        heartbeat: 2 * H,
        tolerance: 4,
        ..Config::new(election(), id(0), url(0))
    };
    let checked = five.check().unwrap();
    assert_eq!(checked.silence(), 10 * H);
}

/// "The voter retrieves the list of seed IP addresses and creates a list of potential voter URLs."
#[test]
fn s2_seeds_are_where_others_may_be() {
    let mut stage = strangers(3);
    stage.start(0);
    stage.pass(3 * H);
    assert_eq!(stage.own.log.len(), 0, "it knows nobody");
    seeds(&mut stage, 0, &[0, 1, 2]);
    stage.pass(H);
    let asked: Vec<_> = stage.own.log.iter().map(|(_, _, to, ..)| *to).collect();
    assert_eq!(asked, [0, 1, 2]);
}

/// "Try to invoke the `register` API of each of the seed URLs until a valid response is received."
#[test]
fn s3_voter_registers_until_answered() {
    let mut stage = strangers(2);
    (0..2).for_each(|node| stage.start(node));
    seeds(&mut stage, 0, &[1]);
    stage.pass(H + ms(10));
    assert_eq!(stage.status(0).known_voters.len(), 2);
    assert_eq!(stage.status(1).known_voters.len(), 2);
    let before = registers(&stage, 0);
    stage.pass(3 * H);
    assert_eq!(registers(&stage, 0), before);
}

/// "If the response if from the sender, then then try the other seed addresses."
#[test]
fn s4_own_answer_does_not_count() {
    let mut stage = strangers(2);
    stage.start(0);
    seeds(&mut stage, 0, &[0]);
    stage.pass(H + ms(10));
    assert_eq!(stage.status(0).known_voters, [dto(0, Role::None)]);
    stage.start(1);
    seeds(&mut stage, 0, &[0, 1]);
    stage.pass(2 * H);
    assert_eq!(stage.status(0).known_voters.len(), 2);
    let before = registers(&stage, 0);
    stage.pass(5 * H);
    assert_eq!(registers(&stage, 0), before, "nor is it asked again");
}

/// By mistake two voters give the same URL. A balancer there passes requests to them in turn. At
/// first each voter is answered by itself.
#[test]
fn s4_shared_voter_url_is_reported() {
    let same = |node| Config { founding: Founding::Expected(2), url: shared(), ..config(node, 1) };
    let mut stage = Stage::with((0..2).map(same).collect());
    (0..2).for_each(|node| stage.start(node));
    stage.own.balanced = [0, 1].into();
    for node in 0..2 {
        let message = Message::Seeds(vec![shared()]);
        stage.hand(node, Input::Message { from: Peer::At(shared()), message });
        stage.campaign(node, X);
    }
    stage.pass(10 * H);
    let told = "n0 and n1 both give http://all as their voter-url: ";
    assert!(waits(&stage, 0).contains(told), "{}", waits(&stage, 0));
}

/// Pods behind one name, "Use DNS delegation for Load Balancing". At first each voter is answered
/// by itself, then in pairs by another.
#[test]
fn s4_shared_address_finds_all_voters() {
    let mut stage = founded_behind_one_address();
    let before = registered(&stage);
    stage.pass(10 * H);
    assert_eq!(registered(&stage), before, "all are known");
    stage.elect(3, ms(20_000));
}

/// After a power cut the directories have the founding, but no addresses.
#[test]
fn s4_killed_network_finds_itself() {
    let mut stage = founded_behind_one_address();
    (0..4).for_each(|node| stage.kill(node));
    stage.pass(H);
    (0..4).for_each(|node| stage.start(node));
    ask_at_shared_address(&mut stage);
    stage.elect(3, ms(20_000));
    stage.pass(10 * H);
    assert!((0..4).all(|node| stage.status(node).known_voters.len() == 4));
}

fn founded_behind_one_address() -> Stage {
    let mut stage = strangers(4);
    (0..4).for_each(|node| stage.start(node));
    ask_at_shared_address(&mut stage);
    stage.until(ms(20_000), |stage| (0..4).all(|node| stage.memory(node).founded));
    stage
}

/// Lets each of four voters be answered by itself, and then in pairs by another.
fn ask_at_shared_address(stage: &mut Stage) {
    stage.own.balanced = [0, 1, 2, 3].into();
    for node in 0..4 {
        let message = Message::Seeds(vec![shared()]);
        stage.hand(node, Input::Message { from: Peer::At(url(node)), message });
    }
    stage.pass(H);
    stage.own.balanced = [1, 0, 3, 2].into();
    stage.pass(H);
}

fn registered(stage: &Stage) -> usize {
    (0..stage.nodes.len()).map(|node| registers(stage, node)).sum()
}

/// "The voter enters a lazy loop trying to register with another voter."
#[test]
fn s5_voter_retries_each_heartbeat() {
    let mut stage = strangers(2);
    stage.start(0);
    seeds(&mut stage, 0, &[1]);
    stage.pass(10 * H);
    assert_eq!(registers(&stage, 0), 10);
    stage.start(1);
    stage.pass(2 * H);
    assert_eq!(stage.status(0).known_voters.len(), 2);
    // Here voter 1 registers with voter 0.
    let mut stage = strangers(2);
    stage.start(0);
    stage.pass(2 * H);
    stage.start(1);
    seeds(&mut stage, 1, &[0]);
    stage.pass(2 * H);
    assert_eq!(stage.status(0).known_voters.len(), 2);
    assert_eq!(registers(&stage, 0), 0);
}

/// "Because the current leader has stopped sending heartbeats and the followers decide".
#[test]
fn s6_silent_leader_is_replaced_after_promise() {
    let mut stage = Stage::led(3);
    stage.kill(0);
    let lease = stage.nodes[1].config.lease();
    let most = stage.nodes[1].config.failover();
    let took = stage.until(most, |stage| stage.leaders(X).len() == 1);
    assert!(took + H > lease, "{took:?}");
    assert!(!stage.own.two_led);
}

/// "Or through an external call to start an election."
#[test]
fn s7_permitted_caller_starts_an_election() {
    let mut stage = Stage::founded(3);
    assert_eq!(stage.ask(1, Caller::Operator, Ask::Start), Some(Answer::Started(None)));
    stage.pass(ms(50));
    let drawing = |event: &OwnEvent| matches!(event, OwnEvent::Drawing { .. });
    assert!((0..3).all(|node| stage.told_own(node, drawing) == 1));
    assert!(stage.leaders(X).is_empty(), "nobody wants to");
    let mut stage = Stage::led(3);
    assert!(matches!(refusal(stage.ask(1, Caller::Operator, Ask::Start)), Refusal::Leads(_)));
}

/// "It first requests a health check from the other voters, including the leader."
#[test]
fn s8_the_others_are_asked_about_the_suspect() {
    let mut stage = Stage::led(3);
    stage.kill(0);
    stage.own.log.clear();
    stage.until(ms(10_000), |stage| stage.leaders(X).len() == 1);
    let doubts = |ask: &Ask| matches!(ask, Ask::Status { suspect: Some(of) } if *of == id(0));
    let (starter, other) = if stage.asked(1, doubts).is_empty() { (2, 1) } else { (1, 2) };
    let (_, to, ..) = stage.asked(starter, doubts)[0];
    assert_eq!(to, other);
    let asked = stage.asked(starter, |ask| matches!(ask, Ask::Status { suspect: None }));
    assert!(asked.iter().any(|(_, to, ..)| *to == 0), "the leader, too");
    let probed = stage.asked(other, |ask| matches!(ask, Ask::Status { suspect: None }));
    assert!(probed.iter().any(|(_, to, ..)| *to == 0), "on behalf of the starter");
}

/// "If the other voters agree that the leader has failed its health check, then the leader is
/// removed from the voter pool."
#[test]
fn s9_unreached_suspect_is_dropped() {
    let mut stage = Stage::led(3);
    stage.kill(0);
    stage.pass(ms(60_000));
    let dropped = |event: &OwnEvent| *event == OwnEvent::Dropped { id: id(0) };
    assert!(stage.told_own(1, dropped) + stage.told_own(2, dropped) > 0);
}

/// "Each voter casts a vote by creating a random Long Integer and sending it to each of the
/// voters. The voter with the highest number wins the election."
#[test]
fn s10_highest_number_wins() {
    let mut stage = Stage::founded(5);
    (0..5).for_each(|node| stage.campaign(node, X));
    stage.until(ms(4_000), |stage| stage.leaders(X).len() == 1);
    let leader = stage.leaders(X)[0];
    let Some(Answer::Election(last)) = stage.ask(0, Caller::Anybody, Ask::LastResult) else {
        panic!("no result");
    };
    let highest = last.votes.iter().max_by_key(|(_, vote)| *vote).unwrap();
    assert_eq!((last.votes.len(), &highest.0), (5, &id(leader)));
    assert!(last.votes.iter().all(|(_, vote)| vote.is_some()));
    for node in 0..5 {
        let of_last = |ask: &Ask| matches!(ask, Ask::Cast(vote) if vote.ballot == last.ballot);
        assert_eq!(stage.asked(node, of_last).len(), 4);
    }
}

/// "Ties are recast."
#[test]
fn s11_ties_are_recast_until_somebody_wins() {
    let mut stage = Stage::founded(3);
    for attempt in 0..3 {
        let ballot = tenure_core::voter::Ballot { attempt, ..ballot(9, 1) };
        for by in [1, 2] {
            let (caller, vote) = (stage.voter(by), cast(&stage, by, &ballot, 7));
            stage.ask(0, caller, vote).unwrap();
        }
    }
    assert_eq!(stage.told_own(0, |event| matches!(event, OwnEvent::Tie { .. })), 3);
}

/// All voters draw from the same seed: their first numbers are equal. The numbers after a tie
/// differ by the voters' ids.
#[test]
fn s11_ties_end_where_all_draw_alike() {
    let mut stage = Stage::new(3);
    stage.own.alike = true;
    (0..3).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    let mut number = |node, attempt| {
        let ballot = tenure_core::voter::Ballot { attempt, ..ballot(9, 1) };
        let (caller, vote) = (stage.voter(1), cast(&stage, 1, &ballot, None));
        stage.campaign(node, X);
        match stage.ask(node, caller, vote) {
            Some(Answer::Cast(vote)) => vote.vote,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(number(0, 0), number(2, 0));
    assert_ne!(number(0, 1), number(2, 1));
}

/// "Each voter sends their version of the results to each other voter. If they all agree, then the
/// election is certified."
#[test]
fn s12_results_make_a_certificate() {
    let mut stage = Stage::led(3);
    for node in 0..3 {
        assert_eq!(stage.asked(node, |ask| matches!(ask, Ask::Result(_))).len(), 2);
        let certified = |event: &OwnEvent| matches!(event, OwnEvent::Certified { .. });
        assert_eq!(stage.told_own(node, certified), 1);
        let Some(Answer::Election(last)) = stage.ask(node, Caller::Anybody, Ask::LastResult) else {
            panic!("no result");
        };
        assert!(last.certified && last.endorsed_by.len() >= 2);
    }
}

/// "If the current leader is still running, its role is updated to `FOLLOWER`, and the new leader
/// takes on the role of `LEADER`."
#[test]
fn s13_the_old_leader_follows_the_new_one() {
    let mut stage = Stage::led(3);
    stage.ask(0, Caller::Operator, Ask::Start).unwrap();
    stage.until(ms(10_000), |stage| ![&[][..], &[0]].contains(&&stage.leaders(X)[..]));
    stage.pass(ms(1_200));
    let leader = stage.leaders(X)[0];
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    let roles: Vec<_> = stage.status(0).known_voters.iter().map(|voter| voter.role).collect();
    let expected = |node| if node == leader { Role::Leader } else { Role::Follower };
    assert_eq!(roles, (0..3).map(expected).collect::<Vec<_>>());
}

/// "Each voter periodically checks the health of every other voter."
#[test]
fn s14_each_calls_each_once_a_heartbeat() {
    let mut stage = Stage::led(3);
    stage.pass(ms(10));
    stage.own.log.clear();
    stage.pass(10 * H);
    for node in 0..3 {
        assert_eq!(stage.asked(node, |ask| matches!(ask, Ask::Heartbeat(_))).len(), 20);
    }
    assert_eq!(stage.own.log.len(), 60, "and nothing else");
}

/// "The health response is a StatusDto object."
#[test]
fn s14_heartbeat_answer_is_a_status() {
    let mut stage = Stage::led(3);
    let (caller, electorate) = (stage.voter(2), stage.electorate(2));
    let Ask::Heartbeat(mut beat) = leads(&stage, 2, 9_000, &ballot(1, 2), electorate) else {
        unreachable!()
    };
    (beat.lease, beat.sender.role) = (None, Role::Follower);
    let status = stage.status(1);
    assert_eq!(status.leader.as_ref().unwrap().leadership.leader.id, id(0));
    let answer = stage.ask(1, caller, Ask::Heartbeat(beat));
    let whole = BeatenDto { seq: 9_000, status: Some(status.into()), ..BeatenDto::default() };
    assert_eq!(answer, Some(Answer::Heartbeat(whole)));
}

/// "Update VoterState.knownVoters.[voterId].Voter.lastHeartBeat with the system time."
#[test]
fn s15_heard_leader_is_not_suspected() {
    let mut stage = Stage::led(3);
    stage.own.log.clear();
    stage.pass(60 * H);
    assert!(
        stage.own.log.iter().all(|(.., ask)| !matches!(ask, Ask::Status { .. } | Ask::Cast(_)))
    );
}

/// Voters 0 and 1 know each other, and no voter knows voter 2.
fn unknown() -> Stage {
    let mut stage = strangers(3);
    stage.nodes.iter_mut().for_each(|node| node.config.founding = Founding::Expected(64));
    (0..3).for_each(|node| stage.start(node));
    seeds(&mut stage, 0, &[1]);
    stage.pass(2 * H);
    stage.own.log.clear();
    stage
}

/// "The receiving voter sends its own known voter list back to the `reconcile` endpoint of the
/// voter who sent the heartbeat message."
#[test]
fn s16_lists_that_differ_are_reconciled() {
    let mut stage = unknown();
    seeds(&mut stage, 0, &[1, 2]);
    stage.pass(3 * H);
    let reconciles = |ask: &Ask| matches!(ask, Ask::Reconcile(known) if known.len() == 2);
    assert!(!stage.asked(1, reconciles).is_empty());
}

/// "Invokes the `status` endpoint of any unknown voters […]. If it receives a response then it
/// adds the voter to its list."
#[test]
fn s17_an_unknown_voter_that_answers_is_known() {
    let mut stage = unknown();
    seeds(&mut stage, 0, &[1, 2]);
    stage.pass(3 * H);
    let (_, to, ..) = stage.asked(1, |ask| matches!(ask, Ask::Status { .. }))[0];
    assert_eq!(to, 2);
    assert!((0..3).all(|node| stage.nodes[node].core.clone().who().id == id(node)));
    assert_eq!(stage.status(1).known_voters.len(), 3);
}

/// A voter also asks voters that its seed names.
#[test]
fn s17_seeds_voters_are_known() {
    let mut stage = strangers(3);
    (0..3).for_each(|node| stage.start(node));
    seeds(&mut stage, 1, &[2]);
    stage.pass(2 * H);
    assert_eq!(stage.status(1).known_voters.len(), 2);
    seeds(&mut stage, 0, &[1]);
    while stage.status(0).known_voters.len() == 1 {
        stage.pass(ms(1));
    }
    let (_, to, ..) = stage.asked(0, |ask| matches!(ask, Ask::Status { .. }))[0];
    assert_eq!(to, 2, "without waiting for a heartbeat of one of them");
}

/// "If it does not receive a response, then it invokes the `remove` endpoint of the sending
/// voter."
#[test]
fn s18_silent_voter_is_reported_to_sender() {
    let mut stage = unknown();
    stage.cut = vec![(1, 2), (2, 1)];
    seeds(&mut stage, 0, &[1, 2]);
    stage.pass(4 * H);
    let removes = |ask: &Ask| matches!(ask, Ask::Remove { voter, .. } if *voter == id(2));
    assert_eq!(stage.asked(1, removes)[0].1, 0);
    assert_eq!(stage.status(0).known_voters.len(), 3, "which reaches it");
}

/// "Get the current leader, and the list of voters."
#[test]
fn s19_status_names_leader_and_voters() {
    let mut stage = Stage::led(3);
    for node in 0..3 {
        let status = stage.status(node);
        let leader = status.leader.unwrap();
        assert_eq!((leader.leadership.leader.id, leader.value.as_str()), (id(0), "v0"));
        let remaining = leader.remaining.unwrap();
        assert!(remaining > Duration::ZERO && remaining <= 4 * H, "{remaining:?}");
        assert_eq!(status.known_voters.len(), 3);
        assert_eq!(status.sender.voter_id, id(node));
    }
}

/// "The number of missed heartbeats allowed before marking a Voter as offline."
#[test]
fn s20_untolerated_misses_mean_off_line() {
    let mut stage = Stage::led(3);
    stage.pass(ms(500));
    stage.kill(2);
    let on_line = |stage: &mut Stage| stage.status(0).known_voters[2].on_line;
    stage.pass(3 * H + T);
    assert!(on_line(&mut stage), "three are missed");
    stage.pass(H);
    assert!(!on_line(&mut stage));
}

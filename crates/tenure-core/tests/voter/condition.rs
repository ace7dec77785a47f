//! Obstacles to a vote, and the reports about them: a directory that cannot be written, another
//! process of its id, other first voters, directories that are lost (V2, V10, V12).

use tenure_core::voter::{
    Ask, Breach, Config, Effect, Event, FirstVoters, Founding, Identity, Listed, Memory, OwnEvent,
    Voter,
};
use tenure_core::{Input, Protocol, Ticket, Waiting};

use crate::stage::{Stage, X, config, election, id, ms, url};

/// The last wait that a candidate has reported.
pub(crate) fn waits(stage: &Stage, node: usize) -> String {
    let waits = stage.nodes[node].told.iter().rev().find_map(|(_, event)| match event {
        Event::Waiting(waiting) => Some(waiting.to_string()),
        _ => None,
    });
    waits.unwrap_or_default()
}

/// n2 is gone, and the disk of n1 is full. n0 starts no ballots in vain, and reports its wait. A
/// leader is elected once there is room.
#[test]
fn full_disk_makes_voter_unfree() {
    let mut stage = Stage::founded(3);
    stage.kill(2);
    stage.nodes[1].full = true;
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(60_000));
    let counter = stage.memory(0).counter();
    assert!(counter <= 2, "{counter} ballots that nobody could win");
    assert!(stage.leaders(X).is_empty());
    let status = stage.status(1);
    assert!(status.condition.failing && status.free.is_none());
    assert_eq!(
        waits(&stage, 0),
        "refused by n1: it cannot write its state directory; no answer from n2"
    );
    assert_eq!(waits(&stage, 1), "refused: n1 cannot write its state directory");
    stage.nodes[1].full = false;
    stage.until(ms(12_000), |stage| !stage.leaders(X).is_empty());
    assert!(!stage.status(1).condition.failing);
}

/// A voter that cannot write could not begin to lead, so it draws no number.
#[test]
fn full_disk_wins_no_ballot() {
    let mut stage = Stage::founded(3);
    stage.nodes[0].full = true;
    stage.hand(0, Input::Failed(Some(Ticket::NONE)));
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.until(ms(3_000), |stage| stage.leaders(X) == [1]);
    let casts = stage.asked(0, |ask| matches!(ask, Ask::Cast(vote) if vote.vote.is_some()));
    assert!(casts.is_empty(), "{casts:?}");
}

/// Hands in an input. Returns whether the core writes a record.
fn writes(
    core: &mut Voter,
    now: tenure_core::Time,
    input: Input<tenure_core::voter::Words>,
) -> bool {
    let mut effects = Vec::new();
    core.handle(now, input, &mut effects);
    effects.iter().any(|effect| matches!(effect, Effect::Persist(_)))
}

/// A voter that cannot write tries again every second. When the driver reports that the directory
/// is back, the voter writes at once.
#[test]
fn a_lost_directory_is_tried_again() {
    let mut stage = Stage::founded(1);
    let (mut core, now) = (stage.nodes[0].core.clone(), stage.clock(0));
    assert!(!writes(&mut core, now, Input::Failed(Some(Ticket::NONE))));
    assert!(!core.standing(&election(), now).is_leading());
    let mut later = now;
    for _ in 0..3 {
        let before = later;
        while !writes(&mut core, later, Input::Timeout) {
            assert!(later.since(before) <= ms(1_000), "it is not tried");
            later = later.after(ms(10));
        }
        assert!(!writes(&mut core, later, Input::Failed(None)), "in a tight row");
        later = later.after(ms(10));
    }
    assert!(writes(&mut core, later, Input::Flushed(Ticket::NONE)));
    assert!(!writes(&mut core, later.after(ms(1_500)), Input::Timeout), "it was written");
    stage.pass(ms(10));
}

/// A leader that cannot write goes on, and renews the lease that it has won.
#[test]
fn a_leader_that_cannot_write_stays() {
    let mut stage = Stage::led(3);
    (0..2).for_each(|node| stage.nodes[node].full = true);
    (0..2).for_each(|node| stage.hand(node, Input::Failed(Some(Ticket::NONE))));
    let told = stage.nodes[0].told.len();
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    let news = stage.nodes[0].told[told..].iter();
    let ended = news.filter(|(_, event)| !matches!(event, Event::Own(OwnEvent::Ignored(_))));
    assert_eq!(ended.count(), 0, "nothing is told again and again");
}

/// Three voters, and another process at another address with the id n1.
fn twice(same_directory: bool) -> Stage {
    let twin = Config { url: url(3), ..config(1, 3) };
    let mut stage = Stage::with(vec![config(0, 3), config(1, 3), config(2, 3), twin]);
    (0..3).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    stage.nodes[3].disk = match same_directory {
        true => stage.nodes[1].disk.clone(),
        false => Memory::begin(Identity(0xbad << 64)),
    };
    stage.start(3);
    stage.pass(ms(6_000));
    stage
}

/// A copy of a directory is used beside the original: the other voters notice that, and both
/// processes do.
#[test]
fn a_copied_directory_is_noticed_by_all() {
    let stage = twice(true);
    let twin = OwnEvent::Breach(Breach::OtherIdentity { id: id(1) });
    for node in 0..4 {
        assert!(stage.told_own(node, |event| *event == twin) > 0, "n{node} does not notice");
    }
}

/// The second process of an id learns the address of the first, and is not advised to remove the
/// first.
#[test]
fn second_process_hears_of_first() {
    let mut stage = twice(false);
    stage.campaign(3, X);
    stage.pass(ms(3_000));
    assert_eq!(
        waits(&stage, 3),
        "refused: another process, at http://n1, has the id n1 and its vote: give this process \
         another id, or end one of the two"
    );
    // Once the first process has ended, the second looks like a voter with a lost directory.
    stage.kill(1);
    stage.pass(ms(10_000));
    assert!(waits(&stage, 3).contains("was lost, or another process has its id"));
    stage.elect(0, ms(5_000));
}

/// n3 has lost its directory, n2 is down, and a second process has the id of n1 by mistake. No
/// voter advises to begin the network anew.
#[test]
fn second_process_is_no_lost_directory() {
    let twin = Config { url: url(4), ..config(1, 4) };
    let configs = (0..4).map(|node| config(node, 4)).chain([twin]);
    let mut stage = Stage::with(configs.collect());
    (0..4).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    (2..4).for_each(|node| stage.kill(node));
    stage.nodes[3].disk = Memory::begin(Identity(0xdead << 64));
    stage.nodes[4].disk = Memory::begin(Identity(0xbad << 64));
    (3..5).for_each(|node| stage.start(node));
    stage.campaign(0, X);
    stage.pass(ms(20_000));
    assert_eq!(
        waits(&stage, 0),
        "refused by n3: it answers with another identity: its state directory was lost, or another \
         process has its id; no answer from n2"
    );
    // Once the true n1 has ended, the second process looks like a voter with a lost directory.
    stage.kill(1);
    stage.pass(ms(10_000));
    assert!(waits(&stage, 0).contains("2 of the 4 voters have lost"), "{}", waits(&stage, 0));
}

/// A second process has the id of the leader by mistake. The leader goes on, and the other voter
/// follows it.
#[test]
fn duplicated_leader_id_still_leads() {
    let twin = Config { url: url(2), ..config(1, 2) };
    let mut stage = Stage::with(vec![config(0, 2), config(1, 2), twin]);
    (0..2).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    stage.elect(1, ms(3_000));
    stage.campaign(0, X);
    stage.pass(ms(3_000));
    stage.nodes[2].disk = Memory::begin(Identity(0xbad << 64));
    stage.start(2);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [1]);
    let told = stage.nodes[0].told.iter().map(|(_, event)| event);
    let waits_for_lost =
        |event: &&Event| matches!(event, Event::Waiting(_)) && event.to_string().contains("lost");
    assert_eq!(told.filter(waits_for_lost).count(), 0);
    assert_eq!(waits(&stage, 0), "behind n1, which leads");
}

/// Voters with these foundings, which have looked for each other.
pub(crate) fn founding(foundings: Vec<Founding>) -> Stage {
    let of = foundings.len();
    let configs = foundings.into_iter().enumerate();
    let configs = configs.map(|(node, founding)| Config { founding, ..config(node, of) });
    let mut stage = Stage::with(configs.collect());
    (0..of).for_each(|node| stage.start(node));
    let urls: Vec<_> = (0..of).map(url).collect();
    for node in 0..of {
        let message = tenure_core::voter::Message::Seeds(urls.clone());
        let from = tenure_core::voter::Peer::At(url(node));
        stage.hand(node, Input::Message { from, message });
    }
    (0..of).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(6_000));
    stage
}

pub(crate) fn list(nodes: &[usize]) -> Founding {
    let listed = |node: &usize| Listed { id: id(*node), url: url(*node) };
    Founding::List(nodes.iter().map(listed).collect())
}

#[test]
fn differing_founding_lists_are_named() {
    let mut stage = founding(vec![list(&[0, 1, 2]), list(&[0, 1, 2, 3]), list(&[0, 1, 2])]);
    assert!(stage.leaders(X).is_empty());
    let same = "give all voters the same list, or number, of first voters";
    assert_eq!(
        waits(&stage, 0),
        format!("refused by n1: it begins with n0, n1, n2, n3, and n0 with n0, n1, n2: {same}")
    );
    assert_eq!(
        waits(&stage, 1),
        format!(
            "refused by n0: it begins with n0, n1, n2, and n1 with n0, n1, n2, n3: {same}; n2: it \
             begins with n0, n1, n2, and n1 with n0, n1, n2, n3: {same}"
        )
    );
    let first = stage.status(1).condition.first;
    assert_eq!(first, Some(FirstVoters::Listed((0..4).map(id).collect())));
    let stage = founding(vec![Founding::Expected(3), Founding::Expected(4)]);
    assert_eq!(
        waits(&stage, 0),
        format!("refused by n1: it begins with 4 voters, and n0 with 3 voters: {same}")
    );
    // A list of two voters agrees with an expected number of two.
    let mut stage = founding(vec![list(&[0, 1]), Founding::Expected(2)]);
    stage.until(ms(5_000), |stage| !stage.leaders(X).is_empty());
    assert_eq!(stage.status(0).condition.first, None);
}

#[test]
fn lonely_founder_is_reported() {
    let stage = founding(vec![list(&[0]), list(&[0, 1])]);
    assert_eq!(stage.leaders(X), [0]);
    // n1 reports the other network only once its leader is gone.
    let mut stage = stage;
    stage.command(0, X, tenure_core::voter::Command::Resign);
    stage.pass(ms(6_000));
    assert_eq!(
        waits(&stage, 1),
        "refused by n0: its network was founded without n1: add n1 to the members; or, if n0 \
         should have waited for n1, end n0, remove its state directory, and start it again"
    );
}

#[test]
fn lost_majority_gets_one_advice() {
    let mut stage = Stage::founded(4);
    for node in [2, 3] {
        stage.kill(node);
        stage.nodes[node].disk = Memory::begin(Identity((0xdead + node as u128) << 64));
        stage.start(node);
    }
    (0..4).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(12_000));
    for node in 0..4 {
        let told = waits(&stage, node);
        let part = match node {
            0 | 1 => "2 of the 4 voters have lost their state directories",
            _ => "a majority of the voters must still have its state directories",
        };
        assert!(told.contains(part), "n{node}: {told}");
    }
}

/// After the resignation n1 no longer reports that it waits for n0.
#[test]
fn resigned_leader_blocks_no_candidate() {
    let mut stage = Stage::led(3);
    assert_eq!(waits(&stage, 1), "behind n0, which leads");
    // n1 and n2 do not hear each other, so no voter can be elected.
    stage.cut = vec![(1, 2), (2, 1)];
    stage.command(0, X, tenure_core::voter::Command::Resign);
    stage.pass(ms(20));
    stage.kill(0);
    stage.pass(ms(200));
    let after = stage.nodes[1].told.iter().rev().find_map(|(_, event)| match event {
        Event::Waiting(waiting) => Some(waiting.clone()),
        _ => None,
    });
    assert!(!matches!(after, Some(Waiting::Behind { .. })), "{after:?}");
}

#[test]
fn a_leader_of_other_times_is_told_once() {
    let slow = |node| Config { tolerance: if node == 0 { 7 } else { 3 }, ..config(node, 3) };
    let mut stage = Stage::with((0..3).map(slow).collect());
    (0..3).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    stage.elect(0, ms(5_000));
    stage.pass(ms(10_000));
    let differs =
        |event: &OwnEvent| matches!(event, OwnEvent::OtherTimes { leader, .. } if *leader == id(0));
    assert_eq!((stage.told_own(0, differs), stage.told_own(1, differs)), (0, 1));
}

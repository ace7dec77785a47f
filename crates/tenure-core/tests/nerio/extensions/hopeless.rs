//! Candidates to which no quorum is left, or whose oks do not count, keep no grant that another
//! candidate needs, and give up none that they need themselves.

use std::time::Duration;

use tenure_core::nerio::{Command, Event, OwnEvent};

use crate::story::*;

const SKEW: Duration = Duration::from_millis(100);

fn with_skew() -> Story {
    let mut config = config(&GRANTORS);
    config.clock_skew_max = Some(SKEW);
    Story::with(config)
}

/// `who` contends, ahead of candidates of lower priority.
fn urgent(s: &mut Story, who: &'static str, priority: u8) {
    let value = who.parse().unwrap();
    s.command(who, Command::Campaign { value, priority });
}

/// Time passes and letters arrive at once, except where `cut` forbids it; clocks of `fast` advance
/// by half as much again, which ρ does not allow.
fn run(s: &mut Story, span: Duration, fast: &[&str], cut: impl Fn(&str, &str) -> bool) {
    let steps = span.as_millis() / 10;
    for _ in 0..steps {
        for name in fast {
            let clock = &mut s.actor(name).clock;
            *clock = clock.after(ms(5));
        }
        s.run_cut(ms(10), &cut);
    }
}

/// Cuts all links of a node.
fn without(node: &'static str) -> impl Fn(&str, &str) -> bool {
    move |from, to| from == node || to == node
}

/// The wall clock of p is behind, so its oks do not count, and a grantor cannot know. Candidate q,
/// which ranks below p, waits for the same grantors.
#[test]
fn wrong_clock_keeps_no_grant() {
    for behind in [120, 300, 800] {
        let mut s = with_skew();
        s.actor("p").lead = Some(-behind);
        urgent(&mut s, "p", 1);
        s.run(ms(500));
        let says = |event: &Event| matches!(event, Event::Own(OwnEvent::ClocksApart { .. }));
        assert!(s.events("p").iter().any(says), "{behind}");
        s.campaign("q");
        s.run(ms(2_000));
        assert_eq!(s.leader(), Some("q"), "{behind} ms behind");
        s.actor("p").lead = Some(0);
        s.run(ms(500));
        s.resign("q");
        s.run(ms(1_000));
        assert_eq!(s.leader(), Some("p"), "its clock is right");
    }
}

/// Two candidates whose clocks are behind take grants in turns, and the third gets its turn.
#[test]
fn wrong_clocks_share_no_grant() {
    let mut s = with_skew();
    for (who, priority) in [("p", 2), ("r", 1)] {
        s.actor(who).lead = Some(-200);
        urgent(&mut s, who, priority);
    }
    s.run(ms(300));
    s.campaign("q");
    s.run(ms(2_000));
    assert_eq!(s.leader(), Some("q"));
}

/// The clock of the leader is set back: its renewals count no more, and once the lease is over
/// another candidate leads. The leader releases nothing before that.
#[test]
fn leader_set_back_is_followed() {
    let mut s = with_skew();
    urgent(&mut s, "p", 1);
    s.run(ms(500));
    assert!(s.leads("p"));
    s.campaign("q");
    s.run(ms(300));
    s.actor("p").lead = Some(-300);
    while s.leads("p") {
        GRANTORS.iter().for_each(|to| assert_eq!(s.holder(to).as_deref(), Some("p")));
        s.run(ms(10));
    }
    urgent(&mut s, "p", 1);
    s.run(ms(3_000));
    assert_eq!(s.leader(), Some("q"));
}

/// The clocks of b and q are faster than the clocks of p and a, and c is down: q leads by a and b.
#[test]
fn faster_member_is_given_back() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, ms(3_000), &["b", "q"], |_, _| false);
    s.resign("p");
    run(&mut s, ms(100), &["b", "q"], |_, _| false);
    urgent(&mut s, "p", 1);
    run(&mut s, ms(3_000), &["b", "q"], without("c"));
    assert!(!s.leads("p"), "the grant of b may end first");
    s.campaign("q");
    run(&mut s, ms(4_000), &["b", "q"], without("c"));
    assert_eq!(s.leader(), Some("q"), "{:?}", s.events("q"));
}

/// The grant of b does not count for p, which waits for r at a and c: another candidate may need
/// the grant of b.
#[test]
fn faster_grant_is_not_kept() {
    let mut s = Story::new();
    s.elect("p");
    run(&mut s, ms(3_000), &["b"], |_, _| false);
    s.resign("p");
    s.run(ms(10));
    for grantor in ["a", "c"] {
        let start = s.now("r");
        s.ask("r", grantor, request(start));
    }
    urgent(&mut s, "p", 1);
    assert!(granted(&s.deliver("p", "b")).is_some());
    s.deliver_all();
    assert_eq!((s.holder("b"), s.holder("a").as_deref()), (None, Some("r")));
}

/// The link from p to c is cut, and b is down. Candidate p, which ranks above q, reaches only a,
/// and q reaches a and c.
#[test]
fn far_candidate_keeps_no_grant() {
    let mut s = Story::new();
    s.actors.remove("b");
    let cut = |from: &str, to: &str| matches!((from, to), ("p", "c") | ("c", "p"));
    urgent(&mut s, "p", 1);
    s.run_cut(ms(200), cut);
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    s.campaign("q");
    s.run_cut(ms(3_000), cut);
    assert_eq!(s.leader(), Some("q"));
    s.resign("q");
    s.run(ms(2_000));
    assert_eq!(s.leader(), Some("p"), "a and c are in touch with p");
}

/// Requests of p arrive at c, but no answer of c arrives at p: c grants, and p cannot know.
#[test]
fn unheard_grants_are_given_back() {
    let mut s = Story::new();
    s.actors.remove("b");
    let cut = |from: &str, to: &str| from == "c" && ["p", "r"].contains(&to);
    urgent(&mut s, "p", 2);
    urgent(&mut s, "r", 1);
    s.run_cut(ms(200), cut);
    s.campaign("q");
    s.run_cut(ms(6_000), cut);
    assert_eq!(s.leader(), Some("q"));
}

/// Candidates p and r have long taken the grant of c in turns, and hear nothing from c. If either
/// asked c again before the other has left, c would never be free for q.
#[test]
fn given_back_grant_is_left_free() {
    for apart in 0..10 {
        let mut s = Story::new();
        s.actors.remove("b");
        let cut = |from: &str, to: &str| from == "c" && ["p", "r"].contains(&to);
        urgent(&mut s, "p", 2);
        s.run_cut(ms(apart * 10), cut);
        urgent(&mut s, "r", 1);
        s.run_cut(ms(2_000), cut);
        s.campaign("q");
        s.run_cut(ms(4_000), cut);
        assert_eq!(s.leader(), Some("q"), "{} ms apart", apart * 10);
    }
}

/// Letters of `slow` nodes take `delay` each way.
fn run_slow(s: &mut Story, span: Duration, slow: &[&str], delay: Duration) {
    let mut road: Vec<(Duration, Letter)> = Vec::new();
    let mut passed = Duration::ZERO;
    while passed < span {
        s.pass(ms(10));
        passed += ms(10);
        loop {
            for letter in std::mem::take(&mut s.letters) {
                let is_slow = slow.iter().any(|who| *who == letter.by || address(who) == letter.to);
                road.push((if is_slow { passed + delay } else { passed }, letter));
            }
            let Some(at) = road.iter().position(|(due, _)| *due <= passed) else { break };
            let (_, letter) = road.remove(at);
            s.put(&letter);
        }
    }
}

/// The round trips of p take longer than its first lease, so each ok arrives after the lease has
/// ended.
#[test]
fn late_oks_keep_no_grant() {
    let mut s = Story::new();
    urgent(&mut s, "p", 1);
    run_slow(&mut s, ms(3_000), &["p"], ms(600));
    s.campaign("q");
    run_slow(&mut s, ms(6_000), &["p"], ms(600));
    assert_eq!(s.leader(), Some("q"));
}

/// Round trips of up to eight refresh intervals: the members are slow, not lost. Leases are too
/// short to be renewed in time, but each is won.
#[test]
fn slow_answers_are_awaited() {
    for delay in [200, 300, 400] {
        let mut s = Story::new();
        s.campaign("p");
        run_slow(&mut s, ms(3_000), &["p"], ms(delay));
        let elected = |event: &Event| matches!(event, Event::Elected { .. });
        assert!(s.events("p").iter().any(elected), "{delay} ms each way");
    }
}

/// All members were out of touch for a long time, and answer again: the candidate wins at once.
#[test]
fn returning_members_elect_candidate() {
    let mut s = Story::new();
    s.campaign("p");
    s.run_cut(ms(5_000), |_, _| true);
    assert_eq!(s.leader(), None);
    s.run(REFRESH * 4);
    assert_eq!(s.leader(), Some("p"));
}

/// No member can grant, and later two can: the candidate has held no grant meanwhile, and asks all
/// as soon as the second member can grant.
#[test]
fn quarantine_ends_in_election() {
    let mut s = Story::new();
    for grantor in ["b", "c"] {
        s.has_granted(grantor);
        s.reboot(grantor);
    }
    s.campaign("p");
    s.run(ms(1_500));
    assert_eq!((s.leader(), s.holder("a")), (None, None));
    s.run(ms(2_000));
    assert_eq!(s.leader(), Some("p"));
}

/// Candidates are on both sides of a cut, and neither side has a quorum. Once the cut heals, one of
/// the candidates leads.
#[test]
fn hopeless_candidates_meet_again() {
    for passed in 0..20 {
        let mut s = Story::new();
        s.actors.remove("c");
        s.campaign("p");
        s.run(ms(passed * 7));
        let sides: [&[&str]; 2] = [&["a", "p"], &["b", "q", "r"]];
        s.campaign("q");
        s.campaign("r");
        s.run_split(ms(3_000), &sides);
        s.run(ms(1_500));
        let leader = s.leader();
        assert!(leader.is_some(), "{passed}");
        s.run(ms(2_000));
        assert_eq!(s.leader(), leader, "{passed}: and it lasts");
    }
}

//! An operator recovers directories, because more are lost than the other members can make up for.
//! The stories show the guarantees after that, and their limits where the operator was wrong.

use tenure_core::Fence;
use tenure_core::nerio::{Event, OwnEvent};

use crate::story::*;

/// The floor that operators give, far above all fences in any story.
const FLOOR: u64 = 1_795_000_000_000;

fn serves(s: &Story, who: &str) -> bool {
    s.events(who).contains(&Event::Own(OwnEvent::Serving))
}

/// Candidate p has led, and is stopped; then all members are.
fn stopped() -> (Story, u64) {
    let mut s = Story::new();
    s.elect("p");
    let fence = s.fence("p");
    s.start("p", None);
    s.drop_all();
    (s, fence)
}

/// The directory of `who` is lost, an operator recovers that directory, and its node starts.
fn recover(s: &mut Story, who: &'static str, floor: u64) {
    let mut disk = s.directory(false);
    let begun = s.directory(false).durable().instance;
    disk.recover(begun, s.config.delta_max, Fence::new(floor));
    s.actors.get_mut(who).unwrap().disk = Some(disk);
    s.restart(who);
}

/// The directory of `who` is whole, an operator raises its floor, and its node starts.
fn raise(s: &mut Story, who: &'static str, floor: u64) {
    let (begun, delta_max) = (s.instance(who), s.config.delta_max);
    let disk = s.actors.get_mut(who).unwrap().disk.as_mut().unwrap();
    disk.recover(begun, delta_max, Fence::new(floor));
    s.restart(who);
}

/// Candidate q wins within a bounded time, and above the floor.
fn q_leads_above(s: &mut Story, floor: u64) -> u64 {
    s.campaign("q");
    s.run(ms(4_000));
    assert_eq!(s.leader(), Some("q"));
    let fence = s.fence("q");
    assert!(fence > floor, "{fence}");
    fence
}

/// Two of three directories are lost: the recovered members wait as long as leases last, and serve
/// with the third member.
#[test]
fn recovered_members_serve_above_the_floor() {
    let (mut s, before) = stopped();
    recover(&mut s, "a", FLOOR);
    recover(&mut s, "b", FLOOR);
    raise(&mut s, "c", FLOOR);
    s.run(ms(2_190));
    assert!(!serves(&s, "a") && !serves(&s, "b"), "what they forgot could still be live");
    let fence = q_leads_above(&mut s, FLOOR);
    assert!(fence > before);
    for member in GRANTORS {
        assert!(serves(&s, member), "{member}");
        let replaced = Event::Own(OwnEvent::Replaced);
        assert!(!s.events(member).contains(&replaced), "{member}");
    }
    assert_eq!(s.holder("a").as_deref(), Some("q"));
    assert_eq!(s.holder("c").as_deref(), Some("q"), "c takes the new memories of a and b");
}

/// The third member never comes back: the two recovered members are enough.
#[test]
fn recovered_quorum_suffices() {
    let (mut s, _) = stopped();
    s.actors.remove("c");
    recover(&mut s, "a", FLOOR);
    recover(&mut s, "b", FLOOR);
    q_leads_above(&mut s, FLOOR);
}

/// The third member comes back later as it was: every quorum has a recovered member, so its old
/// fences do no harm.
#[test]
fn unrecovered_member_joins_later() {
    let (mut s, _) = stopped();
    let c = s.actors.remove("c").unwrap();
    recover(&mut s, "a", FLOOR);
    recover(&mut s, "b", FLOOR);
    let fence = q_leads_above(&mut s, FLOOR);
    s.actors.insert("c", c);
    s.restart("c");
    s.run(ms(3_000));
    assert_eq!(s.leader(), Some("q"));
    // The third member is needed now.
    s.actors.remove("a");
    s.actors.remove("q");
    s.campaign("r");
    s.run(ms(6_000));
    assert_eq!(s.leader(), Some("r"));
    assert!(s.fence("r") > fence);
}

/// An operator recovers one of two lost members, and the other starts later with an empty
/// directory: it reads from the two that remember.
#[test]
fn empty_member_reads_from_recovered() {
    let (mut s, _) = stopped();
    s.actors.remove("b");
    recover(&mut s, "a", FLOOR);
    raise(&mut s, "c", FLOOR);
    let fence = q_leads_above(&mut s, FLOOR);
    s.start_empty("b");
    s.run(ms(5_000));
    assert!(serves(&s, "b"), "{:?}", s.events("b"));
    assert!(s.state("b").seen >= Fence::new(fence));
    s.actors.remove("a");
    s.actors.remove("q");
    s.campaign("r");
    s.run(ms(6_000));
    assert!(s.leads("r") && s.fence("r") > fence);
}

/// Members need not have the same floor: each floor is above all fences handed out before.
#[test]
fn different_floors_converge() {
    let (mut s, _) = stopped();
    recover(&mut s, "a", FLOOR);
    recover(&mut s, "b", FLOOR + 10_000);
    s.restart("c");
    let fence = q_leads_above(&mut s, FLOOR);
    s.start("q", None);
    s.drop_all();
    s.campaign("r");
    s.run(ms(4_000));
    assert!(s.fence("r") > fence);
}

/// The highest floor is further above the fence that c has seen in the election than one proposal
/// may be, until c has forgotten that fence.
#[test]
fn highest_floor_is_reached() {
    let (mut s, _) = stopped();
    let floor = (1 << 53) - 1;
    recover(&mut s, "a", floor);
    recover(&mut s, "b", floor);
    raise(&mut s, "c", floor);
    s.actors.remove("b");
    s.run(ms(6_000));
    q_leads_above(&mut s, floor);
}

/// The machine of a recovered member restarts: the member remembers its fences like other members.
#[test]
fn recovered_member_is_like_others() {
    let (mut s, _) = stopped();
    recover(&mut s, "a", FLOOR);
    recover(&mut s, "b", FLOOR);
    raise(&mut s, "c", FLOOR);
    s.reboot("a");
    let fence = q_leads_above(&mut s, FLOOR);
    s.lose_disk("b");
    s.run(ms(6_000));
    assert!(serves(&s, "b"), "one directory more is lost, and read from the others");
    assert!(s.state("b").seen >= Fence::new(fence));
    assert_eq!(s.leader(), Some("q"));
}

/// The operator was wrong: p leads on, by processes of a and b that were only cut off. With the new
/// a and b another candidate leads beside p: the operator had declared that the old processes do
/// not run.
#[test]
fn unstopped_leader_leads_beside_another() {
    let mut s = Story::new();
    s.elect("p");
    let before = s.fence("p");
    let mut old = ["a", "b"].map(|member| (member, s.actors.remove(member).unwrap()));
    for (member, _) in &old {
        s.start_empty(member);
        recover(&mut s, member, FLOOR);
    }
    raise(&mut s, "c", FLOOR);
    s.campaign("q");
    for _ in 0..400 {
        // Candidate p reaches only the old processes, and all others reach only the new processes.
        let others: Vec<_> = s.letters.iter().filter(|l| l.by != "p").cloned().collect();
        s.letters.retain(|l| l.by == "p");
        swap(&mut s, &mut old);
        for member in ["a", "b"] {
            s.deliver("p", member);
            s.deliver(member, "p");
        }
        swap(&mut s, &mut old);
        s.letters = others;
        s.letters.retain(|l| l.by != "p" && l.to != address("p"));
        for from in ["a", "b", "c", "q"] {
            for to in ["a", "b", "c", "q"] {
                s.deliver(from, to);
            }
        }
        s.pass(ms(10));
        for (_, actor) in &mut old {
            actor.clock = actor.clock.after(ms(10));
        }
        if s.leads("p") && s.leads("q") {
            // A resource that checks fences refuses the old leader from then on.
            assert!(s.fence("q") > FLOOR && s.fence("p") == before);
            return;
        }
    }
    panic!("the old leader ended by itself: what the word is for is not shown");
}

fn swap(s: &mut Story, old: &mut [(&'static str, Actor); 2]) {
    for (member, actor) in old {
        std::mem::swap(s.actors.get_mut(*member).unwrap(), actor);
    }
}

/// The operator was wrong: the floor is below the fences of the lost members, and no member that
/// remembers was there to say so. A fence is handed out again.
#[test]
fn low_floor_repeats_fences() {
    let mut s = Story::new();
    s.elect("p");
    let first = s.fence("p");
    s.start("p", None);
    s.drop_all();
    s.campaign("r");
    s.run(ms(3_000));
    let before = s.fence("r");
    assert!(before > first);
    s.actors.remove("c");
    s.start("r", None);
    s.drop_all();
    for member in ["a", "b"] {
        recover(&mut s, member, 0);
    }
    s.campaign("q");
    s.run(ms(4_000));
    assert!(s.leads("q") && s.fence("q") <= before);
}

//! The founding of a cluster: no directory remembers anything, and no operator has declared it new.

use std::time::Duration;

use tenure_core::nerio::{
    Config, Effect, EpochId, Event, FenceRead, Inc, Instance, Message, OwnEvent, Refusal,
    Remembered, Sender, Service, ToAsker, ToGrantor, Who,
};
use tenure_core::{Fence, Input};

use crate::story::*;

fn serves(s: &Story, who: &str) -> bool {
    s.events(who).contains(&Event::Own(OwnEvent::Serving))
}

/// Members that have started with empty directories, and have asked no member yet.
fn begun(members: &[&'static str]) -> Story {
    let mut s = Story::empty(config(&GRANTORS));
    for member in members {
        s.start_empty(member);
    }
    for candidate in CANDIDATES {
        s.start(candidate, None);
    }
    s
}

/// Time passes while a asks the others, which receive nothing else, until a serves.
fn a_founds(s: &mut Story) {
    s.drop_all();
    for _ in 0..40 {
        ask_alone(s, "a", &["b", "c"]);
        if serves(s, "a") {
            return;
        }
    }
    panic!("a does not serve");
}

/// Time passes while a and b exchange messages, and c receives only the questions of b.
fn b_only_asks_c(s: &mut Story, steps: usize) {
    for _ in 0..steps {
        s.pass(ms(10));
        for (from, to) in [("b", "a"), ("a", "b")] {
            s.deliver(from, to);
        }
        ask(s, "b", "c");
        s.drop_all();
    }
}

/// Delivers the questions of `from` to `to`, and the answers to them.
fn ask(s: &mut Story, from: &str, to: &str) {
    hand(s, from, to, |message| matches!(message, Message::Grantor(ToGrantor::FenceRead(_))));
    hand(s, to, from, |message| matches!(message, Message::Asker(ToAsker::FenceSeen(_))));
}

/// Time passes while `from` asks these members; no other message arrives.
fn ask_alone(s: &mut Story, from: &str, others: &[&str]) {
    s.pass(ms(10));
    for other in others {
        ask(s, from, other);
    }
    s.drop_all();
}

/// Delivers messages of one kind, and drops the rest.
fn hand(s: &mut Story, from: &str, to: &str, is_it: fn(&Message) -> bool) {
    for letter in s.take(from, to).iter().filter(|letter| is_it(&letter.message)) {
        s.put(letter);
    }
}

fn new_cluster() -> Story {
    begun(&GRANTORS)
}

/// A first start needs no declaration: every member waits as long as leases may last, and serves.
#[test]
fn all_members_found_a_cluster() {
    let mut s = new_cluster();
    s.campaign("p");
    s.run(ms(2_199));
    for member in GRANTORS {
        assert!(!serves(&s, member), "{member}: what it may have forgotten could still be live");
        let refusal = refusal(&s.ask("q", member, request(at(10))));
        assert!(matches!(refusal, Some(Refusal::Quarantine { .. })), "{refusal:?}");
    }
    s.run(ms(500));
    for member in GRANTORS {
        assert!(serves(&s, member), "{member}");
        let founded = Event::Own(OwnEvent::Founded);
        assert_eq!(s.events(member).iter().filter(|event| **event == founded).count(), 1);
    }
    s.run(ms(500));
    assert_eq!(s.leader(), Some("p"));
}

/// Members a and b have founded the cluster with c, which has received no message since its wait
/// began.
fn founded_but_for_c() -> Story {
    let mut s = new_cluster();
    s.run(ms(2_190));
    for _ in 0..20 {
        s.pass(ms(10));
        for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
            s.deliver(from, to);
            ask(&mut s, from, "c");
        }
        s.drop_all();
    }
    assert_eq!(GRANTORS.map(|member| serves(&s, member)), [true, true, false]);
    s
}

/// The last founder learns that the others have founded the cluster with it, and does not wait
/// again.
#[test]
fn last_founder_waits_no_longer() {
    let mut s = founded_but_for_c();
    s.run(ms(300));
    assert!(serves(&s, "c"));
}

/// The last founder does not wait again either if it learns of the founding before its disk has
/// written the memories of all others.
#[test]
fn slow_disk_costs_no_second_wait() {
    let mut s = founded_but_for_c();
    s.slow_disks = true;
    for _ in 0..30 {
        ask_alone(&mut s, "c", &["a", "b"]);
    }
    s.slow_disks = false;
    s.flush_one("c");
    s.run(ms(300));
    assert!(serves(&s, "c"), "{:?}", s.events("c"));
}

/// Members a and b serve, and the disk of the founder c is slow: c does not say that it needs
/// members that remember, as a member with a lost directory does.
#[test]
fn slow_founder_is_not_lost() {
    let mut s = founded_but_for_c();
    s.slow_disks = true;
    for _ in 0..30 {
        ask_alone(&mut s, "c", &["a", "b"]);
        let service = s.state("c").service;
        assert_ne!(service, Service::Recovering { known: true });
    }
    assert!(!serves(&s, "c"));
    s.slow_disks = false;
    s.lose_disk("c");
    for _ in 0..30 {
        ask_alone(&mut s, "c", &["a"]);
    }
    assert_eq!(s.state("c").service, Service::Recovering { known: true }, "another memory");
}

/// Members whose reads these effects answer.
fn answered(effects: &[Effect]) -> Vec<&'static str> {
    let is_answer = |effect: &Effect, member: &str| match effect {
        Effect::Send { to, message: Message::Asker(ToAsker::FenceSeen(_)) } => {
            to.recipient == address(member).into()
        }
        _ => false,
    };
    let is_answered = |member: &&str| effects.iter().any(|effect| is_answer(effect, member));
    GRANTORS.into_iter().filter(is_answered).collect()
}

/// A member asks during another member's write. The answer comes only when the asker's memory is
/// written down. An earlier answer would look like that of a member that does not know the asker.
#[test]
fn answer_waits_for_the_askers_memory() {
    let mut s = new_cluster();
    s.run(ms(100));
    s.slow_disks = true;
    for (born, from) in [(90_001, "b"), (90_002, "c")] {
        let instance = Instance::new(born, 1);
        let read = FenceRead { start: at(1), instance, record: true };
        assert_eq!(sent(&s.tell(from, "a", Message::from(read))).count(), 0);
    }
    let first = s.flush_one("a");
    assert_eq!(answered(&first), ["b"], "{:?}", lines(&first));
    let second = s.flush_one("a");
    assert_eq!(answered(&second), ["c"], "{:?}", lines(&second));
}

/// An absent member may be the only member that remembers. Once all are present, they found the
/// cluster.
#[test]
fn all_members_are_needed() {
    let mut s = begun(&["a", "b"]);
    s.run(ms(20_000));
    for member in ["a", "b"] {
        assert!(!serves(&s, member));
        let refusal = refusal(&s.ask("q", member, request(at(10))));
        assert_eq!(refusal, Some(Refusal::Recovering { known: false }));
    }
    let (whole, silent, empty, strange) = (vec![], vec![name("c")], vec![name("b")], vec![]);
    let (deaf, unasked) = (vec![], vec![]);
    let waits = OwnEvent::RecoveryWaits { whole, silent, empty, strange, deaf, unasked };
    let waits = Event::Own(waits);
    assert_eq!(s.events("a").iter().filter(|event| **event == waits).count(), 1, "said once");
    s.start_empty("c");
    s.run(ms(3_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// Four of five directories are empty: a quorum, and enough to write down a memory, but the fifth
/// may remember.
#[test]
fn a_quorum_founds_nothing() {
    let mut s = Story::empty(config(&["a", "b", "c", "p", "q"]));
    for member in ["a", "b", "c", "p"] {
        s.start_empty(member);
    }
    s.run(ms(20_000));
    assert!(["a", "b", "c", "p"].iter().all(|member| !serves(&s, member)));
    s.start_empty("q");
    s.run(ms(3_000));
    assert!(serves(&s, "a") && serves(&s, "q"));
}

/// Two directories of three are lost: the third remembers, so the cluster is not new.
#[test]
fn remembered_cluster_is_not_founded() {
    let mut s = Story::new();
    s.elect("p");
    s.start("p", None);
    s.drop_all();
    s.lose_disk("a");
    s.lose_disk("b");
    s.run(ms(20_000));
    for lost in ["a", "b"] {
        assert!(!serves(&s, lost), "{lost}: the other may have seen a fence that c has not");
        let refusal = refusal(&s.ask("q", lost, request(at(10))));
        assert_eq!(refusal, Some(Refusal::Recovering { known: true }), "{lost}");
    }
}

/// Member a founds the cluster, and its directory is lost. The founder c has not heard of the
/// founding yet: b tells c that c has forgotten nothing, and a reads from the two.
#[test]
fn founder_has_forgotten_nothing() {
    let mut s = new_cluster();
    s.run(ms(2_150));
    a_founds(&mut s);
    b_only_asks_c(&mut s, 40);
    assert!(serves(&s, "b") && !serves(&s, "c"), "{:?} {:?}", s.events("b"), s.events("c"));
    s.lose_disk("a");
    s.drop_all();
    s.run(ms(1_000));
    assert!(serves(&s, "c") && !serves(&s, "a"));
    s.run(ms(2_000));
    assert!(serves(&s, "a"));
}

/// Member a founds the cluster, and b's directory is lost before b heard of it: the new memory was
/// not there at the founding, and reads from the founders.
#[test]
fn another_memory_was_not_there() {
    let mut s = new_cluster();
    s.run(ms(2_150));
    a_founds(&mut s);
    s.lose_disk("b");
    s.drop_all();
    b_only_asks_c(&mut s, 400);
    assert!(!serves(&s, "b"), "only a remembers, and c does not know");
    s.run(ms(5_000));
    assert!(serves(&s, "b") && serves(&s, "c"));
}

/// Member b answers that it is empty, and has another memory when a founds the cluster: a asks b
/// again.
#[test]
fn only_answering_memories_are_founders() {
    let mut s = new_cluster();
    s.run(ms(2_150));
    s.drop_all();
    while !s.letters.iter().any(|letter| letter.by == "a") {
        s.pass(ms(10));
    }
    s.deliver("a", "b");
    hand(&mut s, "b", "a", |message| matches!(message, Message::Asker(ToAsker::FenceSeen(_))));
    s.drop_all_but("a", "c");
    s.lose_disk("b");
    let read = FenceRead { start: at(1), instance: s.instance("b"), record: true };
    s.tell("b", "a", Message::from(read));
    s.deliver("a", "c");
    s.deliver("c", "a");
    assert!(!s.events("a").contains(&Event::Own(OwnEvent::Founded)), "b answers no more");
    s.run(ms(5_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// Candidate p leads with `lease` when all directories are lost. Members give shorter leases from
/// then on, and q campaigns.
fn all_lost_under_a_leader(lease: Duration) -> Story {
    let mut s = Story::new();
    let long = |config: &mut Config| (config.lease, config.delta_max) = (lease, lease);
    s.configure(long);
    for member in GRANTORS {
        s.reboot(member);
    }
    s.run(lease + lease / 8);
    s.start("p", None);
    s.campaign("p");
    s.run(ms(1_000));
    assert_eq!(s.leader(), Some("p"));
    let short = |config: &mut Config| (config.lease, config.delta_max) = (ms(500), ms(2_000));
    s.configure(short);
    for member in GRANTORS {
        s.lose_disk(member);
    }
    s.start("q", None);
    s.campaign("q");
    s
}

/// All directories are lost while a candidate leads with a longer lease than the members give now.
/// The leader reaches one member, which tells the others.
#[test]
fn founding_waits_for_heard_leader() {
    let mut s = all_lost_under_a_leader(ms(5_000));
    s.drop_all();
    for _ in 0..700 {
        // Messages pass from p to the members only, not back.
        s.deliver("p", "a");
        s.letters.retain(|letter| letter.by != "p" && letter.to != address("p"));
        s.run(ms(10));
        assert!(!(s.leads("q") && s.leads("p")), "both lead");
    }
    s.run(ms(8_000));
    assert!(s.leads("q"));
}

/// All nodes of an old list have empty directories, and the members have other names by now. A
/// candidate of the present members reaches c.
#[test]
fn founding_waits_for_leader_of_later_epoch() {
    let mut s = begun(&GRANTORS);
    let who = Who { name: name("p"), inc: Inc(7) };
    let epoch = EpochId { number: 4, digest: 7 };
    let from = Sender { who, address: address("p"), proved: false, epoch };
    for _ in 0..100 {
        s.tell_as(&from, "c", request(at(1)).into());
        s.run(ms(100));
        assert!(GRANTORS.iter().all(|member| !serves(&s, member)));
    }
    s.run(ms(8_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)));
}

/// Time passes, and these members exchange messages.
fn pass_among(s: &mut Story, members: &[&'static str]) {
    s.pass(ms(10));
    let pairs = members.iter().flat_map(|from| members.iter().map(move |to| (from, to)));
    for (from, to) in pairs.clone().chain(pairs) {
        if from != to {
            s.deliver(from, to);
        }
    }
}

/// Time passes in steps, and these members exchange messages; no other message arrives.
fn alone(s: &mut Story, steps: usize, members: &[&'static str]) {
    for _ in 0..steps {
        pass_among(s, members);
        s.drop_all();
    }
}

/// All but b found the cluster, and serve; then c's directory is lost. Answers that b got before it
/// heard of c's new memory do not show which members were there together with that memory.
#[test]
fn founders_are_present_together() {
    let members = ["a", "b", "c", "p", "q"];
    let mut s = Story::empty(config(&members));
    for member in members {
        s.start_empty(member);
    }
    s.run(ms(2_190));
    s.drop_all();
    while !s.letters.iter().any(|letter| letter.by == "b") {
        s.pass(ms(1));
    }
    for other in ["a", "p", "q"] {
        ask(&mut s, "b", other);
    }
    let rest = ["a", "c", "p", "q"];
    for _ in 0..60 {
        pass_among(&mut s, &rest);
        if !serves(&s, "a") {
            ask(&mut s, "a", "b");
        }
        s.drop_all();
    }
    assert!(rest.iter().all(|member| serves(&s, member)) && !serves(&s, "b"));
    s.lose_disk("c");
    s.drop_all();
    while !s.letters.iter().any(|letter| letter.by == "b") {
        s.pass(ms(10));
    }
    ask(&mut s, "b", "c");
    // The record of the founding is on its way to c's disk when c reports its memory.
    s.slow_disks = true;
    for (from, to) in [("c", "b"), ("b", "c")].into_iter().flat_map(|pair| [pair; 40]) {
        pass_among(&mut s, &rest);
        ask(&mut s, from, to);
        s.drop_all();
    }
    s.slow_disks = false;
    for member in members {
        while !s.actor(member).flushes.is_empty() {
            s.flush_one(member);
        }
        assert!(!s.events("b").contains(&Event::Own(OwnEvent::Founded)), "c was not there then");
    }
    s.run(ms(5_000));
    assert!(members.iter().all(|member| serves(&s, member)));
}

/// The record of the founding is on its way to the disk when an old leader is heard.
#[test]
fn founding_waits_for_late_leader() {
    let mut s = all_lost_under_a_leader(ms(8_000));
    let others = ["a", "b", "c", "q"];
    s.drop_all();
    alone(&mut s, 215, &others);
    s.slow_disks = true;
    alone(&mut s, 200, &others);
    while !s.letters.iter().any(|letter| letter.by == "p") {
        s.pass(ms(10));
    }
    for member in GRANTORS {
        s.deliver("p", member);
    }
    s.drop_all();
    s.slow_disks = false;
    for member in GRANTORS {
        s.flush_one(member);
    }
    let mut led = false;
    for _ in 0..1_500 {
        alone(&mut s, 1, &others);
        assert!(!(s.leads("q") && s.leads("p")), "both lead");
        led |= s.leads("p");
    }
    assert!(led && s.leads("q"));
}

/// Fences from before the loss of all directories are not handed out again.
#[test]
fn fences_survive_loss_of_all_directories() {
    let mut s = new_cluster();
    s.run(ms(3_000));
    let mut fences = Vec::new();
    for _ in 0..2 {
        s.start("p", None);
        s.drop_all();
        s.campaign("p");
        s.run(ms(4_000));
        fences.push(s.fence("p"));
        for member in GRANTORS {
            s.lose_disk(member);
        }
        s.run(ms(6_000));
    }
    assert!(fences[0] < fences[1], "{fences:?}");
}

/// The clock of b's machine is ahead, so b may have handed out high fences. Member a finds that all
/// directories are empty, and cannot write the founding down yet. Meanwhile b's directory is lost.
/// The others found the cluster without b, and still begin above b's fences.
#[test]
fn lost_founders_count_for_fences() {
    const AHEAD: u64 = 1_000_000_000;
    let directory = |born| Some(Remembered::new(Instance::new(born, 1), false));
    let mut s = Story::empty(config(&["a", "b", "c", "p", "q"]));
    let rest = ["a", "c", "p", "q"];
    for member in rest {
        s.start_empty(member);
    }
    s.start("b", directory(AHEAD));
    s.start("r", None);
    s.run(ms(2_150));
    s.drop_all();
    s.slow_disks = true;
    for _ in 0..10 {
        ask_alone(&mut s, "a", &["b", "c", "p", "q"]);
    }
    let (ticket, _) = s.actor("a").flushes.pop_front().expect("a has found that all are empty");
    s.step("a", Input::Failed(Some(ticket)));
    s.slow_disks = false;
    s.start("b", directory(AHEAD + 1));
    let read = FenceRead { start: at(1), instance: s.instance("b"), record: true };
    s.tell("b", "a", Message::from(read));
    s.drop_all();
    alone(&mut s, 400, &rest);
    for member in rest {
        assert!(serves(&s, member), "{member}: {:?}", s.events(member));
        assert!(s.state(member).seen >= Fence::new(AHEAD), "{member}: {:?}", s.state(member));
    }
}

/// Clusters of one and of two members are founded by the same rule.
#[test]
fn small_clusters_are_founded() {
    for all in [&["a"][..], &["a", "b"][..]] {
        let mut s = Story::empty(config(all));
        for member in all {
            s.start_empty(member);
        }
        s.run(ms(2_199));
        assert!(!serves(&s, "a"), "what it may have forgotten could still be live");
        s.run(ms(500));
        for member in all {
            assert!(serves(&s, member), "{member} of {}", all.len());
        }
    }
    let mut s = Story::empty(config(&["a", "b"]));
    s.start_empty("a");
    s.run(ms(60_000));
    assert!(!serves(&s, "a"), "b may know");
}

/// A founder whose process ends just after the record of the founding serves after another wait.
#[test]
fn an_interrupted_founding_goes_on() {
    let mut s = new_cluster();
    s.run(ms(2_150));
    s.slow_disks = true;
    s.run(ms(200));
    let founded = Event::Own(OwnEvent::Founded);
    for _ in 0..3 {
        if !s.events("a").contains(&founded) {
            s.flush_one("a");
        }
    }
    assert!(s.events("a").contains(&founded) && !serves(&s, "a"), "its reserve is not written");
    s.slow_disks = false;
    s.restart("a");
    s.run(ms(2_600));
    assert!(serves(&s, "a"), "{:?}", s.events("a"));
    assert!(s.state("a").seen >= Fence::new(3_000));
}

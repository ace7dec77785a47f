//! 4: members that replace lost memories by themselves.

use std::time::Duration;

use tenure_core::nerio::{Admission, Admit, AutoReplace, Hindrance, ToGrantor};

use super::*;

pub(super) const SILENCE: Duration = Duration::from_millis(2_000);
const PAUSE: Duration = Duration::from_millis(20_000);

/// Members and blanks replace lost memories by themselves from now on.
fn automatic(config: &mut tenure_core::nerio::Config) {
    config.replace = Some(AutoReplace { silence: SILENCE, pause: PAUSE });
}

/// Starts a node with an empty directory, and adds it to the members.
fn join(s: &mut Story, who: &'static str, number: u64) {
    let mut whole = config(&["a", "b", "c", who]);
    automatic(&mut whole);
    let line = std::mem::replace(&mut s.config, whole.check().unwrap());
    s.start_empty(who);
    s.config = line;
    s.run(ms(300));
    change_by(s, "a", number, add(who));
}

/// A cluster of a, b, c and d in epoch 1, whose members replace lost memories; p leads.
pub(super) fn healing() -> Story {
    healing_with(config(&GRANTORS))
}

fn healing_with(mut config: tenure_core::nerio::Config) -> Story {
    automatic(&mut config);
    let mut s = Story::with(config);
    s.elect("p");
    join(&mut s, "d", 7);
    s
}

/// Lets time pass in slices. Letters from the first to the second node of a pair are lost.
pub(super) fn run_without(s: &mut Story, span: Duration, lost: &[(&str, &str)]) {
    let is_lost = |l: &Letter| lost.iter().any(|(from, to)| l.by == *from && l.to == address(to));
    for _ in 0..span.as_millis() / 10 {
        s.pass(ms(10));
        for _ in 0..10_000 {
            s.letters.retain(|letter| !is_lost(letter));
            if s.letters.is_empty() {
                break;
            }
            let letter = s.letters.remove(0);
            s.put(&letter);
        }
    }
}

/// A second node with the name of c at the address of z, which the members recognize by its key.
pub(super) fn second_c(s: &Story) -> Sender {
    let who = Who { name: name("c"), inc: Inc(5) };
    Sender { who, address: address("z"), proved: true, epoch: zero(s) }
}

/// The question of the second c to a member.
fn second_asks(s: &mut Story, to: &'static str) -> Option<Hindrance> {
    second_asks_at(s, to, HostPort::from(address("z")))
}

/// The question of the second c, which names this host in its settings.
fn second_asks_at(s: &mut Story, to: &'static str, host: HostPort) -> Option<Hindrance> {
    let (from, start) = (second_c(s), s.now(to));
    let admit = Admit { start, name: name("c"), instance: Instance(5), host };
    hindrance(&s.tell_as(&from, to, admit.into()))
}

/// The answer of the second c to a member that asks for its memory.
pub(super) fn second_answers(s: &mut Story, to: &'static str) {
    let (from, answer) = (second_c(s), blank_memory(s, to));
    s.tell_as(&from, to, answer.into());
}

/// The hindrance in an answer.
fn hindrance(effects: &[Effect]) -> Option<Hindrance> {
    let admission = sent(effects).find_map(|message| match message {
        Message::Asker(ToAsker::Admission(admission)) => Some(admission.clone()),
        _ => None,
    });
    let Admission { hindrance, .. } = admission.expect("an answer");
    hindrance
}

fn replaces(s: &Story, who: &str) -> bool {
    emitted_by(s, who, |event| matches!(event, OwnEvent::Replacing { .. }))
}

fn one_replaces(s: &Story) -> bool {
    ["a", "b", "d"].iter().any(|who| replaces(s, who))
}

fn is_told(s: &Story, who: &str, is_it: impl Fn(&Hindrance) -> bool) -> bool {
    emitted_by(s, who, |event| match event {
        OwnEvent::Awaited { why, .. } => why.iter().any(|(_, why)| is_it(why)),
        _ => false,
    })
}

/// c loses its directory, and is a member again without an operator, while p leads on.
#[test]
fn lost_member_is_replaced_alone() {
    let mut s = healing();
    let fence = s.fence("p");
    s.lose_disk("c");
    s.run(SILENCE - ms(100));
    assert!(!one_replaces(&s) && is_told(&s, "c", |why| matches!(why, Hindrance::Silent { .. })));
    s.run(ms(4_000));
    assert!(has_entered(&s, "c", 2), "{:?}", s.events("c"));
    assert_eq!(s.fence("p"), fence);
    let replacing = ["a", "b", "d"].iter().filter(|who| replaces(&s, who)).count();
    assert_eq!(replacing, 1, "members take turns");
    s.run(ms(30_000));
    assert!(!has_entered(&s, "a", 3), "nothing else is awaited");
}

/// Without the setting an operator must replace the member. The waiting node reports that, and so
/// does its candidate, which learns only the epoch of each member.
#[test]
fn manual_member_waits() {
    let mut s = grown();
    s.lose_disk("c");
    s.campaign("c");
    s.run(ms(60_000));
    let not_let_in = "refused: c is not let in: its state directory is new, but the members of \
                      epoch 1 know an earlier one. Run `tenure members replace c`, or start c with \
                      its earlier directory";
    assert_eq!(waits(&s, "c"), not_let_in);
    assert!(!emitted_by(&s, "a", |event| matches!(event, OwnEvent::Awaited { .. })));
    assert!(!has_entered(&s, "a", 2) && is_told(&s, "c", |why| *why == Hindrance::Manual));
    change_by(&mut s, "b", 8, replace("c"));
    assert!(has_entered(&s, "c", 2));
    s.run(ms(60_000));
    assert_eq!(waits(&s, "c"), "behind p, which leads");
}

/// The last reason for waiting that a candidate has reported.
fn waits(s: &Story, who: &str) -> String {
    let mut told = s.events(who).iter().filter_map(|event| match event {
        Event::Waiting(waiting) => Some(waiting.to_string()),
        _ => None,
    });
    told.next_back().unwrap_or_default()
}

/// The list of e names e as a member; the list of no member does.
#[test]
fn unknown_node_names_its_addition() {
    let mut s = grown();
    blank(&mut s, "e");
    s.campaign("e");
    s.run(ms(2_000));
    let command = format!("Run `tenure members add e={}`", address("e"));
    let told = format!("e is not let in: no member of epoch 1 has this name. {command}");
    assert_eq!(waits(&s, "e"), format!("refused: {told}"));
}

/// 4.1: epoch 1 names d. Before d has entered epoch 1, epoch 2 names another memory of d.
#[test]
fn named_memory_asks_no_more() {
    let mut s = Story::new();
    let mut whole = config(&["a", "b", "c", "d"]);
    automatic(&mut whole);
    s.config = whole.check().unwrap();
    s.start_empty("d");
    s.drop_all();
    let one = successor(&mut s, &["a", "b", "c", "d"]);
    decide(&mut s, "a", "d", Some(ballot(1)), &one);
    let mut two = Document { number: 2, before: one.id(), ..one };
    two.seats[3].instance = Some(Instance(5));
    decide(&mut s, "a", "d", Some(ballot(1)), &two);
    assert!(emitted_by(&s, "d", |event| matches!(event, OwnEvent::Removed { epoch: 2, .. })));
    s.restart("d");
    s.drop_all();
    decide(&mut s, "a", "d", Some(ballot(1)), &two);
    s.pass(ms(1_000));
    let is_admit = |l: &Letter| matches!(l.message, Message::Grantor(ToGrantor::Admit(_)));
    assert!(!s.letters.iter().any(is_admit));
    assert!(is_told(&s, "d", |why| *why == Hindrance::Former));
}

/// 4.8: the list of d names former members alone, and d does not hear of the epoch that lets it in.
#[test]
fn blank_asks_later_members() {
    let mut s = Story::new();
    s.config = config(&["a", "b", "c", "d"]).check().unwrap();
    s.start_empty("d");
    let mut one = successor(&mut s, &["d", "e", "f"]);
    let own = one.seats[0].instance.replace(Instance(5));
    decide(&mut s, "a", "d", None, &one);
    s.drop_all();
    s.pass(ms(1_000));
    let is_asked = |to: &str| {
        let is_where = |l: &Letter| matches!(l.message, Message::Grantor(ToGrantor::Where(_)));
        s.letters.iter().any(|l| l.by == "d" && l.to == address(to) && is_where(l))
    };
    assert!(["e", "f"].into_iter().all(is_asked), "{:?}", s.letters);
    let mut two = Document { number: 2, before: one.id(), ..one };
    two.seats[0].instance = own;
    decide(&mut s, "e", "d", None, &two);
    assert!(emitted_by(&s, "d", |event| matches!(event, OwnEvent::Decided { epoch: 2, .. })));
}

/// 4.1: members remember the memory that they have replaced.
#[test]
fn replaced_memory_finds_objections() {
    let mut s = healing();
    let former = instance(&mut s, "c");
    s.lose_disk("c");
    s.run(ms(6_000));
    assert!(has_entered(&s, "c", 2));
    let host = HostPort::from(address("c"));
    let admit = Admit { start: at(1), name: name("c"), instance: former, host };
    let from = Sender { epoch: zero(&s), ..s.sender("c") };
    assert_eq!(hindrance(&s.tell_as(&from, "a", admit.into())), Some(Hindrance::Former));
}

/// 4.2: a second node with the name of c has an empty directory, and c serves.
#[test]
fn heard_member_is_not_replaced() {
    let mut s = healing();
    for _ in 0..20 {
        for member in ["a", "b", "d"] {
            second_asks(&mut s, member);
        }
        s.run(ms(500));
    }
    assert!(!one_replaces(&s));
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Heard { .. })));
    let own = second_asks(&mut s, "c");
    assert_eq!(own, Some(Hindrance::Heard { ago: ms(0), needed: SILENCE }), "c is alive");
}

/// 4.3: only a has heard of the blank, so only a has asked for the lost memory.
#[test]
fn silence_of_one_is_too_little() {
    let mut s = healing();
    s.lose_disk("c");
    let lost = [("c", "b"), ("c", "d")];
    run_without(&mut s, SILENCE + ms(1_000), &lost);
    assert!(!one_replaces(&s), "b and d begin to ask");
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Silent { .. })));
    run_without(&mut s, SILENCE * 2, &lost);
    assert!(replaces(&s, "a"), "{:?}", s.events("a"));
}

/// 4.7: only a hears the blank, and at first no member hears a.
#[test]
fn unanswered_round_is_repeated() {
    let mut s = healing();
    s.lose_disk("c");
    let lost = [("c", "b"), ("c", "d"), ("a", "b"), ("a", "d")];
    run_without(&mut s, SILENCE * 2, &lost);
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Few { .. })), "{:?}", s.events("a"));
    assert!(!one_replaces(&s));
    run_without(&mut s, SILENCE * 6, &lost[..2]);
    assert!(replaces(&s, "a"), "{:?}", s.events("a"));
}

/// 4.3: b and d have never answered a about c, so they do not object. Their silence agrees to
/// nothing.
#[test]
fn silent_members_agree_to_nothing() {
    let mut s = healing();
    s.lose_disk("c");
    let lost = ["b", "d"].iter().flat_map(|who| [("c", *who), ("a", *who), (*who, "a")]);
    let lost: Vec<_> = lost.collect();
    run_without(&mut s, SILENCE * 4, &lost);
    assert!(!one_replaces(&s), "{:?}", s.events("a"));
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Few { .. })));
    s.run(SILENCE * 4);
    assert!(has_entered(&s, "c", 2), "{:?}", s.events("c"));
}

/// Members that do not hear c. Members c and b hear each other.
const APART: [&str; 3] = ["a", "d", "e"];

/// A cluster of five members.
fn five() -> Story {
    let mut s = healing();
    join(&mut s, "e", 8);
    s
}

/// The links between c and the members that do not hear it, in both directions.
fn around_c() -> Vec<(&'static str, &'static str)> {
    APART.iter().flat_map(|who| [("c", *who), (*who, "c")]).collect()
}

/// The second node with the name of c asks these members for `span`.
fn asks_for(s: &mut Story, span: Duration, members: &[&'static str], lost: &[(&str, &str)]) {
    for _ in 0..span.as_millis() / 500 {
        for member in members {
            second_asks(s, member);
        }
        run_without(s, ms(500), lost);
    }
}

fn no_one_replaces(s: &Story) -> bool {
    !one_replaces(s) && !replaces(s, "e")
}

/// 4.4: four members hear the second c. Only b of them hears c, too.
#[test]
fn single_objection_is_enough() {
    let mut s = five();
    asks_for(&mut s, ms(20_000), &["a", "b", "d", "e"], &around_c());
    assert!(no_one_replaces(&s));
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Heard { .. })), "b says so");
}

/// 4.4: b hears of the second c only from the others, and asks c from then on.
#[test]
fn member_agrees_after_its_span() {
    let mut s = five();
    asks_for(&mut s, ms(60_000), &APART, &around_c());
    assert!(no_one_replaces(&s));
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Silent { .. })), "b begins to ask");
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Heard { .. })), "b hears c");
}

/// 4.4.1: b says that it hears c. From then on no message reaches b.
#[test]
fn objections_last_for_spans() {
    let mut s = five();
    asks_for(&mut s, ms(3_000), &["a", "b", "d", "e"], &around_c());
    let by_b = |why: Option<Hindrance>| matches!(why, Some(Hindrance::Heard { .. }));
    assert!(by_b(second_asks(&mut s, "a")), "{:?}", s.events("a"));
    let mut lost = around_c();
    lost.extend(APART.iter().flat_map(|who| [("b", *who), (*who, "b")]));
    asks_for(&mut s, SILENCE + ms(20_000), &["a"], &lost);
    assert!(no_one_replaces(&s), "b has answered lately");
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Few { .. })));
    asks_for(&mut s, ms(50_000), &["a"], &lost);
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Few { .. })));
    assert!(!no_one_replaces(&s), "b counts no more: {:?}", s.events("a"));
}

/// Lets time pass until a member begins to replace c, which has lost its directory.
fn begun(s: &mut Story) -> &'static str {
    s.lose_disk("c");
    for _ in 0..1_000 {
        s.run(ms(10));
        if let Some(by) = ["a", "b", "d"].into_iter().find(|who| replaces(s, who)) {
            return by;
        }
    }
    panic!("no member replaces c: {:?}", s.events("a"));
}

/// 4.4.2: the process with the earlier directory of c answers while the change runs.
#[test]
fn late_answer_stops_change() {
    let mut s = healing();
    let former = instance(&mut s, "c");
    let by = begun(&mut s);
    let epoch = document(&s, by).id();
    let answer = Current {
        asker: s.who(by).inc,
        start: at(1),
        epoch,
        founding: zero(&s).digest,
        before: zero(&s),
        instance: former,
        entered: true,
        service: Service::Serving,
        length: 0,
    };
    tell_in(&mut s, epoch, "c", by, answer);
    s.run(ms(600));
    assert!(!has_entered(&s, "a", 2), "{:?}", s.events(by));
    assert!(is_told(&s, by, |why| matches!(why, Hindrance::Heard { .. })));
    s.run(SILENCE * 4);
    assert!(has_entered(&s, "a", 2), "that process has ended");
}

/// 4.4.2: a second node with the name of c asks while the change runs.
#[test]
fn late_blank_stops_change() {
    let mut s = healing();
    let by = begun(&mut s);
    assert!(matches!(second_asks(&mut s, by), Some(Hindrance::Two { .. })));
    s.run(ms(600));
    assert!(!has_entered(&s, "a", 2), "{:?}", s.events(by));
}

/// 4.4.2: a second node with the name of c shows itself while the change runs.
#[test]
fn second_blank_is_counted() {
    let mut s = healing();
    let by = begun(&mut s);
    second_answers(&mut s, by);
    s.run(ms(300));
    let failed = |event: &OwnEvent| matches!(event, OwnEvent::ReplacementFailed { .. });
    assert!(!has_entered(&s, "a", 2) && emitted_by(&s, by, failed), "{:?}", s.events(by));
}

/// 4.4.2: a round ends without the objection of b, which arrives later.
#[test]
fn late_objection_stops_change() {
    let mut s = five();
    let mut lost = around_c();
    lost.push(("b", "a"));
    let mut held = Vec::new();
    for _ in 0..600 {
        for member in APART {
            second_asks(&mut s, member);
        }
        s.pass(ms(10));
        while !s.letters.is_empty() {
            let letter = s.letters.remove(0);
            if letter.by == "b" && letter.to == address("a") {
                held.push(letter);
            } else if !lost.iter().any(|(by, to)| letter.by == *by && letter.to == address(to)) {
                s.put(&letter);
            }
        }
        if replaces(&s, "a") {
            break;
        }
    }
    assert!(replaces(&s, "a"), "{:?}", s.events("a"));
    let is_admission = |l: &Letter| matches!(l.message, Message::Asker(ToAsker::Admission(_)));
    let late: Vec<_> = held.into_iter().filter(is_admission).collect();
    assert!(!late.is_empty());
    late.iter().for_each(|letter| drop(s.put(letter)));
    for member in APART {
        second_answers(&mut s, member);
    }
    asks_for(&mut s, SILENCE / 2, &APART, &around_c());
    assert!(!has_entered(&s, "a", 3), "{:?}", s.events("a"));
}

/// 4.7: changes that fail follow each other at longer and longer pauses.
#[test]
fn failed_changes_grow_rarer() {
    let mut s = healing();
    s.actors.remove("c");
    // The second c asks, but never shows its memory.
    asks_for(&mut s, ms(60_000), &["a", "b", "d"], &[]);
    let begun = |who: &str| {
        let all = s.events(who).iter();
        all.filter(|event| matches!(event, Event::Own(OwnEvent::Replacing { .. }))).count()
    };
    let begun: usize = ["a", "b", "d"].into_iter().map(begun).sum();
    assert!((2..=24).contains(&begun), "{begun}");
}

/// 4.5: the members have just let c in, and c loses its directory again.
#[test]
fn replacements_have_a_pause() {
    let mut s = healing();
    s.lose_disk("c");
    s.run(ms(6_000));
    assert!(has_entered(&s, "c", 2));
    s.lose_disk("c");
    s.run(PAUSE / 2);
    assert!(!has_entered(&s, "a", 3));
    assert!(is_told(&s, "c", |why| matches!(why, Hindrance::Lately { .. })));
    s.run(PAUSE);
    assert!(has_entered(&s, "c", 3), "{:?}", s.events("c"));
}

/// 4.6: two nodes with the name of c have empty directories.
#[test]
fn two_blanks_wait_for_operators() {
    let mut s = healing();
    s.lose_disk("c");
    for _ in 0..20 {
        second_asks(&mut s, "a");
        s.run(ms(500));
    }
    assert!(!one_replaces(&s));
    let mut addresses = [address("c"), address("z")];
    addresses.sort_unstable();
    let both = |why: &Hindrance| match why {
        Hindrance::Two { addresses: found } => {
            let mut found = *found;
            found.sort_unstable();
            found == addresses
        }
        _ => false,
    };
    assert!(is_told(&s, "a", both));
    // The second node has ended.
    s.run(ms(5_000));
    assert!(has_entered(&s, "c", 2), "{:?}", s.events("a"));
}

/// The machine of c is lost. A node with its name and key starts elsewhere, and names its host.
/// The members let it in.
fn moved() -> Story {
    let mut s = healing();
    s.actors.remove("c");
    for _ in 0..80 {
        for member in ["a", "b", "d"] {
            second_asks(&mut s, member);
            second_answers(&mut s, member);
        }
        s.run(ms(100));
    }
    assert!(has_entered(&s, "a", 2), "{:?}", s.events("a"));
    s
}

#[test]
fn moved_member_names_its_host() {
    let s = moved();
    let seats = document(&s, "a").seats;
    let seat = seats.into_iter().find(|seat| seat.name == name("c")).unwrap();
    let hosts = vec![HostPort::from(address("z"))];
    assert_eq!((seat.hosts, seat.instance), (hosts, Some(Instance(5))));
}

/// The members may not know the name by which the second c calls its machine.
#[test]
fn named_host_needs_an_operator() {
    let mut s = healing();
    s.actors.remove("c");
    let mut last = None;
    for _ in 0..80 {
        last = second_asks_at(&mut s, "a", "c.lan:7101".parse().unwrap());
        second_answers(&mut s, "a");
        s.run(ms(100));
    }
    assert_eq!(last, Some(Hindrance::Elsewhere { address: address("z") }));
    assert!(!one_replaces(&s));
}

/// The name of c leads elsewhere: the second c answers only at the source of its questions. Members
/// try again and again, and the second c hears the reason between the tries.
#[test]
fn blank_elsewhere_hears_why() {
    let mut named = config(&GRANTORS);
    named.members[2].address = "c.internal:7101".parse().unwrap();
    let mut s = healing_with(named);
    s.actors.remove("c");
    let mut reasons = Vec::new();
    for _ in 0..200 {
        for member in ["a", "b", "d"] {
            reasons.extend(second_asks(&mut s, member));
            let answer = Current { start: tenure_core::Time::ZERO, ..blank_memory(&s, member) };
            s.tell_as(&second_c(&s), member, answer.into());
        }
        s.run(ms(100));
    }
    assert!(reasons.contains(&Hindrance::Elsewhere { address: address("z") }), "{reasons:?}");
    assert!(one_replaces(&s) && !has_entered(&s, "a", 2));
}

/// 4.2.1: c was replaced at z, and serves there. A node starts at c's earlier host, which the lists
/// of all nodes still name.
#[test]
fn hosts_of_seats_are_asked() {
    let mut s = moved();
    s.run(PAUSE);
    s.start_empty("c");
    let epoch = document(&s, "a").id();
    let from = Sender { epoch, ..second_c(&s) };
    for _ in 0..600 {
        s.pass(ms(10));
        while !s.letters.is_empty() {
            let letter = s.letters.remove(0);
            let is_question = matches!(letter.message, Message::Grantor(ToGrantor::Where(_)));
            let asker = ["a", "b", "d"].into_iter().find(|who| *who == letter.by);
            match asker.filter(|_| is_question && letter.to == address("z")) {
                Some(asker) => {
                    let answer = Current {
                        asker: s.who(asker).inc,
                        start: at(1),
                        epoch,
                        founding: zero(&s).digest,
                        before: EpochId::NONE,
                        instance: Instance(5),
                        entered: true,
                        service: Service::Serving,
                        length: 0,
                    };
                    s.tell_as(&from, asker, answer.into());
                }
                None => drop(s.put(&letter)),
            }
        }
    }
    assert!(!has_entered(&s, "a", 3), "{:?}", s.events("a"));
    assert!(is_told(&s, "a", |why| matches!(why, Hindrance::Heard { .. })));
}

/// Without keys, an address shows which member a node is.
#[test]
fn unproved_blank_is_refused() {
    let mut s = healing();
    let from = Sender { proved: false, ..second_c(&s) };
    let host = HostPort::from(address("z"));
    let admit = Admit { start: at(1), name: name("c"), instance: Instance(5), host };
    let refused = hindrance(&s.tell_as(&from, "a", admit.clone().into()));
    assert_eq!(refused, Some(Hindrance::Elsewhere { address: address("z") }));
    // Members ask on behalf of others only under their own proof.
    let stranger = Sender { who: s.who("q"), ..from };
    assert!(sent(&s.tell_as(&stranger, "a", admit.into())).next().is_none());
}

/// No member has this name, and the question changes nothing.
#[test]
fn other_names_are_added_by_operators() {
    let mut s = healing();
    let from = Sender { proved: true, ..sender_in(&s, "e", zero(&s)) };
    let host = HostPort::from(address("e"));
    let admit = Admit { start: at(1), name: name("e"), instance: Instance(5), host };
    let refused = hindrance(&s.tell_as(&from, "a", admit.into()));
    assert_eq!(refused, Some(Hindrance::NotMember));
    s.run(ms(10_000));
    assert!(!one_replaces(&s));
}

/// Epoch 0 names no memories: there a lost memory comes back by itself.
#[test]
fn members_of_settings_let_nobody_in() {
    let mut config = config(&GRANTORS);
    automatic(&mut config);
    let mut s = Story::with(config);
    s.lose_disk("c");
    s.run(ms(6_000));
    assert!(!one_replaces_among(&s, &["a", "b"]) && !has_entered(&s, "a", 1));
    assert!(emitted_by(&s, "c", |event| *event == OwnEvent::Serving));
}

fn one_replaces_among(s: &Story, members: &[&str]) -> bool {
    members.iter().any(|who| replaces(s, who))
}

/// A blank asks to be let in, and the settings of the members leave that to an operator.
#[test]
fn manual_members_replace_nobody() {
    let mut s = grown();
    for _ in 0..40 {
        for member in ["a", "b", "d"] {
            assert_eq!(second_asks(&mut s, member), Some(Hindrance::Manual));
        }
        s.actors.remove("c");
        s.run(ms(500));
    }
    assert!(!one_replaces(&s));
}

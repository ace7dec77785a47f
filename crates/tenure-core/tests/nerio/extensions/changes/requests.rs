//! 2.7: changes that operators ask for, and refused changes.

use tenure_core::nerio::{
    ChangeError, ChangePhase, FenceRead, Missing, Quorums, ReadyRead, Recipient, ToGrantor,
    Unready, members,
};
use tenure_core::{Input, Protocol, Text, Time};

use super::*;

fn refused_as(effects: &[Effect]) -> ChangeError {
    match states(effects).pop() {
        Some(ChangeState::Refused(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The grantor refuses each of these changes at once, with this text.
#[test]
fn impossible_change_is_refused() {
    let mut s = Story::new();
    let far = SeatChange::Add { name: name("d"), hosts: vec![] };
    let hosts = vec![HostPort::from(address("c")); Seat::HOSTS_MAX + 1];
    let many = SeatChange::Replace { name: name("c"), hosts, instance: None };
    let no_member = "d is no member: give the name of a member; `tenure members` lists them";
    let cases = [
        (
            add("b"),
            "b is a member already: give the new member another name, or replace this member with \
             `tenure members replace`",
        ),
        (remove("d"), no_member),
        (replace("d"), no_member),
        (far, "the member d needs 1 to 4 addresses"),
        (many, "the member c needs 1 to 4 addresses"),
        (SeatChange::Cancel, "there is nothing to cancel: this member carries out no change"),
    ];
    for (nth, (what, why)) in cases.into_iter().enumerate() {
        assert_eq!(refused_as(&ask(&mut s, "a", nth as u64, what)).to_string(), why);
    }
}

/// The only member cannot be removed, and a full cluster takes no member.
#[test]
fn number_of_members_has_bounds() {
    let mut s = Story::empty(config(&["a"]));
    let disk = s.directory(true);
    s.start("a", Some(disk));
    s.start("r", None);
    let error = refused_as(&ask(&mut s, "a", 1, remove("a")));
    assert_eq!(error, ChangeError::Last { name: name("a") });
    let list: Vec<String> = (0..31).map(|n| format!("n{n}=10.0.0.1:{}", 7_000 + n)).collect();
    let mut many = config(&["a"]);
    many.members = members(&list.join(",").replace("n0=", "a=")).unwrap();
    many.quorums = Quorums::majority(31).unwrap();
    let mut s = Story::empty(many);
    let disk = s.directory(true);
    s.start("a", Some(disk));
    s.start("r", None);
    assert_eq!(refused_as(&ask(&mut s, "a", 1, add("z"))), ChangeError::Full { max: 31 });
}

/// Only a majority system follows from the names of the members: a change must name any other
/// system.
#[test]
fn quorums_are_given_where_needed() {
    let mut config = config(&GRANTORS);
    let names = config.names();
    config.quorums = Quorums::parse("weights:a=2,b=1,c=1", &names).unwrap();
    let mut s = Story::with(config);
    assert_eq!(refused_as(&ask(&mut s, "a", 1, remove("c"))), ChangeError::QuorumsNeeded);
    let with = |s: &mut Story, number, text: &str| {
        let (epoch, start) = (zero(s), s.now("r"));
        let quorums = Some(Text::new(text).unwrap());
        let change = Change { start, number, what: remove("c"), quorums };
        tell_in(s, epoch, "r", "a", change)
    };
    with(&mut s, 2, "weights:a=2,c=1");
    s.run(ms(200));
    let error = refused_as(&with(&mut s, 2, "weights:a=2,c=1")).to_string();
    assert!(error.contains("\"c\" is not a member"), "{error}");
    with(&mut s, 3, "weights:a=2,b=1");
    s.run(ms(500));
    let done = states(&with(&mut s, 3, "weights:a=2,b=1")).pop().unwrap();
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
}

/// 2.7.2: the change is refused if no blank has that name, or two blanks have it.
#[test]
fn new_member_must_be_there() {
    let mut s = Story::new();
    ask(&mut s, "a", 1, add("d"));
    s.run(ms(1_700));
    let error = refused_as(&ask(&mut s, "a", 1, add("d")));
    assert_eq!(error, ChangeError::NoBlank { name: name("d") });
    blank(&mut s, "d");
    ask(&mut s, "a", 2, add("d"));
    answer_at_z(&mut s, "d");
    s.run(ms(300));
    let error = refused_as(&ask(&mut s, "a", 2, add("d")));
    let ChangeError::TwoBlanks { mut addresses, .. } = error else { panic!("{error}") };
    addresses.sort_unstable();
    let mut expected = [address("d"), address("z")];
    expected.sort_unstable();
    assert_eq!(addresses, expected);
}

/// The blank c answers at its own address, and at the address of z, too: one process with IPv4 and
/// IPv6.
#[test]
fn two_addresses_are_one_blank() {
    let mut s = Story::new();
    s.actors.remove("c");
    s.start_empty("c");
    s.run(ms(300));
    ask(&mut s, "a", 1, replace("c"));
    let memory = s.instance("c");
    let from = Sender { address: address("z"), ..sender_in(&s, "c", zero(&s)) };
    let answer = Current { instance: memory, ..blank_memory(&s, "a") };
    s.tell_as(&from, "a", answer.into());
    s.run(ms(1_000));
    let done = state(&mut s, "a", 1, replace("c"));
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
    // Another process with a copy of the directory is another blank.
    s.lose_disk("c");
    s.run(ms(300));
    ask(&mut s, "a", 2, replace("c"));
    let copy = Current { instance: s.instance("c"), ..blank_memory(&s, "a") };
    let who = Who { inc: Inc(99), ..from.who.clone() };
    s.tell_as(&Sender { who, ..from }, "a", copy.into());
    s.run(ms(300));
    let done = state(&mut s, "a", 2, replace("c"));
    assert!(matches!(done, ChangeState::Refused(ChangeError::TwoBlanks { .. })), "{done}");
}

/// A blank of this name at the address of z tells a its memory.
fn answer_at_z(s: &mut Story, who: &str) {
    let from = Sender { address: address("z"), ..sender_in(s, who, zero(s)) };
    let answer = blank_memory(s, "a");
    s.tell_as(&from, "a", answer.into());
}

/// Other nodes look for a member at the host of its seat, but they hear a blank wherever it is.
#[test]
fn replacement_elsewhere_names_its_host() {
    let mut s = grown();
    s.actors.remove("d");
    ask(&mut s, "a", 8, replace("d"));
    answer_at_z(&mut s, "d");
    s.run(ms(300));
    let error = refused_as(&ask(&mut s, "a", 8, replace("d")));
    assert_eq!(error, ChangeError::Elsewhere { name: name("d"), address: address("z") });
    let hosts = vec![HostPort::from(address("z"))];
    let moved = SeatChange::Replace { name: name("d"), hosts: hosts.clone(), instance: None };
    ask(&mut s, "a", 9, moved.clone());
    answer_at_z(&mut s, "d");
    s.run(ms(500));
    let done = state(&mut s, "a", 9, moved);
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
    let seats = document(&s, "a").seats;
    let seat = seats.into_iter().find(|seat| seat.name == name("d")).unwrap();
    assert_eq!((seat.hosts, seat.instance), (hosts, Some(Instance(5))));
}

/// A name may resolve to the address of the blank.
#[test]
fn replacement_behind_name_needs_no_host() {
    let mut named = config(&GRANTORS);
    named.members[2].address = "c.internal:7101".parse().unwrap();
    let mut s = Story::with(named);
    s.actors.remove("c");
    ask(&mut s, "a", 8, replace("c"));
    answer_at_z(&mut s, "c");
    s.run(ms(500));
    let done = state(&mut s, "a", 8, replace("c"));
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
}

/// The name resolves to another address: the blank c answers only at z, from where it asks.
#[test]
fn replacement_behind_name_answers_there() {
    let mut named = config(&GRANTORS);
    named.members[2].address = "c.internal:7101".parse().unwrap();
    let mut s = Story::with(named);
    s.actors.remove("c");
    let from = Sender { address: address("z"), ..sender_in(&s, "c", zero(&s)) };
    let read = FenceRead { start: at(1), instance: Instance(5), record: false };
    s.tell_as(&from, "a", read.into());
    let asked = ask(&mut s, "a", 8, replace("c"));
    let start = asked.iter().find_map(|effect| match effect {
        Effect::Send { to, message: Message::Grantor(ToGrantor::Where(asked)) }
            if to.recipient == Recipient::Address(address("z")) =>
        {
            Some(asked.start)
        }
        _ => None,
    });
    let answer = Current { start: start.unwrap(), ..blank_memory(&s, "a") };
    s.tell_as(&from, "a", answer.into());
    s.run(ms(1_700));
    let error = refused_as(&ask(&mut s, "a", 8, replace("c")));
    assert_eq!(error, ChangeError::Elsewhere { name: name("c"), address: address("z") });
}

/// The settings list c where it was before its replacement, and questions go there as well.
#[test]
fn answer_at_earlier_host_shows_no_seat() {
    let mut s = grown();
    s.actors.remove("c");
    let hosts = vec!["c.internal:7101".parse().unwrap()];
    let named = SeatChange::Replace { name: name("c"), hosts, instance: None };
    ask(&mut s, "a", 8, named.clone());
    answer_at_z(&mut s, "c");
    s.run(ms(500));
    let done = state(&mut s, "a", 8, named.clone());
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
    // The memory that is lost next does not answer.
    let mut end = |number, what: &SeatChange, at| {
        ask(&mut s, "a", number, what.clone());
        let from = Sender { address: address(at), ..sender_in(&s, "c", zero(&s)) };
        let answer = Current { instance: Instance(6), ..blank_memory(&s, "a") };
        s.tell_as(&from, "a", answer.into());
        s.run(ms(1_700));
        state(&mut s, "a", number, what.clone())
    };
    for (number, what) in [(9, &replace("c")), (10, &named)] {
        let error = ChangeError::Elsewhere { name: name("c"), address: address("c") };
        assert_eq!(end(number, what, "c"), ChangeState::Refused(error));
    }
    let done = end(11, &replace("c"), "z");
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
}

/// An epoch that names no memories needs no operator: a node with a lost directory enters by
/// itself.
#[test]
fn member_that_runs_is_not_replaced() {
    let mut s = Story::new();
    ask(&mut s, "a", 1, replace("c"));
    s.run(ms(1_700));
    let error = refused_as(&ask(&mut s, "a", 1, replace("c")));
    assert_eq!(error, ChangeError::Entered { name: name("c") });
    s.actors.remove("c");
    ask(&mut s, "a", 2, replace("c"));
    s.run(ms(1_700));
    let error = refused_as(&ask(&mut s, "a", 2, replace("c")));
    assert_eq!(error, ChangeError::NoBlank { name: name("c") });
}

/// 2.7.6: a quorum of the present members does not answer.
#[test]
fn silent_quorum_is_named() {
    let mut s = grown();
    for gone in ["b", "c"] {
        s.actors.remove(gone);
    }
    ask(&mut s, "a", 8, remove("d"));
    s.run(ms(2_000));
    let error = refused_as(&ask(&mut s, "a", 8, remove("d")));
    let who = vec![name("b"), name("c")];
    assert_eq!(error, ChangeError::Silent { who });
    assert!(!emitted_by(&s, "a", |event| *event == OwnEvent::Wedged { next: 2 }));
}

/// 2.1.6: no quorum of the new members is alive, so no member is asked to accept the change.
#[test]
fn dead_successor_is_refused() {
    let mut s = grown();
    s.actors.remove("d");
    ask(&mut s, "a", 8, remove("b"));
    s.run(ms(100));
    let done = state(&mut s, "a", 8, remove("b"));
    assert!(matches!(done, ChangeState::Done { .. }), "two of three are alive: {done}");
    s.run(ms(200));
    ask(&mut s, "a", 9, remove("c"));
    s.run(ms(100));
    let waits = state(&mut s, "a", 9, remove("c"));
    let (phase, waits_for) = (ChangePhase::Ready, vec![name("d")]);
    assert_eq!(waits, ChangeState::Working { phase, waits_for });
    s.run(ms(2_000));
    let error = refused_as(&ask(&mut s, "a", 9, remove("c")));
    let who = vec![Missing { name: name("d"), why: None }];
    assert_eq!(error, ChangeError::NotReady { who });
    assert!(!emitted_by(&s, "a", |event| *event == OwnEvent::Wedged { next: 3 }));
}

/// 2.1.6: only the memory that the document names is ready.
#[test]
fn unready_seat_gives_reason() {
    let mut s = Story::new();
    let mut next = successor(&mut s, &["a", "b", "c"]);
    next.seats[1].instance = Some(Instance(5));
    let (epoch, successor) = (zero(&s), next.id());
    for (member, expected) in [("a", None), ("b", Some(Unready::OtherMemory))] {
        tell_in(&mut s, epoch, "c", member, ReadyRead { successor });
        let part = part(&s, member, &next);
        let effects = tell_in(&mut s, epoch, "c", member, part);
        let unready = sent(&effects).find_map(|message| match message {
            Message::Asker(ToAsker::Ready(ready)) => Some(ready.unready),
            _ => None,
        });
        assert_eq!(unready, Some(expected), "{member}");
    }
}

/// 2.1.6: an old process of c runs beside the present one, and answers first.
#[test]
fn replaced_process_takes_no_seat() {
    let mut s = Story::new();
    let (epoch, present) = (zero(&s), instance(&mut s, "c"));
    ask(&mut s, "a", 1, remove("b"));
    let answer = Current {
        asker: s.who("a").inc,
        start: s.now("a"),
        epoch,
        founding: epoch.digest,
        before: EpochId::NONE,
        instance: Instance(5),
        entered: true,
        service: Service::Replaced,
        length: 0,
    };
    tell_in(&mut s, epoch, "c", "a", answer);
    s.run(ms(500));
    let done = state(&mut s, "a", 1, remove("b"));
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
    let seats = document(&s, "a").seats;
    let seat = seats.iter().find(|seat| seat.name == name("c")).unwrap();
    assert_eq!(seat.instance, Some(present));
}

/// 2.1.10: no member has been asked to accept the change.
#[test]
fn change_can_be_cancelled() {
    let mut s = grown();
    for gone in ["b", "c"] {
        s.actors.remove(gone);
    }
    ask(&mut s, "a", 8, remove("d"));
    s.run(ms(200));
    let other = refused_as(&ask(&mut s, "a", 9, remove("c")));
    let (by, what) = (name("r"), remove("d"));
    assert_eq!(other, ChangeError::Running { by, what });
    let cancelled = states(&ask(&mut s, "a", 10, SeatChange::Cancel));
    assert!(cancelled.contains(&ChangeState::Cancelled), "{cancelled:?}");
    assert_eq!(state(&mut s, "a", 8, remove("d")), ChangeState::Cancelled);
    assert_eq!(state(&mut s, "a", 10, SeatChange::Cancel), ChangeState::Cancelled);
}

/// 2.1.10: a member may have accepted the change, and serves again only after a decision.
#[test]
fn begun_change_cannot_be_cancelled() {
    let mut s = grown();
    ask(&mut s, "a", 8, remove("d"));
    while !s.letters.iter().any(is_accept) {
        let letter = s.letters.remove(0);
        s.put(&letter);
    }
    let error = refused_as(&ask(&mut s, "a", 9, SeatChange::Cancel));
    assert_eq!(error, ChangeError::Begun);
}

fn is_accept(letter: &Letter) -> bool {
    matches!(letter.message, Message::Grantor(ToGrantor::Accept(_)))
}

/// a is wedged: a proposal in its epoch must be decided first.
#[test]
fn wedged_member_takes_no_change() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b"]);
    accept(&mut s, "b", "a", ballot(1), &next);
    let error = refused_as(&ask(&mut s, "a", 1, remove("b")));
    assert_eq!(error, ChangeError::Deciding { before: 0, next: 1 });
}

/// At the last instant of a clock no question can be repeated later.
#[test]
fn change_survives_end_of_clock() {
    let mut s = Story::new();
    s.actor("a").clock = Time::MAX;
    ask(&mut s, "a", 1, remove("c"));
    s.step("a", Input::Timeout);
    assert_eq!(s.actors["a"].core.deadline(), None);
}

/// A blank and a removed member refuse changes.
#[test]
fn outsider_takes_no_change() {
    let mut s = Story::new();
    blank(&mut s, "d");
    assert_eq!(refused_as(&ask(&mut s, "d", 1, remove("c"))), ChangeError::Outside);
    change(&mut s, remove("c"));
    assert_eq!(refused_as(&ask(&mut s, "c", 1, remove("b"))), ChangeError::Outside);
}

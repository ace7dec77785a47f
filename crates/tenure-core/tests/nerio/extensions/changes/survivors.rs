//! 2.12: an operator declares members lost, and the others, which are no quorum, go on in an epoch
//! of their own.

use std::sync::Arc;

use tenure_core::Text;
use tenure_core::nerio::SurvivorsError;
use tenure_core::nerio::epoch::DocumentError;

use super::*;

/// The floor that operators give, far above all fences in any story.
const FLOOR: u64 = 1_795_000_000_000;
/// The epoch of the survivors of epoch 1.
const NUMBER: u64 = 1 + Document::RECOVERY_STEP;

/// The members a and b of a, b, c and d are lost, and the leader p is stopped.
fn lost() -> (Story, u64) {
    let mut s = grown();
    let before = s.fence("p");
    ["a", "b", "p"].iter().for_each(|who| drop(s.actors.remove(who)));
    s.drop_all();
    (s, before)
}

/// The epoch of the members that are left without the `lost` ones, after the epoch of d.
fn left(s: &Story, lost: &[&str]) -> Document {
    let lost: Vec<_> = lost.iter().map(|who| name(who)).collect();
    document(s, "d").survivors(&lost, None).unwrap()
}

/// An operator recovers the directory of `who`, and its node starts.
fn recover(s: &mut Story, who: &'static str, next: &Document) {
    let disk = s.actor(who).disk.as_mut().unwrap();
    disk.survive(Arc::new(next.clone()), fence(FLOOR));
    start(s, who);
}

/// Starts a node with its directory, and a list of all members of epoch 1.
fn start(s: &mut Story, who: &'static str) {
    let whole = config(&["a", "b", "c", "d"]).check().unwrap();
    let line = std::mem::replace(&mut s.config, whole);
    s.restart(who);
    s.config = line;
}

/// Candidate q starts with the list of epoch 0, and wins within a bounded time.
fn q_leads(s: &mut Story) -> u64 {
    s.start("q", None);
    s.campaign("q");
    s.run(ms(4_000));
    assert_eq!(s.leader(), Some("q"));
    s.fence("q")
}

fn serves(s: &Story, who: &str) -> bool {
    emitted_by(s, who, |event| *event == OwnEvent::Serving)
}

/// 2.12.3, 2.12.4: both survivors are needed. They wait as if their machines had started again.
#[test]
fn survivors_lead_above_floor() {
    let (mut s, before) = lost();
    let next = left(&s, &["a", "b"]);
    assert_eq!((next.number, next.names()), (NUMBER, vec![name("c"), name("d")]));
    assert_eq!(document(&s, "c").survivors(&[name("b"), name("a")], None).unwrap(), next);
    for who in ["c", "d"] {
        recover(&mut s, who, &next);
    }
    s.run(ms(2_190));
    assert!(!serves(&s, "c") && !serves(&s, "d"), "leases of a and b may last");
    let fence = q_leads(&mut s);
    assert!(fence > FLOOR && FLOOR > before);
    assert_eq!(document(&s, "q"), next, "q followed c");
    // The next start and the next change need no operator's recovery.
    start(&mut s, "c");
    s.run(ms(2_000));
    blank(&mut s, "e");
    change_by(&mut s, "c", 9, add("e"));
    assert!(has_entered(&s, "e", NUMBER + 1) && s.fence("q") == fence);
}

/// The operator does not recover d, and d starts with its directory as it was.
#[test]
fn unedited_member_follows() {
    let (mut s, _) = lost();
    let next = left(&s, &["a", "b"]);
    recover(&mut s, "c", &next);
    start(&mut s, "d");
    assert!(q_leads(&mut s) > FLOOR);
    assert!(has_entered(&s, "d", NUMBER));
}

/// 2.12.7: d serves in the old epoch, with its directory. The operator recovers c without d. No
/// candidate knows both, so d learns of the later epoch only from c.
#[test]
fn forgotten_survivor_leaves() {
    let (mut s, _) = lost();
    let next = left(&s, &["a", "b", "d"]);
    start(&mut s, "d");
    s.run(ms(1_000));
    assert!(serves(&s, "d"), "c is down");
    recover(&mut s, "c", &next);
    s.run(ms(31_000));
    let is_told =
        |e: &OwnEvent| matches!(e, OwnEvent::Removed { epoch: NUMBER, replaced: false, .. });
    assert!(emitted_by(&s, "d", is_told), "{:?}", s.events("d"));
    assert!(serves(&s, "c") && !emitted_by(&s, "c", is_told));
}

/// 2.12.7: in the epoch of a founding, the operator recovers a without b and c, and the directory
/// of c is whole.
#[test]
fn forgotten_founder_leaves() {
    let mut s = Story::empty(config(&GRANTORS));
    s.wall = Some(1_800_000_000_000);
    GRANTORS.iter().for_each(|who| drop(s.start_empty(who)));
    s.run(ms(4_000));
    let next = document(&s, "a").survivors(&[name("b"), name("c")], None).unwrap();
    let mut a = s.actors.remove("a").unwrap();
    s.actors.remove("b");
    s.drop_all();
    s.restart("c");
    s.run(ms(3_000));
    assert!(serves(&s, "c"), "a is down");
    a.disk.as_mut().unwrap().survive(Arc::new(next.clone()), fence(1_900_000_000_000));
    s.actors.insert("a", a);
    s.restart("a");
    s.run(ms(31_000));
    let is_told =
        |e: &OwnEvent| matches!(e, OwnEvent::Removed { epoch, .. } if *epoch == next.number);
    assert!(emitted_by(&s, "c", is_told), "{:?}", s.events("c"));
    assert!(serves(&s, "a") && !emitted_by(&s, "a", is_told));
}

/// 2.12.2: a, b and c removed d, and are lost; d did not hear of that. Later c is found.
#[test]
fn successor_of_lost_gives_way() {
    let mut s = grown();
    let next = left(&s, &["a", "b", "c"]);
    let d = s.actors.remove("d").unwrap();
    change_by(&mut s, "a", 8, remove("d"));
    assert!(has_entered(&s, "c", 2));
    let c = s.actors.remove("c").unwrap();
    ["a", "b", "p"].iter().for_each(|who| drop(s.actors.remove(who)));
    s.drop_all();
    s.actors.insert("d", d);
    recover(&mut s, "d", &next);
    s.run(ms(3_000));
    s.actors.insert("c", c);
    s.restart("c");
    let epoch = zero(&s);
    let current = shown(&tell_in(&mut s, epoch, "c", "d", asked(1))).pop().unwrap();
    tell_in(&mut s, epoch, "d", "c", current);
    s.run(ms(300));
    assert!(emitted_by(&s, "c", |e| matches!(e, OwnEvent::Removed { epoch: NUMBER, .. })));
    assert!(serves(&s, "d") && !emitted_by(&s, "d", |e| matches!(e, OwnEvent::Removed { .. })));
}

/// Member c accepts epoch 2 with these seats.
fn accept(s: &mut Story, seats: Vec<Seat>) {
    let present = document(s, "c");
    let before = present.id();
    let successor = Document { number: 2, before, seats, ..present };
    let accept = Accept { epoch: before, ballot: ballot(1), successor: successor.id() };
    tell_in(s, before, "a", "c", accept);
    let part = part(s, "c", &successor);
    tell_in(s, before, "a", "c", part);
    assert!(emitted_by(s, "c", |event| *event == OwnEvent::Wedged { next: 2 }));
    s.run(ms(100));
}

/// 2.12.6
#[test]
fn leaver_is_no_survivor() {
    let (mut s, _) = lost();
    let mut seats = document(&s, "c").seats;
    seats[2].instance = Some(Instance(99));
    accept(&mut s, seats);
    assert_eq!(s.actor("c").disk.as_ref().unwrap().durable().left_out_in(), Some(2));
}

/// 2.12.4: c accepted a successor, which may be decided.
#[test]
fn vote_of_survivor_is_void() {
    let (mut s, _) = lost();
    let seats = document(&s, "c").seats[..3].to_vec();
    accept(&mut s, seats);
    assert_eq!(s.actor("c").disk.as_ref().unwrap().durable().left_out_in(), None);
    let next = left(&s, &["a", "b"]);
    for who in ["c", "d"] {
        recover(&mut s, who, &next);
    }
    assert!(q_leads(&mut s) > FLOOR);
    change_by(&mut s, "c", 9, remove("d"));
    assert!(has_entered(&s, "c", NUMBER + 1));
}

/// 2.12.5: the operator gives a higher floor when a member has refused the first.
#[test]
fn floor_may_be_raised() {
    let (mut s, _) = lost();
    let next = left(&s, &["a", "b"]);
    let disk = s.actor("c").disk.as_mut().unwrap();
    disk.survive(Arc::new(next.clone()), fence(7));
    for who in ["c", "d"] {
        recover(&mut s, who, &next);
    }
    assert!(q_leads(&mut s) > FLOOR);
}

/// 2.12.1
#[test]
fn wrong_survivors_are_refused() {
    let s = grown();
    let present = document(&s, "d");
    let of = |lost: &[&str]| {
        let lost: Vec<_> = lost.iter().map(|who| name(who)).collect();
        present.survivors(&lost, None)
    };
    let left = ["b", "c", "d"].map(name).to_vec();
    assert_eq!(of(&["a"]), Err(SurvivorsError::Quorum { number: 1, left }));
    let stranger = SurvivorsError::NoMember { name: name("e"), number: 1 };
    assert_eq!(of(&["a", "b", "e"]), Err(stranger));
    assert!(matches!(of(&["a", "b", "c", "d"]), Err(SurvivorsError::Document(_))));
    let last = Document { number: Document::NUMBER_MAX, ..present.clone() };
    let error = last.survivors(&[name("a"), name("b")], None);
    let is_number = |error: &_| matches!(error, DocumentError::Number { .. });
    assert!(matches!(error, Err(SurvivorsError::Document(error)) if is_number(&error)));
}

/// The quorum system of the present members may name lost members.
#[test]
fn survivors_need_their_own_quorums() {
    let s = grown();
    let text = |text: &str| Text::new(text).unwrap();
    let quorums = text("weights:a=2,b=1,c=1,d=1;threshold=3");
    let present = Document { quorums, ..document(&s, "d") };
    let lost = [name("a"), name("b")];
    let refused = present.survivors(&lost, None);
    let is_quorums = |error: &_| matches!(error, DocumentError::Quorums(_));
    assert!(matches!(refused, Err(SurvivorsError::Document(error)) if is_quorums(&error)));
    let next = present.survivors(&lost, Some(&text("weights:d=1,c=2"))).unwrap();
    assert_eq!(next.quorums.as_str(), "weights:c=2,d=1;threshold=2");
    // More members are lost before a change.
    let last = next.survivors(&[name("c")], Some(&text("majority"))).unwrap();
    assert_eq!((last.number, last.before), (1 + 2 * Document::RECOVERY_STEP, next.id()));
    assert_eq!(last.founding, present.founding);
}

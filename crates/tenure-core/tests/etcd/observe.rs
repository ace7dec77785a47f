//! Observers report the present, never the past.

use tenure_core::etcd::{Change, Command, Config, KeyValue, Op, Reply};

use crate::stage::*;

/// Ruling 9 (E8): the leader's key is deleted, and the next read has no answer. Then another key
/// appears: only a new read shows whether its candidate leads.
#[test]
fn new_look_resolves_doubt() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.observe("db", Some(&leader));
    assert!(s.has_told("leader 77"));
    s.changed("db/*", vec![deleted(&leader.key, 11)]);
    s.done.clear();
    s.lose("read db/*");
    assert!(s.has_told("db: unknown since"));
    s.done.clear();
    let newcomer = KeyValue { key: "db/99".into(), created: 12, ..leader };
    s.changed("db/*", vec![Change::Put(newcomer.clone())]);
    assert!(!s.has_told("leader") && !s.has_told("vacant"), "{:#?}", s.told());
    s.pass(ms(2_000));
    s.answer("read db/*", so(vec![Some(newcomer)]));
    assert!(s.has_told("leader 99"));
}

/// An answer may be older than the events that a watch has reported since the question.
#[test]
fn older_answer_hides_no_newer_value() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.observe("db", Some(&leader));
    s.pass(ms(12_000));
    let newer = KeyValue { value: "new".into(), modified: 11, ..leader.clone() };
    s.changed("db/*", vec![Change::Put(newer)]);
    s.answer("read db/*", so(vec![Some(leader)]));
    let last = s.told().into_iter().rfind(|line| line.contains("leader")).unwrap();
    assert!(last.contains("new"), "{last}");
}

/// A restore with raised revisions brings an older value back, and the watch goes on. The read
/// after the restore counts, although an event has shown a later write.
#[test]
fn restore_ends_earlier_reports() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.observe("db", Some(&leader));
    let newer = KeyValue { value: "new".into(), modified: 11, ..leader.clone() };
    s.changed("db/*", vec![Change::Put(newer)]);
    assert!(s.has_told("new"));
    s.pass(ms(12_000));
    s.done.clear();
    s.header.revision = 1_011;
    s.answer("read db/*", so(vec![Some(leader.clone())]));
    let last = s.told().into_iter().rfind(|line| line.contains("leader")).unwrap();
    assert!(last.contains(&format!("{:?}", leader.value)), "{last}");
}

/// A watch begins after the revision of the answer that led to it, even if another answer has shown
/// a later revision: the watch covers the events in between.
#[test]
fn a_watch_begins_after_its_own_answer() {
    let mut s = Stage::new();
    let created = s.create("db");
    let other = s.other("db", created - 1);
    let look = s.asked("if create(db/").call;
    s.campaign("other");
    s.header.revision += 50;
    s.write("if create(other/");
    s.header.revision -= 51;
    s.say(look, so(vec![Some(other.clone()), Some(other)]));
    let watch = s.asked("watch db/77").op;
    assert!(matches!(watch, Op::Watch { from, .. } if from == created + 1), "{watch}");
}

/// After a restore no answer reaches the revision of an earlier event. The observer still pauses
/// between its queries.
#[test]
fn after_a_restore_nobody_looks_without_pause() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.header.revision = 90;
    s.observe("db", Some(&leader));
    s.changed("db/*", vec![deleted(&leader.key, 99)]);
    s.header.revision = 20;
    s.answer("read db/*", so(vec![Some(leader.clone())]));
    s.answer("read db/*", so(vec![Some(leader)]));
    assert!(!s.asks("read db/*"), "{:#?}", s.requests());
}

/// An observer that is no longer wanted leaves no watch open.
#[test]
fn ended_observer_closes_its_watch() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.observe("db", Some(&leader));
    assert!(s.asks("watch db/*"), "{:#?}", s.requests());
    s.command("db", Command::Unobserve);
    assert!(!s.asks("watch db/*"), "{:#?}", s.requests());
}

/// An event of a watch may be older than the last answer.
#[test]
fn late_event_hides_no_newer_answer() {
    let mut s = Stage::new();
    let older = s.other("db", 9);
    s.observe("db", Some(&older));
    s.pass(ms(12_000));
    s.header.revision = 12;
    let newer = KeyValue { value: "new".into(), modified: 12, ..older.clone() };
    s.answer("read db/*", so(vec![Some(newer)]));
    assert!(s.has_told("new"));
    s.done.clear();
    let between = KeyValue { value: "between".into(), modified: 11, ..older.clone() };
    s.changed("db/*", vec![Change::Put(between)]);
    s.changed("db/*", vec![deleted(&"db/66".into(), 11)]);
    assert!(s.told().is_empty(), "{:#?}", s.told());
}

/// A new subscriber gets no view from memory, and none from an answer to an earlier question.
#[test]
fn new_subscriber_gets_a_new_read() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.observe("db", Some(&leader));
    s.pass(ms(12_000));
    let earlier = s.asked("read db/*").call;
    s.done.clear();
    s.command("db", OBSERVE);
    s.say(earlier, so(vec![None]));
    assert!(!s.has_told("leader") && !s.has_told("vacant"), "{:#?}", s.told());
    s.answer("read db/*", so(vec![Some(leader)]));
    assert!(s.has_told("leader 77"), "as before, and told: {:#?}", s.told());
    s.done.clear();
    s.command("db", OBSERVE);
    s.lose("read db/*");
    s.command("db", OBSERVE);
    s.lose("read db/*");
    let told: Vec<_> = s.told().into_iter().filter(|line| line.contains("unknown since")).collect();
    assert!(told.len() == 2 && told[0] == told[1], "since the first: {told:#?}");
}

/// Ruling 10 (E9): an observer of one election would take the keys of another election for its own.
/// The observer reports that it cannot observe.
#[test]
fn unobservable_election_is_reported() {
    let mut s = Stage::with(Config { elections: 2, ..config() }, None);
    s.campaign("a/b");
    s.command("a", OBSERVE);
    assert!(
        s.has_told("a: not observed: this election would share keys with a/b"),
        "{:#?}",
        s.told()
    );
    s.command("c/", OBSERVE);
    assert!(s.has_told("c/: not observed: an election's name on etcd must not end in a slash"));
    s.command("a/b", OBSERVE);
    s.command("c", OBSERVE);
    s.campaign("c/d");
    assert!(s.has_told("c/d: ended: this election would share keys with c"), "{:#?}", s.told());
    s.command("d", OBSERVE);
    assert!(s.has_told("d: not observed: this process takes part in 2 elections"));
    assert!(!s.asks("read a/*") && !s.asks("read d/*"));
}

/// A read shows a leader whose deletion the watch has already reported. The older read does not
/// bring this leader back.
#[test]
fn event_survives_an_older_answer() {
    let mut s = Stage::new();
    let first = s.other("db", 9);
    s.observe("db", Some(&first));
    s.changed("db/*", vec![deleted(&first.key, 11)]);
    s.header.revision = 13;
    let second = KeyValue { key: "db/88".into(), created: 10, modified: 10, ..first };
    s.changed("db/*", vec![deleted(&second.key, 13)]);
    s.header.revision = 12;
    s.answer("read db/*", so(vec![Some(second)]));
    s.header.revision = 13;
    s.answer("read db/*", so(vec![None]));
    let last = s.told().into_iter().rfind(|line| line.contains("db: ")).unwrap();
    assert!(last.contains("vacant"), "{last}");
}

/// A value that is too large is ignored, unless it may be the leader's: then the observer reads it.
#[test]
fn large_foreign_value_is_no_news() {
    let mut s = Stage::new();
    let leader = s.other("db", 8);
    s.observe("db", Some(&leader));
    s.done.clear();
    let large = |key: &str, revision| Change::TooLarge { key: key.into(), revision };
    s.changed("db/*", vec![large("db/99", 11)]);
    assert!(s.told().is_empty(), "{:#?}", s.told());
    s.changed("db/*", vec![large("db/77", 12)]);
    let why = "an answer of etcd cannot be used".into();
    s.answer("read db/*", Reply::Unknown { why });
    assert!(s.has_told("asking who leads: outcome unknown: an answer"), "{:#?}", s.told());
    assert!(s.has_told("db: unknown since"), "{:#?}", s.told());
    // The election is empty, so the next key is the leader's.
    s.pass(ms(200));
    s.answer("read db/*", so(vec![None]));
    s.changed("db/*", vec![large("db/77", 13)]);
    assert!(s.asks("read db/*"), "{:#?}", s.requests());
}

//! Keys under an election's prefix that no candidate made.

use tenure_core::etcd::{Change, KeyValue, Reply};

use crate::stage::*;

/// A foreign key in election `db`, made before all others, without a lease.
fn note(s: &Stage, name: &str) -> KeyValue {
    KeyValue { key: name.into(), value: "hello".into(), lease: None, ..s.other("db", 5) }
}

/// Candidates wait behind every key of the prefix, as Go's candidates do, and report foreign keys.
#[test]
fn candidates_say_that_keys_are_foreign() {
    for (name, why) in [
        // The query reads no leases: the key may have a lease, and its maker may lead.
        (
            "db/note",
            "its name does not end in the id of a lease: look at the key with `etcdctl get db/note \
             --write-out",
        ),
        ("db/eu/77", "a candidate of election db/eu may have made it: rename one of the two"),
    ] {
        let mut s = Stage::new();
        let created = s.create("db");
        let first = note(&s, name);
        let both = vec![Some(first.clone()), Some(first.clone())];
        s.answer("if create(db/", so(both));
        assert!(!s.leads("db") && s.asks(&format!("watch {name}")), "{:#?}", s.requests());
        let waits = format!("behind key {name}, which belongs to no candidate: {why}");
        assert!(s.has_told(&waits), "{:#?}", s.told());
        assert!(
            s.position(&format!("db: key {name} belongs to no candidate")) < s.position(&waits)
        );
        // The candidate waits only for the end of this key.
        s.answer(&format!("watch {name}"), Reply::Watching);
        s.changed(name, vec![deleted(&first.key, created + 1)]);
        s.is_first("db", created);
        assert!(s.leads("db"));
    }
}

/// An observer reports a vacancy while a foreign key is the first, because no candidate can lead.
#[test]
fn observers_report_no_foreign_key() {
    for name in ["db/note", "db/eu/77"] {
        let mut s = Stage::new();
        let first = note(&s, name);
        s.observe("db", Some(&first));
        assert!(
            s.position(&format!("db: key {name} belongs to no candidate")) < s.position("vacant")
        );
        s.done.clear();
        s.header.revision = 12;
        s.changed("db/*", vec![deleted(&first.key, 12)]);
        let other = s.other("db", 9);
        s.answer("read db/*", so(vec![Some(other)]));
        assert!(s.position("no longer wait behind a key") < s.position("leader 77"));
    }
}

/// A leader that uses Go's client does not notice a write that takes its key off its lease, and
/// leads on.
#[test]
fn keys_without_leases_leave_leaders_unknown() {
    let mut s = Stage::new();
    let leader = s.other("db", 9);
    s.observe("db", Some(&leader));
    assert!(s.has_told("leader 77"));
    s.done.clear();
    s.header.revision = 12;
    let unleased = KeyValue { lease: None, modified: 12, ..leader };
    s.changed("db/*", vec![Change::Put(unleased)]);
    let (told, unknown) =
        (s.position("it has no lease, so etcd never deletes it"), "unknown since");
    assert!(told < s.position(unknown) && !s.has_told("vacant"), "{:#?}", s.told());
}

/// Another program may name its candidates' keys in another way, and lead.
#[test]
fn leased_foreign_names_leave_leaders_unknown() {
    for name in ["db/0b5e2f9c-6c1f-4a3e-9d0e-7f5f0c8c1a11", "db/694D0A", "db/7587889457811426053"] {
        let mut s = Stage::new();
        let leader = KeyValue { key: name.into(), ..s.other("db", 5) };
        s.observe("db", Some(&leader));
        let (told, unknown) = (s.position("of another program may own the key"), "unknown since");
        assert!(told < s.position(unknown) && !s.has_told("vacant"), "{:#?}", s.told());
        assert!(!s.has_told("etcdctl del"), "{:#?}", s.told());
    }
}

/// A key keeps its name when it moves to the lease of another term.
#[test]
fn keys_on_other_leases_are_candidates() {
    let mut s = Stage::new();
    let moved = KeyValue { key: "db/99".into(), ..s.other("db", 9) };
    s.observe("db", Some(&moved));
    assert!(s.has_told("leader 99"), "{:#?}", s.told());
}

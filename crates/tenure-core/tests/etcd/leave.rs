//! Leaving leaves no key behind.

use tenure_core::etcd::{Change, Command, Config, KeyValue, Reply};

use crate::stage::*;

/// Ruling 5 (E4): a candidate that resigns deletes its key again and again until it is gone.
#[test]
fn resignation_repeats_until_key_gone() {
    let (mut s, _) = Stage::led("a");
    s.elect("b");
    s.command("b", Command::Resign);
    assert!(!s.leads("b") && s.has_told("b: ended: the leader resigned"), "{:#?}", s.told());
    for _ in 0..3 {
        s.lose("if create(b/");
        assert!(!s.has_told("released"), "{:#?}", s.told());
        s.pass(ms(700));
    }
    s.write("if create(b/");
    assert!(s.has_told("b: released") && s.leads("a"), "{:#?}", s.told());
}

/// Ruling 5 (E4): etcd may carry out a create after the candidate has left. Another election keeps
/// the lease alive, so the late key would block this election for ever.
#[test]
fn late_key_is_deleted() {
    for watched in [true, false] {
        let (mut s, kept) = Stage::led("a");
        s.leave_in_doubt("b");
        assert!(s.has_told("b: released"), "{:#?}", s.told());
        let late = s.own("b", 20);
        s.header.revision = 20;
        if watched {
            s.answer("watch b/", Reply::Watching);
            s.changed("b/", vec![Change::Put(late)]);
        } else {
            s.answer("if create(b/", so(vec![None]));
            for _ in 0..4 {
                s.pass(ms(3_400));
                s.renew_if_due("a", kept);
            }
            s.answer("if create(b/", not_so(vec![Some(late)]));
        }
        assert!(
            s.has_told("appeared after its candidate had left, and is deleted"),
            "watched {watched}: {:#?}",
            s.told()
        );
        let ask = s.asked("if create(b/").op.to_string();
        assert!(ask.contains("= 20 then delete"), "{ask}");
        s.write("if create(b/");
        assert!(s.leads("a"));
    }
}

/// The session revokes the lease after the last election, and has nothing left to do.
#[test]
fn last_departure_revokes_lease() {
    let (mut s, _) = Stage::led("a");
    s.command("a", Command::Resign);
    s.write("if create(a/");
    s.lose("revoke");
    s.pass(ms(500));
    s.answer("revoke", Reply::LeaseGone);
    s.pass(ms(60_000));
    assert!(s.core.is_idle() && s.requests().is_empty(), "{:#?}", s.requests());
}

/// The candidate searches for a late key as long as the lease of that key exists. When the session
/// gives back the lease of an earlier term, a late key goes with the lease.
#[test]
fn departed_candidate_forgotten_with_lease() {
    let (mut s, kept) = Stage::led("other");
    s.leave_in_doubt("db");
    s.answer("if create(db/", so(vec![None]));
    s.open_watches();
    s.header.term += 1;
    s.pass(ms(3_400));
    s.renew("other", kept);
    assert!(s.asks("watch db/"), "{:#?}", s.requests());
    s.answer("grant", Reply::Granted { ttl: 10 });
    s.write("if create(other/");
    assert!(s.leads("other") && s.asks("revoke"), "{:#?}", s.requests());
    assert!(!s.asks("watch db/"), "{:#?}", s.requests());
    s.answer("revoke", Reply::Revoked);
    for _ in 0..20 {
        s.renew_if_due("other", kept);
        s.pass(ms(1_000));
        assert!(!s.asks("if create(db/"), "{:#?}", s.requests());
    }
    assert!(s.leads("other"), "{:#?}", s.told());
}

/// A departed candidate finds a foreign key under its name, which it may not delete. The candidate
/// goes on looking for its own late key.
#[test]
fn a_sweep_goes_on_past_a_foreign_key() {
    let (mut s, kept) = Stage::led("other");
    s.leave_in_doubt("db");
    s.answer("watch db/", Reply::Watching);
    let foreign = KeyValue { lease: None, ..s.own("db", 12) };
    s.answer("if create(db/", not_so(vec![Some(foreign.clone())]));
    s.lose("watch db/");
    s.pass(ms(150));
    s.answer("if create(db/", not_so(vec![Some(foreign)]));
    assert!(s.asks("watch db/"));
    for _ in 0..20 {
        s.renew_if_due("other", kept);
        s.pass(ms(1_000));
    }
    assert!(s.leads("other") && s.asks("if create(db/"), "{:#?}", s.requests());
    assert!(
        !s.has_told("appeared after its candidate had left, and is deleted"),
        "{:#?}",
        s.told()
    );
}

/// A candidate loses its place during a query of the queue, and does not contend again. The
/// candidate searches at once for a late key, without waiting for the answer to the query.
#[test]
fn lost_place_starts_late_key_search() {
    let mut s = Stage::with(Config { contend_again: false, ..config() }, None);
    let kept = s.elect("a");
    s.campaign("b");
    s.lose("if create(b/");
    s.pass(ms(200));
    let own = s.own("b", 20);
    s.header.revision = 20;
    s.answer("if create(b/", not_so(vec![Some(own)]));
    assert!(s.asked("if create(b/").op.to_string().contains("read key of b/*"));
    s.keep_alive();
    let left = s.own("a", kept);
    s.answer("read a/", so(vec![Some(left), None]));
    assert!(s.has_told("b: lost: its key was deleted by somebody else"), "{:#?}", s.told());
    let mut looks = s.requests().into_iter().filter(|request| request.contains("if create(b/"));
    let sweep = format!("if create({}) = 0 then read", s.key("b"));
    assert!(looks.next_back().is_some_and(|look| look.contains(&sweep)), "{:#?}", s.requests());
}

/// A candidate that has lost its place and does not contend again ends its watch: each later
/// campaign would leave another watch open.
#[test]
fn lost_place_ends_watch() {
    let mut s = Stage::with(Config { contend_again: false, ..config() }, None);
    s.queue("db");
    s.answer("watch db/77", Reply::Watching);
    s.keep_alive();
    assert!(s.asks("watch db/77"), "{:#?}", s.requests());
    s.answer("read db/", so(vec![None]));
    assert!(s.has_told("lost: its key was deleted by somebody else"), "{:#?}", s.told());
    assert!(!s.asks("watch db/77"), "{:#?}", s.requests());
}

//! Leaving: no key stays behind.

use tenure_core::etcd::{Change, Command, Config, KeyValue, Reply};

use crate::stage::*;

/// Ruling 5 (E4): resigning is repeated until the key is gone, and never forgets it.
#[test]
fn a_resignation_is_repeated_until_the_key_is_gone() {
    let mut s = Stage::new();
    s.elect("a");
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

/// Ruling 5 (E4): a create that timed out may be carried out after the candidate has left. Its
/// key would live for ever on the lease that another election keeps alive, and hang this one.
#[test]
fn a_key_that_comes_after_its_candidate_has_left_is_deleted() {
    for watched in [true, false] {
        let mut s = Stage::new();
        let kept = s.elect("a");
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
        assert!(s.has_told("came late, and is deleted"), "watched {watched}: {:#?}", s.told());
        let ask = s.asked("if create(b/").op.to_string();
        assert!(ask.contains("= 20 then delete"), "{ask}");
        s.write("if create(b/");
        assert!(s.leads("a"));
    }
}

/// When the last election is over the lease goes, and nothing is left to be done.
#[test]
fn who_has_left_all_elections_revokes_the_lease() {
    let mut s = Stage::new();
    s.elect("a");
    s.command("a", Command::Resign);
    s.write("if create(a/");
    s.lose("revoke");
    s.pass(ms(500));
    s.answer("revoke", Reply::LeaseGone);
    s.pass(ms(60_000));
    assert!(s.core.is_idle() && s.requests().is_empty(), "{:#?}", s.requests());
}

/// It is looked for as long as its lease is there. When that is given back, as that of an earlier
/// term, a key that appears goes with it.
#[test]
fn who_has_left_is_forgotten_with_the_lease() {
    let mut s = Stage::new();
    let kept = s.elect("other");
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

/// Somebody else's key under our key's name is not ours to delete, and no reason to stop looking:
/// a create of ours may still be carried out.
#[test]
fn a_sweep_goes_on_past_a_foreign_key() {
    let mut s = Stage::new();
    let kept = s.elect("other");
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
    assert!(!s.has_told("came late, and is deleted"), "{:#?}", s.told());
}

/// A candidate that loses its place while it looks who is first, and does not contend again, looks
/// at once for a key that may come late: it waits for no answer to what it has given up.
#[test]
fn who_loses_its_place_while_it_looks_looks_for_a_late_key_at_once() {
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

/// A candidate that has lost its place and does not contend again ends its watch: its process may
/// contend again and again, and each would leave one open.
#[test]
fn who_loses_its_place_watches_nobody() {
    let mut s = Stage::with(Config { contend_again: false, ..config() }, None);
    s.queue("db");
    s.answer("watch db/77", Reply::Watching);
    s.keep_alive();
    assert!(s.asks("watch db/77"), "{:#?}", s.requests());
    s.answer("read db/", so(vec![None]));
    assert!(s.has_told("lost: its key was deleted by somebody else"), "{:#?}", s.told());
    assert!(!s.asks("watch db/77"), "{:#?}", s.requests());
}

//! Refusals and failures of etcd, and the pauses after them.

use tenure_core::etcd::{Change, Command, Header, Op, Refusal, Reply};

use crate::stage::*;

/// The refusal of a request although its login is new.
fn old_auth() -> Reply {
    let said = "etcdserver: revision of auth store is old".into();
    Reply::Refused(Refusal::Unauthenticated { said })
}

/// A deletion that this user lacks the right for is repeated with pauses, and the candidate reports
/// no release. The key goes once the right comes back.
#[test]
fn a_key_that_may_not_be_deleted() {
    let (mut s, kept) = Stage::led("a");
    s.elect("b");
    s.command("b", Command::Resign);
    s.campaign("b");
    let mut deletes = 0;
    for _ in 0..200 {
        if s.asks("if create(b/") {
            deletes += 1;
            s.answer("if create(b/", denied());
        }
        s.renew_if_due("a", kept);
        s.pass(ms(100));
    }
    assert!((2..=7).contains(&deletes), "{deletes} deletes in 20 s");
    assert!(!s.has_told("b: released") && s.leads("a"), "{:#?}", s.told());
    for _ in 0..40 {
        s.renew_if_due("a", kept);
        if s.asks("if create(b/") {
            break;
        }
        s.pass(ms(100));
    }
    s.write("if create(b/");
    assert!(s.has_told("b: released"), "{:#?}", s.told());
    assert!(s.asked("if create(b/").op.to_string().contains("= 0 then put"));
}

/// This user may not delete the key, and no other candidate needs the lease. The session revokes
/// the lease, and the key goes with it.
#[test]
fn undeletable_key_goes_with_lease() {
    let (mut s, _) = Stage::led("b");
    let lease = s.lease();
    s.command("b", Command::Resign);
    s.answer("if create(b/", denied());
    s.answer("revoke", Reply::Revoked);
    assert!(s.has_told("b: released") && s.core.is_idle(), "{:#?}", s.told());

    s.elect("b");
    assert_ne!(s.lease(), lease);
    s.command("b", Command::Resign);
    s.campaign("b");
    s.answer("if create(b/", denied());
    s.answer("revoke", Reply::Revoked);
    s.elect_again("b");
}

/// The process ends a watch whose answer comes from another cluster.
#[test]
fn a_watch_of_another_cluster_is_ended() {
    let mut s = Stage::new();
    s.observe("a", None);
    for round in 0..5 {
        let watch = s.asked("watch a/").call;
        s.header = Header { cluster: 2, ..s.header };
        s.say(watch, Reply::Changed(vec![Change::Put(s.other("a", 12))]));
        s.header = Header { cluster: 1, ..s.header };
        s.pass(ms(5_000));
        s.answer("read a/", so(vec![None]));
        s.answer("watch a/", Reply::Watching);
        let watches = s.open.iter().filter(|r| matches!(r.op, Op::Watch { .. })).count();
        assert_eq!(watches, 1, "round {round}: {:#?}", s.requests());
    }
}

/// etcd also reports a full store for the write that crosses the quota, and may have carried out
/// that write.
#[test]
fn refusal_for_space_leaves_doubt() {
    let full = || {
        let said = "etcdserver: mvcc: database space exceeded".into();
        Reply::Refused(Refusal::NoSpace { said })
    };
    let (mut s, _) = Stage::led("a");
    s.campaign("b");
    s.answer("if create(b/", full());
    s.command("b", Command::Resign);
    assert!(s.asks("if create(b/"), "nobody looks for its key: {:#?}", s.told());

    let mut s = Stage::new();
    s.campaign("a");
    s.answer("grant", full());
    s.pass(ms(200));
    s.answer("grant", Reply::LeaseExists);
    assert!(s.asks("keep"), "it was granted to us: {:#?}", s.told());
}

/// Ruling 5: a candidate that left after a create without a certain outcome watches its key. A
/// broken watch is opened again.
#[test]
fn late_key_is_watched_again() {
    let (mut s, kept) = Stage::led("a");
    s.leave_in_doubt("b");
    s.answer("watch b/", Reply::Watching);
    s.answer("if create(b/", so(vec![None]));
    s.lose("watch b/");
    for _ in 0..6 {
        s.pass(ms(1_700));
        s.renew_if_due("a", kept);
        if s.asks("if create(b/") {
            s.answer("if create(b/", so(vec![None]));
        }
    }
    assert!(s.asks("watch b/"), "{:#?}", s.requests());
}

/// Ruling 2: a leader whose watch broke reads the changes that it has missed.
#[test]
fn leader_reads_key_after_broken_watch() {
    let (mut s, _) = Stage::led("b");
    s.answer("watch b/", Reply::Watching);
    s.lose("watch b/");
    // The key is deleted at revision 12; the process learns of revision 13 by another answer.
    s.header.revision = 13;
    s.command("x", OBSERVE);
    s.answer("read x/", so(vec![None]));
    s.pass(ms(200));
    s.answer("if create(b/", not_so(vec![None]));
    assert!(!s.leads("b") && s.has_told("b: ended"), "{:#?}", s.told());
}

/// A refused watch is reported, and repeated with growing pauses, although queries are answered.
#[test]
fn refused_watch_is_repeated_with_pauses() {
    let (mut s, created, other) = Stage::queued("db");
    let mut looks = 0;
    for _ in 0..400 {
        if s.asks("watch db/77") {
            s.answer("watch db/77", denied());
        }
        s.renew_if_due("db", created);
        if s.asks("if create(db/") {
            looks += 1;
            let both = vec![Some(other.clone()), Some(other.clone())];
            s.answer("if create(db/", so(both));
        }
        s.pass(ms(50));
    }
    let told = s.has_told("etcd refuses");
    assert!(looks < 40 && told, "{looks} looks in 20 s, refusal told: {told}");
}

/// Ruling 9: after a gap the observer reports the state again, even if it is unchanged.
#[test]
fn after_a_gap_the_state_is_told_again() {
    let mut s = Stage::new();
    let leader = s.other("a", 5);
    s.observe("a", Some(&leader));
    s.answer("watch a/", Reply::Compacted { revision: 9 });
    s.done.clear();
    s.answer("read a/", so(vec![Some(leader)]));
    assert!(s.has_told("leader 77"), "{:#?}", s.told());
}

/// Many events during one read cause only one more read.
#[test]
fn looks_are_not_begun_again_for_each_event() {
    let mut s = Stage::new();
    s.observe("a", None);
    for n in 0..100 {
        s.changed("a/", vec![Change::Put(s.other("a", 12 + n))]);
    }
    let looks = |s: &Stage| s.told().iter().filter(|line| line.contains("read a/*")).count();
    assert_eq!(looks(&s), 2, "the first, and one for all events: {:#?}", s.told());
    // The answer is older than the last event, so the observer reads again.
    s.header.revision = 50;
    s.answer("read a/", so(vec![Some(s.other("a", 12))]));
    assert_eq!(looks(&s), 3, "{:#?}", s.told());
    s.header.revision = 111;
    s.answer("read a/", so(vec![Some(s.other("a", 12))]));
    assert_eq!(looks(&s), 3, "{:#?}", s.told());
}

/// Ruling 11 (E10): roles change during a campaign, so etcd refuses the driver's older token. The
/// driver logs in again, which takes time: calls become overdue, and streams end. The core also
/// survives a driver that gives up and reports the refusal.
#[test]
fn the_auth_revision_changes_during_a_campaign() {
    let mut s = Stage::new();
    s.campaign("db");
    s.answer("grant", Reply::Granted { ttl: 10 });
    let end = s.now.after(ms(10_000));
    // The driver repeats the create after the new login, and etcd carries it out after its
    // deadline.
    let create = s.asked("if create(db/").call;
    s.pass(ms(3_000));
    assert!(s.has_told("making the key: outcome unknown: no answer in time"), "{:#?}", s.told());
    let own = s.own("db", 11);
    s.header.revision = 11;
    s.say(create, so(vec![]));
    assert!(s.has_told("ignored: unasked") && !s.has_told("waiting"), "{:#?}", s.told());
    s.answer("if create(db/", not_so(vec![Some(own.clone())]));
    let other = s.other("db", 9);
    s.answer("if create(db/", so(vec![Some(own.clone()), Some(other.clone())]));
    s.answer("watch db/77", Reply::Watching);

    // Roles change again: the watch ends, and a keep-alive is refused. E does not move, and the
    // campaign goes on.
    s.answer("watch db/77", old_auth());
    s.pass(ms(500));
    s.answer("keep", old_auth());
    for doing in ["watching a key", "renewing the lease"] {
        assert!(s.has_told(&format!("etcd refuses {doing}: ")), "{:#?}", s.told());
    }
    s.answer("if create(db/", so(vec![Some(other.clone()), Some(other)]));
    assert!(!s.leads("db") && s.asks("watch db/77"), "{:#?}", s.requests());
    s.answer("watch db/77", Reply::Watching);

    // No key is before the candidate's key now.
    s.changed("db/77", vec![deleted(&"db/77".into(), 12)]);
    s.header.revision = 12;
    s.answer("if create(db/", so(vec![Some(own), None]));
    assert!(s.leads("db") && s.until("db") < end, "{:#?}", s.told());
    s.pass(ms(500));
    s.renew("db", 11);
    assert!(s.until("db") > end, "{:#?}", s.told());
    let wins = s.told().iter().filter(|line| line.contains("elected ")).count();
    assert_eq!(wins, 1, "{:#?}", s.told());

    s.command("db", Command::Resign);
    s.answer("if create(db/", old_auth());
    assert!(!s.leads("db"), "{:#?}", s.told());
    s.answer("revoke", old_auth());
    s.pass(ms(500));
    s.answer("revoke", Reply::Revoked);
    s.pass(ms(60_000));
    assert!(s.core.is_idle() && s.requests().is_empty(), "{:#?}", s.requests());
}

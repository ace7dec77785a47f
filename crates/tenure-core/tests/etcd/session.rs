//! The lease: when it counts, and when it is over.

use tenure_core::etcd::{Command, KeyValue, LeaseId, Refusal, Reply};

use crate::stage::*;

/// Contract, duty 6: the claim is lowered before the loss is reported, and before the session
/// revokes the lease. Otherwise the next leader could lead beside this leader.
#[test]
fn claims_lowered_before_lost_lease_revoked() {
    let (mut s, _) = Stage::led("db");
    s.pass(ms(3_400));
    s.answer("keep", Reply::Alive { ttl: None });
    assert!(s.position("no claim db") < s.position("revoke lease"), "{:#?}", s.told());
    assert!(s.position("no claim db") < s.position(" is over: "), "{:#?}", s.told());
    assert!(s.has_told("lost: etcd has ended its lease"));
}

/// Ruling 6 (E5): a repeated grant finds the lease of an earlier grant without an answer. The lease
/// may be as old as the first request, and the session gives up a lease that may have ended.
#[test]
fn possibly_ended_lease_is_not_joined() {
    for (late, joins) in [(ms(1_000), true), (ms(10_000), false)] {
        let mut s = Stage::new();
        s.campaign("db");
        s.lose("grant");
        s.pass(ms(100));
        s.sleep(late);
        s.answer("grant", Reply::LeaseExists);
        s.answer("keep", Reply::Alive { ttl: Some(10) });
        assert_eq!(s.asks("if create(db/"), joins, "after {late:?}: {:#?}", s.requests());
        assert_eq!(s.asks("revoke") && s.asks("grant"), !joins, "{:#?}", s.requests());
    }
}

/// Rulings 6 and 14 (E5, E3b): the lease of the first grant has ended, and the repeated grant makes
/// a second lease of the same id. A late revocation of the first lease would end the second, so the
/// session gives the second up.
#[test]
fn lease_with_reused_id_is_unused() {
    for (late, used) in [(ms(1_000), true), (ms(10_000), false)] {
        let mut s = Stage::new();
        s.campaign("db");
        s.lose("grant");
        s.pass(ms(100));
        s.sleep(late);
        s.answer("grant", Reply::Granted { ttl: 10 });
        assert_eq!(s.asks("if create(db/"), used, "after {late:?}: {:#?}", s.requests());
        assert_eq!(s.asks("revoke") && s.asks("grant"), !used, "{:#?}", s.requests());
    }
}

/// Rulings 4 and 6 (E3, E5): etcd may have carried out any of the grants without an answer, so the
/// lease counts from the first.
#[test]
fn unanswered_lease_counts_from_first_grant() {
    for (late, joins) in [(ms(2_000), true), (ms(4_500), false)] {
        let mut s = Stage::new();
        s.campaign("db");
        s.sleep(late);
        s.lose("grant");
        s.pass(ms(500));
        s.lose("grant");
        s.pass(ms(500));
        s.sleep(late);
        s.answer("grant", Reply::LeaseExists);
        if s.asks("keep") {
            s.answer("keep", Reply::Alive { ttl: Some(10) });
        }
        assert_eq!(s.asks("if create(db/"), joins, "twice {late:?}: {:#?}", s.requests());
    }
}

/// Ruling 4 (E3): the lease may end while a keep-alive waits for its answer, and etcd may then
/// revoke the lease. The session gives up such a lease.
#[test]
fn lease_ended_during_question_is_unused() {
    for (late, joins) in [(ms(1_000), true), (ms(10_000), false)] {
        let mut s = Stage::new();
        s.campaign("db");
        s.lose("grant");
        s.pass(ms(200));
        s.answer("grant", Reply::LeaseExists);
        s.sleep(late);
        s.answer("keep", Reply::Alive { ttl: Some(10) });
        assert_eq!(s.asks("if create(db/"), joins, "after {late:?}: {:#?}", s.requests());
    }
}

/// Keep-alives are answered for longer than a lease, but the candidate cannot make its key. No
/// claim depends on the lease, so the session keeps the lease.
#[test]
fn keyless_lease_lasts_while_renewed() {
    let (mut s, _) = Stage::led("db");
    s.command("db", Command::Resign);
    s.campaign("db");
    s.write("if create(db/");
    let lease = s.lease();
    s.done.clear();
    for _ in 0..100 {
        s.pass(ms(200));
        if s.asks("keep") {
            s.answer("keep", Reply::Alive { ttl: Some(10) });
        }
        if s.asks("if create(db/") {
            let said = "etcdserver: mvcc: database space exceeded".into();
            s.answer("if create(db/", Reply::Refused(Refusal::NoSpace { said }));
        }
    }
    assert!(!s.has_told(" is over: "), "{:#?}", s.told());
    assert_eq!(s.lease(), lease);

    // A failed create shows that the lease is gone, although keep-alives were answered.
    let mut gone = s.clone();
    gone.pass(ms(5_000));
    gone.answer("if create(db/", Reply::LeaseGone);
    gone.pass(ms(1_000));
    assert!(gone.has_told(" is over: "), "{:#?}", gone.told());

    // The lease is proven anew before a candidate leads by it.
    s.pass(ms(5_000));
    let created = s.write("if create(db/");
    s.is_first("db", created);
    assert!(!s.leads("db"), "{:#?}", s.told());
    s.renew("db", created);
    s.is_first("db", created);
    assert!(s.leads("db"), "{:#?}", s.told());
}

/// A single key in its place proves the lease (ruling 4). A leadership whose key is missing ends,
/// and its claim is not raised.
#[test]
fn confirmation_renews_no_lost_key() {
    let (mut s, _) = Stage::led("a");
    let kept = s.elect("b");
    s.keep_alive();
    let b = s.own("b", kept);
    s.done.clear();
    s.answer("read a/", so(vec![None, Some(b)]));
    assert!(!s.leads("a") && s.leads("b"), "{:#?}", s.told());
    let told = s.told();
    let mut raised = told.iter().filter(|line| line.starts_with("claim a"));
    assert!(raised.all(|line| !line.contains("fence")), "{told:#?}");
    assert!(s.has_told("claim b until"), "{:#?}", s.told());
}

/// A renewal counts even if its candidate gives its key up before the confirmation.
#[test]
fn resigned_key_confirms_pending_renewal() {
    let (mut s, _) = Stage::led("a");
    let before = s.until("a");
    s.keep_alive();
    let own = s.own("a", 11);
    s.campaign("b");
    s.command("a", Command::Resign);
    s.answer("read a/", so(vec![Some(own)]));
    s.elect_next("b");
    assert!(s.until("b") > before.after(ms(2_500)), "E has moved");
}

/// The first key that is made after a renewal without keys confirms it.
#[test]
fn later_key_confirms_renewal() {
    let mut s = Stage::new();
    s.campaign("a");
    s.answer("grant", Reply::Granted { ttl: 10 });
    s.keep_alive();
    assert!(!s.asks("read"), "there is nothing to read: {:#?}", s.requests());
    let created = s.write("if create(a/");
    let own = s.own("a", created);
    s.answer("read a/", so(vec![Some(own.clone())]));
    s.answer("if create(a/", so(vec![Some(own), None]));
    assert!(s.until("a") > s.now.after(ms(9_300)), "E counts from the keep-alive");
}

/// Ruling 3 (E2): E counts from the send of the keep-alive, with the margin of both clocks.
#[test]
fn a_lease_counts_from_the_question() {
    let (mut s, created) = Stage::led("db");
    s.pass(ms(3_334));
    let sent = s.now;
    s.sleep(ms(700));
    s.renew("db", created);
    let margin = config().check().unwrap().proven(10);
    assert!(margin < ms(10_000) && margin > ms(9_900), "{margin:?}");
    assert!(s.until("db") <= sent.after(margin), "{:?} after {sent:?}", s.until("db"));
}

/// A leader reports once that long work may begin: as soon as half of the lease is ahead. A leader
/// that is elected while a renewal is late has less time at first.
#[test]
fn leader_settles_with_half_lease() {
    for late in [false, true] {
        let (mut s, created, other) = Stage::queued("db");
        s.sleep(if late { ms(6_000) } else { ms(1_000) });
        s.changed("db/77", vec![deleted(&other.key, created + 1)]);
        s.is_first("db", created);
        assert!(s.leads("db"), "{:#?}", s.told());
        assert_eq!(s.has_told("db: settled"), !late, "{:#?}", s.told());
        for _ in 0..2 {
            s.pass(ms(3_400));
            s.renew("db", created);
        }
        let settled = s.told().iter().filter(|line| line.contains("db: settled")).count();
        assert_eq!(settled, 1, "late {late}: {:#?}", s.told());
    }
}

/// Ruling 3 (E2): after E the session is dead, and late answers never revive it.
#[test]
fn late_answer_revives_no_lease() {
    let (mut s, created) = Stage::led("db");
    let until = s.until("db");
    s.keep_alive();
    let own = s.own("db", created);
    let call = s.asked("read db/").call;
    s.sleep(until.since(s.now));
    s.say(call, so(vec![Some(own)]));
    assert!(!s.leads("db"), "{:#?}", s.told());
    assert!(s.has_told("lost: its lease was not renewed in time"), "{:#?}", s.told());
}

/// Ruling 4 (E3): a leader of etcd that is stuck on its disk answers keep-alives of which its
/// successor hears nothing. So the answer to a keep-alive moves no E before a key has confirmed the
/// renewal.
#[test]
fn a_keep_alive_alone_is_no_proof() {
    let (mut s, created) = Stage::led("db");
    let until = s.until("db");
    s.keep_alive();
    assert_eq!(s.until("db"), until, "nothing has confirmed it");
    s.confirm("db", created);
    assert!(s.until("db") > until);
}

/// Ruling 4 (E3): a confirmation in a later term moves no E.
#[test]
fn keep_alive_of_other_term_ignored() {
    let (mut s, created) = Stage::led("db");
    let until = s.until("db");
    s.keep_alive();
    s.header.term += 1;
    s.confirm("db", created);
    assert_eq!(s.until("db"), until, "another leader may not know of the renewal");
}

/// Ruling 4 (E3): a leader of etcd that is stuck on its disk renews the lease and later revokes it,
/// and its successor has not heard of the renewal (etcd#15247). The unconfirmed renewal moves no E.
/// The deletion of the key ends the leadership at once.
#[test]
fn a_stuck_leader_renews_and_revokes() {
    let (mut s, _) = Stage::led("db");
    let until = s.until("db");
    s.answer("watch db/", Reply::Watching);
    s.keep_alive();
    s.lose("read db/");
    assert_eq!(s.until("db"), until);
    s.header.term += 1;
    s.header.revision += 1;
    let (key, revision) = (s.key("db"), s.header.revision);
    s.changed("db/", vec![deleted(&key, revision)]);
    assert!(!s.leads("db") && s.now < until, "{:#?}", s.told());
    assert!(s.has_told("lost: its key was deleted by somebody else"), "{:#?}", s.told());
}

/// Ruling 7 (E6): a linearizable answer below a known revision ends all leaderships.
#[test]
fn a_store_that_went_back_ends_all() {
    let (mut s, created) = Stage::led("db");
    s.keep_alive();
    s.header.revision = created - 1;
    s.confirm("db", created);
    assert!(!s.leads("db"), "{:#?}", s.told());
    assert!(s.has_told("lost: etcd went back to an older state"), "{:#?}", s.told());
    assert!(s.position("no claim db") < s.position("revoke lease"), "{:#?}", s.told());
}

/// After a restore the terms of etcd may be lower. A process without a lease loses nothing: a later
/// lease is granted and renewed in the lower term.
#[test]
fn restored_store_counts_in_earlier_term() {
    let mut s = Stage::new();
    let leader = s.other("other", 9);
    s.header.term = 7;
    s.observe("other", Some(&leader));
    s.pass(ms(12_000));
    s.answer("read other/*", so(vec![Some(leader.clone())]));
    s.pass(ms(12_000));
    (s.header.revision, s.header.term) = (9, 3);
    s.answer("read other/*", so(vec![Some(leader)]));
    s.campaign("db");
    let created = s.elect_again("db");
    let until = s.until("db");
    s.pass(ms(3_400));
    s.renew("db", created);
    assert!(s.until("db") > until.after(ms(2_500)), "{:#?}", s.told());
}

/// Ruling 8 (E7): a restored store that has reached the earlier revision again differs only by its
/// missing key.
#[test]
fn caught_up_restored_store_lacks_key() {
    let (mut s, _) = Stage::led("db");
    s.keep_alive();
    s.answer("read db/", so(vec![None]));
    assert!(!s.leads("db"));
    assert!(s.has_told("lost: its key was deleted by somebody else"), "{:#?}", s.told());
}

/// Ruling 4 (E3): a key proves the lease that it is on, and no other.
#[test]
fn key_on_foreign_lease_confirms_nothing() {
    let (mut s, created) = Stage::led("db");
    s.keep_alive();
    let taken = KeyValue { lease: Some(LeaseId(0x77)), ..s.own("db", created) };
    s.answer("read db/", so(vec![Some(taken)]));
    assert!(!s.leads("db"), "{:#?}", s.told());
}

/// Ruling 10 (E9): losing one election leaves the lease and all others alone.
#[test]
fn losing_one_election_leaves_the_other() {
    let (mut s, _) = Stage::led("a");
    s.elect("b");
    let until = s.until("b");
    let lost = s.key("a");
    s.changed("a/", vec![deleted(&lost, 14)]);
    assert!(!s.leads("a") && s.leads("b"), "{:#?}", s.told());
    s.pass(ms(100));
    assert_eq!(s.until("b"), until);
    assert!(!s.asks("revoke"), "{:#?}", s.requests());
}

/// A revocation that overtakes its grant finds no lease, and the lease that is granted then stays
/// for its full length. So the session revokes only once the grant is answered or overdue.
#[test]
fn a_revocation_does_not_overtake_its_grant() {
    for lost in [false, true] {
        let mut s = Stage::new();
        s.campaign("db");
        s.pass(ms(100));
        s.command("db", Command::Resign);
        assert!(!s.asks("revoke") && !s.core.is_idle(), "lost {lost}: {:#?}", s.requests());
        if lost {
            s.lose("grant");
        } else {
            s.answer("grant", Reply::Granted { ttl: 10 });
        }
        s.answer("revoke", Reply::Revoked);
        assert!(s.requests().is_empty() && s.core.is_idle(), "{:#?}", s.requests());
    }
    let mut s = Stage::new();
    s.campaign("db");
    let within = s.asked("grant").within;
    s.pass(ms(100));
    s.command("db", Command::Resign);
    s.pass(within - ms(100));
    s.answer("revoke", Reply::LeaseGone);
    assert!(s.core.is_idle(), "{:#?}", s.requests());
}

/// The session does not revoke a lease that was certainly not granted. The session revokes a lease
/// that an earlier grant without a certain outcome may have made.
#[test]
fn ungranted_lease_is_not_revoked() {
    let not_sent = || {
        let said = "no endpoint was found".into();
        Reply::Refused(Refusal::Other { said })
    };
    let full = || {
        let said = "etcdserver: mvcc: database space exceeded".into();
        Reply::Refused(Refusal::NoSpace { said })
    };
    for (doubt, answer, revoked) in [
        (false, not_sent(), false),
        (false, Reply::LeaseExists, false),
        (false, full(), true),
        (true, not_sent(), true),
        (true, Reply::LeaseExists, true),
    ] {
        let mut s = Stage::new();
        s.campaign("db");
        if doubt {
            s.lose("grant");
            s.pass(ms(100));
        }
        s.command("db", Command::Resign);
        s.answer("grant", answer.clone());
        assert_eq!(s.asks("revoke"), revoked, "doubt {doubt}, {answer}: {:#?}", s.requests());
        assert_eq!(s.core.is_idle(), !revoked, "doubt {doubt}, {answer}");
    }
    // The grant was refused before the resignation.
    let mut s = Stage::new();
    s.campaign("db");
    s.answer("grant", not_sent());
    s.command("db", Command::Resign);
    assert!(s.core.is_idle() && s.requests().is_empty(), "{:#?}", s.requests());
}

/// The answer to a grant may come after its lease was given up, before the revocation or after it.
/// The session does not open that lease.
#[test]
fn a_late_grant_opens_nothing() {
    for overdue in [true, false] {
        let mut s = Stage::new();
        s.campaign("db");
        let grant = s.asked("grant");
        s.command("db", Command::Resign);
        if overdue {
            s.pass(grant.within);
            s.answer("revoke", Reply::LeaseGone);
        }
        s.done.clear();
        s.say(grant.call, Reply::Granted { ttl: 10 });
        assert!(!s.has_told("opened"), "overdue {overdue}: {:#?}", s.told());
        if !overdue {
            s.answer("revoke", Reply::Revoked);
        }
        s.pass(ms(30_000));
        assert!(s.requests().is_empty() && s.core.is_idle(), "{:#?}", s.requests());
    }
}

/// Ruling 8 (E7): an answer of another cluster ends the leadership, and counts for nothing. The
/// process asks again, with pauses.
#[test]
fn another_cluster_is_not_heard() {
    let (mut s, created) = Stage::led("db");
    s.pass(ms(3_400));
    s.header.cluster = 2;
    s.answer("keep", Reply::Alive { ttl: Some(10) });
    assert!(s.has_told("lost: another etcd cluster answers"), "{:#?}", s.told());
    assert!(s.position("no claim db") < s.position("revoke lease"), "{:#?}", s.told());
    s.campaign("db");
    s.done.clear();
    for _ in 0..100 {
        for like in ["read db/", "revoke"] {
            if s.asks(like) {
                let read = so(vec![None]);
                s.answer(like, if like == "revoke" { Reply::Revoked } else { read });
            }
        }
        s.pass(ms(100));
    }
    let asked = s.told().iter().filter(|line| line.contains("read db/")).count();
    assert!((3..20).contains(&asked), "{asked} times in ten seconds");
    assert!(!s.leads("db") && !s.has_told("opened"));
    s.header.cluster = 1;
    s.pass(ms(2_000));
    s.establish();
    s.answer("grant", Reply::Granted { ttl: 10 });
    assert!(s.has_told("opened"));
    s.command("db", Command::Resign);
    s.lose("if create(db/");
    s.pass(ms(60_000));
    assert!(s.core.is_idle(), "{:#?} since {created}", s.core);
}

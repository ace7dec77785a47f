//! Candidates: keys, queues, wins.

use std::time::Duration;

use tenure_core::etcd::{
    Act, Change, Command, Compare, Config, KeyValue, Keys, LeaseId, Op, Pick, Read, Reply,
    Revision, Txn,
};

use crate::stage::*;

/// A campaign that begins during a departure waits until the old key is deleted, and takes the
/// latest value.
#[test]
fn the_next_campaign_takes_a_new_value() {
    let (mut s, _) = Stage::led("db");
    s.command("db", Command::Resign);
    s.campaign("db");
    s.proclaim("db", "newer");
    assert!(!s.has_told("ignored"), "{:#?}", s.told());
    s.write("if create(db/");
    assert_eq!(puts(&s.asked("if create(db/")), [&"newer".into()]);
}

/// etcd may carry out a proclamation whose answer was lost after a newer proclamation. The leader
/// then writes the newer value again, once its watch or the next confirmation shows the older
/// value.
#[test]
fn a_value_that_comes_late_does_not_stay() {
    for watched in [true, false] {
        let (mut s, created) = Stage::led("db");
        s.answer("watch db/", Reply::Watching);
        s.proclaim("db", "older");
        s.lose("if create(db/");
        s.proclaim("db", "newer");
        assert_eq!(puts(&s.asked("if create(db/")), [&"newer".into()]);
        s.write("if create(db/");
        let late = KeyValue { value: "older".into(), modified: 13, ..s.own("db", created) };
        if watched {
            s.changed("db/", vec![Change::Put(late)]);
        } else {
            s.keep_alive();
            s.answer("read db/", so(vec![Some(late)]));
        }
        assert_eq!(puts(&s.asked("if create(db/")), [&"newer".into()], "watched: {watched}");
        assert!(s.leads("db"));
    }
}

/// Another process overwrites the leader's value each time that the leader restores it. The leader
/// pauses between its writes, and its value is there in the end.
#[test]
fn two_writers_of_one_value_pause() {
    let (mut s, created) = Stage::led("db");
    s.answer("watch db/", Reply::Watching);
    let mut mended = 0;
    for _ in 0..200 {
        if s.asks("if create(db/") {
            assert_eq!(puts(&s.asked("if create(db/")), [&"v".into()]);
            s.write("if create(db/");
            mended += 1;
        }
        s.header.revision += 1;
        let modified = s.header.revision;
        let theirs = KeyValue { value: "theirs".into(), modified, ..s.own("db", created) };
        s.changed("db/", vec![Change::Put(theirs)]);
        s.pass(ms(10));
    }
    assert!((2..=3).contains(&mended), "{mended} times in two seconds");
    s.pass(ms(1_000));
    s.write("if create(db/");
    assert!(s.leads("db"));
}

/// The watch ends again and again, because etcd has compacted its events. The leader reads its key
/// each time, and still pauses between writes of its value.
#[test]
fn a_watch_that_ends_hurries_no_value() {
    let (mut s, created) = Stage::led("db");
    let begun = s.now;
    let mut mended = Vec::new();
    for _ in 0..200 {
        if s.asks("watch db/") {
            let revision = s.header.revision + 2;
            s.answer("watch db/", Reply::Compacted { revision });
        }
        if s.asks("if create(db/") {
            match puts(&s.asked("if create(db/")).is_empty() {
                true => {
                    s.header.revision += 2;
                    let modified = s.header.revision;
                    let theirs =
                        KeyValue { value: "theirs".into(), modified, ..s.own("db", created) };
                    s.answer("if create(db/", so(vec![Some(theirs)]));
                }
                false => {
                    s.write("if create(db/");
                    mended.push(s.now.since(begun));
                }
            }
        }
        s.pass(ms(10));
    }
    assert!((2..=3).contains(&mended.len()), "{mended:?} in two seconds");
}

/// Ruling 6 (E5): a create whose answer was lost has made the key that the next create finds.
#[test]
fn key_of_lost_answer_is_adopted() {
    let mut s = Stage::new();
    s.campaign("db");
    s.answer("grant", Reply::Granted { ttl: 10 });
    s.lose("if create(db/");
    s.pass(ms(200));
    let own = s.own("db", 9);
    s.answer("if create(db/", not_so(vec![Some(own.clone())]));
    assert!(s.asks("if create(db/") && !s.has_told("delete"), "{:#?}", s.told());
    s.answer("if create(db/", so(vec![Some(own), None]));
    assert!(s.leads("db"));
}

/// Ruling 6 (E5): on a lease that was handed in, an earlier process may have made the key that the
/// candidate finds, and may have used the fence of that key. An uncertain create of this process,
/// or the same value, proves nothing. The candidate deletes the key and makes it anew.
#[test]
fn key_of_earlier_process_is_replaced() {
    for unsure in [false, true] {
        let mut s = Stage::with(config(), Some(LeaseId(0x42)));
        s.campaign("db");
        s.answer("keep", Reply::Alive { ttl: Some(10) });
        s.establish();
        s.answer("grant", Reply::Granted { ttl: 10 });
        if unsure {
            s.lose("if create(db/");
            s.pass(ms(200));
        }
        let earlier = s.own("db", 9);
        s.answer("if create(db/", not_so(vec![Some(earlier)]));
        assert!(s.asks("if create(db/42) = 9 then delete"), "unsure {unsure}: {:#?}", s.told());
        s.write("if create(db/42) = 9");
        assert!(s.asks("if create(db/42) = 0 then put"), "{:#?}", s.requests());
    }
}

/// Ruling 6 (E5): the same lease was handed to two processes. The other process may still lead by
/// its key, so this candidate waits.
#[test]
fn keys_on_live_leases_are_waited_for() {
    let mut s = Stage::with(config(), Some(LeaseId(0x42)));
    s.campaign("db");
    s.answer("keep", Reply::Alive { ttl: Some(10) });
    s.establish();
    s.answer("grant", Reply::Granted { ttl: 10 });
    let theirs = KeyValue { lease: Some(LeaseId(0x77)), ..s.own("db", 9) };
    for _ in 0..3 {
        s.answer("if create(db/42) = 0 then put", not_so(vec![Some(theirs.clone())]));
        assert!(!s.asks("if create(db/42) = 9") && s.has_told("behind 42"), "{:#?}", s.told());
        s.pass(ms(1_000));
    }
    s.write("if create(db/42) = 0 then put");
    assert!(s.asks("if create(db/42)"), "{:#?}", s.requests());
}

/// Rulings 6 and 8 (E5, E7): this process has led by a key, and has deleted the key. A restored
/// store has the key again. The next campaign must not take that key over, although the answer to
/// its create was lost: the fence of the key was used.
#[test]
fn key_of_earlier_campaign_is_replaced() {
    let (mut s, _) = Stage::led("a");
    let created = s.elect("b");
    let restored = s.own("b", created);
    s.command("b", Command::Resign);
    s.write("if create(b/");
    assert!(s.has_told("b: released"), "{:#?}", s.told());
    s.campaign("b");
    s.lose("if create(b/");
    s.pass(ms(200));
    s.answer("if create(b/", not_so(vec![Some(restored)]));
    let next = s.asked("if create(b/").op.to_string();
    assert!(next.contains(&format!("= {created} then delete")), "{next}");
    s.write("if create(b/");
    assert!(s.elect_next("b") > created);
}

/// Rulings 1 and 7 (E6): a watch from a revision that a restored store has not reached is silent,
/// and earlier events are lost. A waiting candidate queries the queue again by itself.
#[test]
fn silent_watch_does_not_block() {
    let (mut s, created, _) = Stage::queued("db");
    s.answer("watch db/77", Reply::Watching);
    for _ in 0..4 {
        s.pass(ms(3_400));
        s.renew_if_due("db", created);
    }
    let own = s.own("db", created);
    s.answer("if create(db/", not_so(vec![Some(own.clone())]));
    s.answer("if create(db/", so(vec![Some(own), None]));
    assert!(s.leads("db"));
}

/// Renews the lease until the candidate queries the queue.
fn until_it_looks(s: &mut Stage, created: Revision) -> String {
    for _ in 0..6 {
        s.pass(ms(2_000));
        s.renew_if_due("db", created);
        if s.asks("if create(db/") {
            return s.asked("if create(db/").op.to_string();
        }
    }
    panic!("it does not look: {:#?}", s.requests());
}

/// A query of the queue makes etcd sort all keys. So a waiting candidate reads only the key before
/// its own, even after its watch has ended.
#[test]
fn waiting_candidate_reads_its_predecessor() {
    let (mut s, created, _) = Stage::queued("db");
    s.answer("watch db/77", Reply::Watching);
    let key = s.key("db");
    let own = s.own("db", created);
    for watch_ends in [false, true, false] {
        if watch_ends {
            s.lose("watch db/77");
        }
        let asked = until_it_looks(&mut s, created);
        let expected = format!(" and create(db/77) = {} then read {key}", created - 1);
        assert!(asked.contains(&expected) && !asked.contains('*'), "{asked}");
        s.answer("if create(db/", so(vec![Some(own.clone())]));
        assert!(!s.asks("if create(db/"), "{:#?}", s.requests());
        assert!(s.asks("watch db/77"), "{:#?}", s.requests());
        s.answer("watch db/77", Reply::Watching);
    }
    // The candidate's own key is gone.
    until_it_looks(&mut s, created);
    s.answer("if create(db/", not_so(vec![None]));
    assert!(s.has_told("contending again, as its key was deleted"), "{:#?}", s.told());
}

/// The candidate reports the broken watch as the reason of its wait. When the watch is open again,
/// the candidate reports the key before its own again.
#[test]
fn wait_is_reported_after_broken_watch() {
    let (mut s, created, _) = Stage::queued("db");
    s.answer("watch db/77", Reply::Watching);
    let own = s.own("db", created);
    for watch_ends in [false, true] {
        if watch_ends {
            s.lose("watch db/77");
        }
        until_it_looks(&mut s, created);
        s.answer("if create(db/", so(vec![Some(own.clone())]));
        assert_eq!(s.has_told("waiting: behind"), watch_ends, "{:#?}", s.told());
    }
}

/// The value of another candidate may be too large, so a candidate reads other keys without their
/// values. On etcd 3.7 such an answer names no lease, so the transaction compares the lease of the
/// candidate's own key.
#[test]
fn foreign_values_are_not_read() {
    for taken in [false, true] {
        let mut s = Stage::new();
        let created = s.create("db");
        let look = s.asked("if create(db/");
        let Op::Txn(Txn { when, then, otherwise }) = &look.op else { panic!("{}", look.op) };
        let (key, lease) = (s.key("db"), s.lease());
        assert!(when.contains(&Compare::Lease { key: key.clone(), lease }), "{}", look.op);
        for act in then.iter().chain(otherwise) {
            let Act::Read(Read { keys, keys_only, .. }) = act else { panic!("{act}") };
            assert_eq!(*keys_only, *keys != Keys::One(key.clone()), "{act}");
        }
        let own = s.own("db", created);
        let first = KeyValue { value: "".into(), lease: Some(lease), ..own.clone() };
        let reply = match taken {
            false => so(vec![Some(first), None]),
            true => not_so(vec![Some(KeyValue { lease: Some(LeaseId(0x77)), ..own })]),
        };
        s.answer("if create(db/", reply);
        assert_eq!(s.leads("db"), !taken, "{:#?}", s.told());
    }
}

/// A candidate's watch of the key before its own reports only a deletion; its watch of its own key
/// reports everything.
#[test]
fn predecessor_watch_reports_deletion() {
    let (mut s, created, other) = Stage::queued("db");
    let watch = s.asked("watch db/77");
    assert!(watch.op.to_string().ends_with(" for deletions"), "{}", watch.op);
    s.answer("watch db/77", Reply::Watching);
    s.changed("db/77", vec![deleted(&other.key, created + 1)]);
    s.is_first("db", created);
    let watch = s.asked("watch db/").op.to_string();
    assert!(s.leads("db") && !watch.contains("deletions"), "{watch}");
    // The watch reports a value that is too large: the leader reads its key.
    let (key, revision) = (s.key("db"), created + 2);
    s.answer("watch db/", Reply::Watching);
    s.changed("db/", vec![Change::TooLarge { key: key.clone(), revision }]);
    let check = format!("if create({key}) = {created} then read {key}");
    assert!(s.leads("db") && s.asks(&check), "{:#?}", s.requests());
}

/// The key before the candidate's own has gone, and the watch reports no event. The candidate
/// queries the whole queue.
#[test]
fn departed_predecessor_does_not_block() {
    let (mut s, created, _) = Stage::queued("db");
    s.answer("watch db/77", Reply::Watching);
    until_it_looks(&mut s, created);
    let own = s.own("db", created);
    s.answer("if create(db/", not_so(vec![Some(own.clone())]));
    let asked = s.asked("if create(db/").op.to_string();
    assert!(asked.contains("read key of db/*"), "{asked}");
    s.answer("if create(db/", so(vec![Some(own), None]));
    assert!(s.leads("db"), "{:#?}", s.told());
}

/// Ruling 1: each candidate of a long queue watches the key just before its own, and not the
/// leader.
#[test]
fn candidate_watches_its_predecessor() {
    let mut s = Stage::new();
    let created = s.create("db");
    let middle = s.other("db", created - 1);
    let leader = KeyValue { key: "db/5".into(), created: 5, ..middle.clone() };
    s.answer("if create(db/", so(vec![Some(leader), Some(middle)]));
    assert!(s.asks("watch db/77") && !s.asks("watch db/5"), "{:#?}", s.requests());
}

/// Ruling 1: a candidate in the middle leaves, and the candidate behind it does not lead.
#[test]
fn departure_in_the_middle_elects_none() {
    let (mut s, _, middle) = Stage::queued("db");
    s.answer("watch db/77", Reply::Watching);
    s.changed("db/77", vec![deleted(&middle.key, 12)]);
    assert!(!s.leads("db"));
    let leader = KeyValue { key: "db/5".into(), created: 5, ..middle };
    s.answer("if create(db/", so(vec![Some(leader.clone()), Some(leader)]));
    assert!(!s.leads("db") && s.asks("watch db/5"), "{:#?}", s.requests());
}

/// Ruling 2 (E1): the candidate's key is gone, another key is the first, and no key is below the
/// revision of the candidate's key. Go's Campaign reported a win here.
#[test]
fn a_win_without_the_own_key_is_none() {
    let mut s = Stage::new();
    s.create("db");
    let look = s.asked("if create(db/").op.to_string();
    assert!(look.contains(&format!("if create({}) = 11 and lease(", s.key("db"))), "{look}");
    let later = s.other("db", 12);
    s.answer("if create(db/", so(vec![Some(later), None]));
    assert!(!s.leads("db"));
}

/// Ruling 2 (E1): a query of the queue always reads a key, because a transaction without operations
/// is not linearizable. An answer without the reads is no win.
#[test]
fn a_win_is_read() {
    let mut s = Stage::new();
    s.create("db");
    let look = s.asked("if create(db/");
    let Op::Txn(Txn { then, otherwise, .. }) = &look.op else { panic!("{}", look.op) };
    assert!(!then.is_empty() && !otherwise.is_empty(), "{}", look.op);
    s.say(look.call, so(vec![]));
    assert!(!s.leads("db"), "{:#?}", s.told());
}

/// Ruling 2 (E1): the lease of a repeated grant is proven only after keys were made on it. Each
/// first candidate then queries the queue again and leads, even if the confirmation read another
/// key. A candidate behind another key stays in the queue.
#[test]
fn first_candidate_leads_once_proven() {
    let ttl = 86_400;
    let lease = Duration::from_secs(ttl.into());
    let mut s = Stage::with(Config { lease, ..config() }, None);
    for election in ["a", "b", "c"] {
        s.campaign(election);
    }
    s.lose("grant");
    s.pass(ms(100));
    s.answer("grant", Reply::LeaseExists);
    s.answer("keep", Reply::Alive { ttl: Some(ttl) });
    s.pass(ms(1));
    let a = s.write("if create(a/");
    s.answer("keep", Reply::Alive { ttl: Some(ttl) });
    let (b, c) = (s.write("if create(b/"), s.write("if create(c/"));
    let (own_a, own_b) = (s.own("a", a), s.own("b", b));
    let before = s.other("c", c - 1);
    s.answer("if create(a/", so(vec![Some(own_a.clone()), None]));
    s.answer("if create(b/", so(vec![Some(own_b.clone()), None]));
    s.answer("if create(c/", so(vec![Some(before.clone()), Some(before)]));
    s.pass(ms(1_000));
    assert!(!s.leads("a") && !s.asks("if create("), "nothing is proven: {:#?}", s.requests());

    assert!(s.asks(&format!("read {}", s.key("a"))), "{:#?}", s.requests());
    s.answer("read a/", so(vec![Some(own_a.clone())]));
    assert!(!s.leads("a") && !s.leads("b"), "only a look tells that the key is there still");
    s.answer("if create(a/", so(vec![Some(own_a), None]));
    s.answer("if create(b/", so(vec![Some(own_b), None]));
    assert!(s.leads("a") && s.leads("b"), "{:#?}", s.told());
    assert!(!s.leads("c") && !s.asks("if create(c/"), "{:#?}", s.requests());
}

/// Ruling 2 (E1): of two reads, the first could find the candidate's key, and the second no key
/// before it, although the key was deleted in between. A single transaction notices the deletion.
#[test]
fn one_transaction_reads_key_and_queue() {
    for looks in 0..3 {
        let mut s = Stage::new();
        let created = s.create("db");
        let own = s.own("db", created);
        for nth in 0..=looks {
            // The key is deleted before the last query.
            let there = nth < looks;
            let look = s.open.last().unwrap().clone();
            let Op::Txn(txn) = &look.op else { break };
            let succeeded = txn.when.iter().all(|compare| match compare {
                Compare::Created { revision: at, .. } => there && *at == created,
                Compare::Lease { .. } => there,
            });
            let acts = if succeeded { &txn.then } else { &txn.otherwise };
            let found = |act: &Act| match act {
                Act::Read(Read { pick: Pick::First, .. }) => there.then(|| own.clone()),
                _ => None,
            };
            let found = acts.iter().map(found).collect();
            s.say(look.call, Reply::Txn { succeeded, found });
            assert!(there || !s.leads("db"), "by a key that is gone: {:#?}", s.told());
        }
        assert_eq!(s.leads("db"), looks > 0, "{:#?}", s.told());
    }
}

/// Ruling 10 (E9): two puts of one transaction get the same create revision. Only the first of the
/// two keys may lead, even on the same lease.
#[test]
fn shared_create_revision_elects_one() {
    let mut s = Stage::new();
    let created = s.create("db");
    let twin = KeyValue { key: "db/0".into(), ..s.own("db", created) };
    s.answer("if create(db/", so(vec![Some(twin), None]));
    assert!(!s.leads("db"));
}

/// Ruling 6 (E5): Go would print a negative id with a sign, and would not find the key.
#[test]
fn the_id_of_a_lease_is_positive() {
    for seed in 0..64 {
        let mut s = Stage::seeded(seed);
        s.campaign("db");
        s.answer("grant", Reply::Granted { ttl: 10 });
        assert!(s.lease().0 > 0, "{:?} of seed {seed}", s.lease());
    }
}

/// Ruling 8 (E7): a revision that is too large for a fence is refused, and its key deleted.
#[test]
fn a_revision_beyond_the_fences_is_refused() {
    let mut s = Stage::with(Config { fence_epoch: 3, ..config() }, None);
    s.header.revision = (1 << 48) - 2;
    let last = s.elect("a");
    assert!(s.leads("a") && last == (1 << 48) - 1);
    s.campaign("b");
    s.write("if create(b/");
    assert!(s.has_told("b: ended: etcd is at revision 281474976710656"), "{:#?}", s.told());
    assert!(s.asks("if create(b/") && s.asked("if create(b/").op.to_string().contains("delete"));
    assert!(!s.leads("b") && s.leads("a"));
}

/// Ruling 10 (E9): election `a` would take the key `a/b/77` of election `a/b` for its own.
#[test]
fn names_that_see_each_others_keys_are_refused() {
    for (first, second, refused) in [
        ("a", "a/b", true),
        ("a/b", "a", true),
        ("a/b/c", "a", true),
        ("a", "ab", false),
        ("a/b", "a/c", false),
        ("a-b", "a", false),
    ] {
        let mut s = Stage::new();
        s.campaign(first);
        s.campaign(second);
        let ended = s.has_told(&format!(
            "{second}: ended: this election would share keys with \
                                         {first}"
        ));
        assert_eq!(ended, refused, "{first} and {second}: {:#?}", s.told());
    }
}

/// Ruling 10 (E9): a process has one lease, and so one key in each election.
#[test]
fn a_second_campaign_changes_nothing() {
    let (mut s, _) = Stage::led("db");
    s.campaign("db");
    assert!(s.leads("db") && s.has_told("ignored: command"), "{:#?}", s.told());
}

/// Ruling 11 (E10): a keep-alive that is refused renews nothing, and E stands.
#[test]
fn refused_keep_alive_keeps_lease() {
    let (mut s, _) = Stage::led("db");
    let until = s.until("db");
    s.pass(ms(3_400));
    s.answer("keep", denied());
    assert!(s.has_told("etcd refuses renewing the lease"), "{:#?}", s.told());
    assert_eq!(s.until("db"), until);
    s.pass(ms(1_000));
    assert!(s.asks("keep"), "it is tried again");
    s.sleep(ms(10_000));
    assert!(!s.leads("db"));
}

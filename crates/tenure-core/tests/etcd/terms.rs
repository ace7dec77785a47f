//! A change of etcd's leader: keys move to a lease of the new term (ruling 14, E3b).

use std::time::Duration;

use tenure_core::etcd::{
    Act, Change, Command, Config, KeyValue, LeaseId, Op, Refusal, Reply, Revision,
};

use crate::stage::*;

/// The next renewal finds etcd in a later term, and the session asks for a lease in that term.
fn enter_the_next_term(s: &mut Stage, election: &str, created: Revision) {
    s.header.term += 1;
    s.open_watches();
    s.pass(ms(3_400));
    s.renew(election, created);
}

/// Grants the new lease, and returns the former lease.
fn get_the_next_lease(s: &mut Stage) -> LeaseId {
    let before = s.lease();
    s.answer("grant", Reply::Granted { ttl: 10 });
    assert_ne!(s.lease(), before, "{:#?}", s.told());
    before
}

fn is_move(request: &str) -> bool {
    request.contains(" and lease(") && request.contains(" then move ")
}

/// The number of keys in the move under way.
fn moved_keys(s: &Stage) -> usize {
    let moves = s.requests().into_iter().filter(|request| is_move(request));
    moves.map(|request| request.matches(" to lease ").count()).sum()
}

fn on(lease: LeaseId, kv: KeyValue) -> Option<KeyValue> {
    Some(KeyValue { lease: Some(lease), ..kv })
}

/// A former leader of etcd may hold a late revocation of the lease, so a renewal in a later term
/// moves no E. E moves once the key is on a lease of which the former leader has never heard.
#[test]
fn renewal_in_later_term_moves_nothing() {
    let (mut s, created) = Stage::led("db");
    let until = s.until("db");
    enter_the_next_term(&mut s, "db", created);
    assert_eq!(s.until("db"), until, "a renewal in a later term");
    let key = s.key("db");
    let old = get_the_next_lease(&mut s);
    assert!(s.has_told("keys move from lease"), "{:#?}", s.told());
    assert_eq!(s.key("db"), key, "the key keeps its name");
    assert_eq!(s.until("db"), until, "nothing has moved yet");
    s.write("if create(db/");
    assert!(s.until("db") > until.after(ms(2_500)), "E counts from the new lease");
    // The new lease is renewed from now on, in its term.
    let until = s.until("db");
    s.pass(ms(3_400));
    let keep = s.asked("keep").op;
    assert!(matches!(keep, Op::KeepAlive { lease } if lease != old), "{keep}");
    s.renew("db", created);
    assert!(s.until("db") > until.after(ms(2_500)) && s.leads("db"));
}

/// After a snapshot a member names the term of its last applied entry, which may be over. Its
/// answers to reads and keep-alives name that term. The confirmation of a renewal is an entry of
/// the log, so its answer names the present term, and the session asks for a lease in that term.
#[test]
fn a_header_that_is_behind_hides_no_term() {
    let (mut s, created) = Stage::led("db");
    let until = s.until("db");
    let mut is_behind = true;
    for _ in 0..2 {
        s.keep_alive();
        let read = s.asked("read db/");
        let Op::Txn(txn) = &read.op else { panic!("{}", read.op) };
        let acts = || txn.then.iter().chain(&txn.otherwise);
        if is_behind && acts().any(|act| !matches!(act, Act::Read(_))) {
            s.header.term += 1;
            is_behind = false;
        }
        assert!(txn.then.iter().all(|act| !matches!(act, Act::Put { .. })), "it needs no room");
        let own = s.own("db", created);
        s.say(read.call, so(vec![Some(own)]));
        assert_eq!(s.until("db"), until, "a renewal in a later term");
    }
    assert!(s.asks("grant"), "{:#?}", s.requests());
}

/// After a refused confirmation the session takes another key as the witness, because this user may
/// not write the first one. A missing key ends only its own leadership.
#[test]
fn a_confirmation_takes_another_key_after_a_refusal() {
    let mut s = Stage::new();
    let (a, b) = (s.elect("a"), s.elect("b"));
    let mut deleted = Vec::new();
    for pause in [3_400, 200] {
        s.pass(ms(pause));
        s.answer("keep", Reply::Alive { ttl: Some(10) });
        let Op::Txn(txn) = s.asked("read a/").op else { panic!("{:#?}", s.requests()) };
        deleted.push(txn.then[0].to_string());
        s.answer("read a/", denied());
    }
    assert_eq!(deleted, [format!("delete {}", s.key("a")), format!("delete {}", s.key("b"))]);
    let until = s.until("a");
    s.pass(ms(1_000));
    s.answer("keep", Reply::Alive { ttl: Some(10) });
    let own = s.own("b", b);
    s.answer("read a/", so(vec![None, Some(own)]));
    assert!(!s.leads("a") && s.leads("b") && s.until("b") > until, "{a}: {:#?}", s.told());
}

/// etcd fills a header after the read, so a single header may name a later term than the read's
/// term. The next read of a member that had answered in an earlier term proves the later term.
#[test]
fn single_header_establishes_no_term() {
    let (mut s, created) = Stage::led("db");
    s.keep_alive();
    let own = s.own("db", created);
    s.header.term += 1;
    s.answer("read db/", so(vec![Some(own.clone())]));
    assert!(!s.asks("grant"), "{:#?}", s.requests());
    // Member 2 answers the keep-alive, and member 1 the read: two members prove nothing.
    s.pass(ms(600));
    s.header.member = 2;
    s.answer("keep", Reply::Unknown { why: "connection reset".into() });
    s.pass(ms(2_000));
    s.answer("keep", Reply::Alive { ttl: Some(10) });
    s.header.member = 1;
    s.answer("read db/", so(vec![Some(own.clone())]));
    assert!(!s.asks("grant"), "{:#?}", s.requests());
    s.pass(ms(3_400));
    s.renew("db", created);
    assert!(s.asks("grant"), "{:#?}", s.requests());
}

/// A lease of one term is not used in the next: the former leader may know it, and revoke it late.
#[test]
fn grant_of_earlier_term_is_dropped() {
    let (mut s, created) = Stage::led("db");
    enter_the_next_term(&mut s, "db", created);
    let earlier = s.asked("grant");
    let before = s.lease();
    s.header.term += 1;
    s.observe("db", None);
    s.pass(ms(20));
    s.command("db", Command::Unobserve);
    s.observe("db", None);
    s.say(earlier.call, Reply::Granted { ttl: 10 });
    assert_eq!(s.lease(), before, "it is not used: {:#?}", s.told());
    let Op::Grant { lease, .. } = earlier.op else { panic!("{}", earlier.op) };
    assert!(s.asks(&format!("revoke lease {lease}")), "{:#?}", s.requests());
    get_the_next_lease(&mut s);
    assert_ne!(s.lease(), lease);
}

/// A key may be on the new lease before the session knows that. So the session does not use a new
/// lease that ends before the claim.
#[test]
fn keys_avoid_shorter_lease() {
    let (mut s, created) = Stage::led("db");
    let before = s.lease();
    enter_the_next_term(&mut s, "db", created);
    s.answer("grant", Reply::Granted { ttl: 3 });
    assert_eq!(s.lease(), before, "{:#?}", s.told());
    assert!(s.asks("revoke") && moved_keys(&s) == 0, "{:#?}", s.requests());
    s.pass(ms(200));
    get_the_next_lease(&mut s);
    assert_eq!(moved_keys(&s), 1, "{:#?}", s.requests());
}

/// While its key may be on the former lease, a leadership counts from the former lease, however
/// long the new lease lasts. If the key does not move, this leadership alone ends with the former
/// lease.
#[test]
fn leadership_counts_from_its_keys_lease() {
    let (mut s, created) = Stage::led("a");
    let until = s.until("a");
    enter_the_next_term(&mut s, "a", created);
    get_the_next_lease(&mut s);
    // A key that is made on the new lease confirms it.
    s.elect("b");
    assert_eq!(s.until("a"), until, "its key has not moved");
    assert!(s.until("b") > until);
    s.header.revision += 1;
    s.sleep(until.since(s.now));
    s.pass(ms(1));
    assert!(!s.leads("a") && s.leads("b"), "{:#?}", s.told());
    assert!(s.has_told("a: lost: its lease was not renewed in time"), "{:#?}", s.told());
    assert!(!s.has_told("b: ended") && !s.asks("revoke"), "{:#?}", s.told());
}

/// The new lease was renewed before any key was on it. The confirmation reads all keys that have
/// moved there, and a leadership whose key is missing ends.
#[test]
fn late_confirmation_reads_all_moved_keys() {
    let (mut s, a) = Stage::led("a");
    s.elect("b");
    enter_the_next_term_with_two(&mut s, a);
    get_the_next_lease(&mut s);
    s.keep_alive();
    s.write("if create(a/");
    let until = s.until("a");
    let read = s.asked("read a/").op.to_string();
    assert!(read.contains(&format!("read {}", s.key("b"))), "{read}");
    let own = s.own("a", a);
    s.answer("read a/", so(vec![Some(own), None]));
    assert!(!s.leads("b") && s.has_told("b: ended"), "{:#?}", s.told());
    assert!(s.until("a") > until, "{:#?}", s.told());
}

/// This user may not move the only key, so the new lease carries no key. The session still keeps
/// and renews the new lease.
#[test]
fn new_lease_lasts_beside_unmovable_key() {
    let (mut s, created, _) = Stage::queued("a");
    enter_the_next_term(&mut s, "a", created);
    get_the_next_lease(&mut s);
    let lease = s.lease();
    for _ in 0..100 {
        s.pass(ms(200));
        if s.asks("keep") {
            s.answer("keep", Reply::Alive { ttl: Some(10) });
        }
        if moved_keys(&s) > 0 {
            s.answer("if create(a/", denied());
        }
    }
    assert!(!s.has_told(" is over: ") && s.lease() == lease, "{:#?}", s.told());
}

/// The answer to a move was lost. The repeated move finds the key on the new lease. A move names
/// the lease that carried the key, so a late move takes no key back.
#[test]
fn a_move_without_an_answer_is_looked_for() {
    let (mut s, created) = Stage::led("db");
    enter_the_next_term(&mut s, "db", created);
    let old = get_the_next_lease(&mut s);
    let until = s.until("db");
    let asked = s.asked("if create(db/").op.to_string();
    assert!(asked.contains(&format!(" and lease({}) = {old} then move", s.key("db"))), "{asked}");
    s.lose("if create(db/");
    assert_eq!(s.until("db"), until, "nobody knows where it is");
    s.pass(ms(200));
    let there = s.own("db", created);
    s.answer("if create(db/", not_so(vec![Some(there)]));
    assert!(s.until("db") > until && moved_keys(&s) == 0, "{:#?}", s.told());
    assert!(s.asks(&format!("revoke lease {old}")), "{:#?}", s.requests());
}

/// Two terms follow each other. The key moves on from the second lease, and each former lease is
/// revoked once it is empty.
#[test]
fn several_terms_follow_each_other() {
    let (mut s, created) = Stage::led("db");
    let first_end = s.until("db");
    enter_the_next_term(&mut s, "db", created);
    let first = get_the_next_lease(&mut s);
    let second = s.lease();
    let lost = s.asked("if create(db/").call;
    // Another term begins while the move to the second lease is under way.
    s.header.term += 1;
    for _ in 0..2 {
        s.observe("db", None);
        s.command("db", Command::Unobserve);
    }
    get_the_next_lease(&mut s);
    assert_eq!(s.until("db"), first_end);
    s.say(lost, so(vec![]));
    assert_eq!(s.until("db"), first_end, "that move does not count any more");
    // etcd has carried out the move all the same.
    let there = on(second, s.own("db", created));
    s.answer("if create(db/", not_so(vec![there]));
    let asked = s.asked("if create(db/").op.to_string();
    assert!(asked.contains(&format!("= {second} then move")), "{asked}");
    assert!(!s.asks("revoke"), "{:#?}", s.requests());
    s.write("if create(db/");
    assert!(s.leads("db") && s.until("db") > first_end);
    for old in [first, second] {
        assert!(s.asks(&format!("revoke lease {old}")), "{:#?}", s.requests());
    }
}

/// A candidate writes its value without its lease: a late proclamation does not take the key back
/// to the former lease.
#[test]
fn a_proclamation_leaves_the_key_on_its_lease() {
    let (mut s, _) = Stage::led("db");
    s.proclaim("db", "w");
    let asked = s.asked("if create(db/").op.to_string();
    assert!(asked.contains(" then proclaim db/") && !asked.contains("lease"), "{asked}");
}

/// A waiting candidate keeps its place in the queue.
#[test]
fn the_keys_of_those_who_wait_move_too() {
    let (mut s, created, other) = Stage::queued("db");
    enter_the_next_term(&mut s, "db", created);
    let old = get_the_next_lease(&mut s);
    assert_eq!(moved_keys(&s), 1, "{:#?}", s.requests());
    s.write("if create(db/");
    assert!(s.asks(&format!("revoke lease {old}")), "{:#?}", s.requests());
    assert!(!s.has_told("contending again"), "{:#?}", s.told());
    s.changed("db/", vec![deleted(&other.key, 30)]);
    s.is_first("db", created);
    assert!(s.leads("db"), "{:#?}", s.told());
}

/// A key that was deleted, or put on a foreign lease, ends only its own leadership.
#[test]
fn failed_move_shows_lost_key() {
    for taken in [false, true] {
        let (mut s, a) = Stage::led("a");
        let b = s.elect("b");
        enter_the_next_term(&mut s, "a", a);
        // The confirmation reads both keys.
        let (own_a, own_b) = (s.own("a", a), s.own("b", b));
        if s.asks("read a/") {
            s.answer("read a/", so(vec![Some(own_a.clone()), Some(own_b.clone())]));
        }
        let old = match s.asks("grant") {
            true => get_the_next_lease(&mut s),
            false => panic!("{:#?}", s.requests()),
        };
        assert_eq!(moved_keys(&s), 2, "{:#?}", s.requests());
        let gone = if taken { on(LeaseId(0x77), own_a) } else { None };
        s.answer("if create(a/", not_so(vec![gone, on(old, own_b)]));
        assert!(!s.leads("a") && s.leads("b"), "{:#?}", s.told());
        assert_eq!(moved_keys(&s), 1, "{:#?}", s.requests());
        s.write("if create(b/");
        assert!(s.leads("b") && s.asks("revoke"), "{:#?}", s.requests());
    }
}

/// The grant of the next lease is refused while a create is under way: the campaign ends. The late
/// answer to the create revives nothing, and the candidate searches for the key.
#[test]
fn late_answer_revives_no_refused_campaign() {
    let (mut s, a) = Stage::led("a");
    enter_the_next_term(&mut s, "a", a);
    s.campaign("b");
    let create = s.asked("if create(b/").call;
    s.answer("grant", denied());
    assert!(s.has_told("b: ended: etcd refuses the request"), "{:#?}", s.told());
    s.say(create, so(vec![]));
    assert!(s.has_told("ignored: unasked"), "{:#?}", s.told());
    assert!(s.requests().iter().any(|request| request.contains("read b/")), "{:#?}", s.requests());
}

/// A move fails because the first of its 64 keys is missing. The other 63 keys move next, before
/// the keys behind them.
#[test]
fn a_move_that_fails_leaves_the_others_first() {
    let mut s = Stage::new();
    let created = s.elect_all(100);
    s.header.term += 1;
    s.keep_alive();
    let own = s.owns(&created, 0..100);
    s.answer("read e", so(own.clone()));
    let old = get_the_next_lease(&mut s);
    assert_eq!(moved_keys(&s), 64, "{:#?}", s.requests());
    let mut found: Vec<_> = own.into_iter().take(64).map(|own| on(old, own.unwrap())).collect();
    found[0] = None;
    s.answer("if create(e00/", not_so(found));
    let next = s.requests().into_iter().find(|request| is_move(request)).unwrap();
    assert!(next.starts_with("if create(e01/") && next.contains("create(e64/"), "{next}");
}

/// A key that may not be written delays no other key: the session tries a refused move in parts.
#[test]
fn refused_move_is_split() {
    let (mut s, a) = Stage::led("a");
    let until = s.until("a");
    s.queue("b");
    enter_the_next_term_with_two(&mut s, a);
    get_the_next_lease(&mut s);
    assert_eq!(moved_keys(&s), 2, "{:#?}", s.requests());
    s.answer("if create(a/", denied());
    s.pass(ms(200));
    assert_eq!(moved_keys(&s), 1, "{:#?}", s.requests());
    s.write("if create(a/");
    assert!(s.until("a") > until, "{:#?}", s.told());
    // The user may not write the other key, which the session tries again and again.
    for _ in 0..5 {
        s.answer("if create(b/", denied());
        s.pass(ms(2_100));
        s.renew_if_due("a", a);
    }
    assert!(s.leads("a") && moved_keys(&s) == 1, "{:#?}", s.requests());
}

/// The answer to a move was lost. A waiting candidate finds its key on the new lease when it
/// queries the queue, and keeps its place.
#[test]
fn waiting_candidate_finds_moved_key() {
    let (mut s, a) = Stage::led("a");
    let (b, other) = s.queue("b");
    s.answer("watch b/77", Reply::Watching);
    enter_the_next_term_with_two(&mut s, a);
    get_the_next_lease(&mut s);
    s.lose("if create(a/");
    s.changed("b/77", vec![deleted(&other.key, b + 1)]);
    let own = s.own("b", b);
    s.answer("if create(b/", not_so(vec![Some(own.clone())]));
    assert!(!s.has_told("contending again"), "{:#?}", s.told());
    s.answer("if create(b/", so(vec![Some(own), None]));
    assert!(s.leads("b"), "{:#?}", s.told());
}

/// Keys that may not be written are passed over. The session tries parts without a pause, so that
/// later keys lose no time. A pause follows when all keys had their turn, or when no key may be
/// written.
#[test]
fn unwritable_keys_are_passed_over() {
    let mut s = Stage::new();
    let created = s.elect_all(80);
    s.header.term += 1;
    s.keep_alive();
    let own = s.owns(&created, 0..80);
    s.answer("read e", so(own));
    get_the_next_lease(&mut s);
    let until = s.until("e02");
    let refuse = |s: &mut Stage| s.answer("if create(e", denied());
    // The last two transactions contain e00 alone and e01 alone.
    for size in [64, 32, 16, 8, 4, 2, 1, 1] {
        assert_eq!(moved_keys(&s), size, "{:#?}", s.requests());
        refuse(&mut s);
    }
    assert!(moved_keys(&s) == 1 && s.asks("if create(e02/"), "{:#?}", s.requests());
    s.write("if create(e02/");
    assert!(s.until("e02") > until && moved_keys(&s) == 2, "{:#?}", s.told());
    let (mut asked, mut turns) = (1, Vec::new());
    while moved_keys(&s) > 0 && asked < 1_000 {
        turns.extend((moved_keys(&s) == 1).then(|| s.asked("if create(e").op.to_string()));
        refuse(&mut s);
        asked += 1;
    }
    let first = |turn: &String| turn.get(10..13).map(str::to_owned);
    let mut alone: Vec<_> = turns.iter().filter_map(first).collect();
    alone.dedup();
    assert_eq!(alone.len(), 64, "so many one after the other, then a pause: {alone:?}");
    s.pass(ms(200));
    assert!(moved_keys(&s) > 0, "{:#?}", s.requests());
}

/// A server accepts fewer operations than usual in a transaction. The session repeats the request
/// with fewer operations at once, keeps to that number, and loses no claim.
#[test]
fn small_server_is_asked_in_parts() {
    let mut s = Stage::new();
    let created = s.elect_all(100);
    let until = s.until("e00");
    let too_many = || {
        let said = "etcdserver: too many operations in txn request".into();
        Reply::Refused(Refusal::TooManyOperations { said })
    };
    let asked = |s: &Stage| {
        let Op::Txn(txn) = s.asked("read e").op else { panic!("{:#?}", s.requests()) };
        txn.then.len()
    };
    let (mut sizes, mut at) = (Vec::new(), 0);
    for _ in 0..2 {
        s.keep_alive();
        sizes.push(asked(&s));
        while sizes[sizes.len() - 1] > 64 {
            at = (at + sizes[sizes.len() - 1]) % 100;
            s.answer("read e", too_many());
            sizes.push(asked(&s));
        }
        let keys = *sizes.last().unwrap();
        let own = s.owns(&created, (at..at + keys).map(|n| n % 100));
        at = (at + keys) % 100;
        s.answer("read e", so(own));
    }
    assert_eq!(sizes, [100, 50, 50]);
    assert!(s.until("e00") > until.after(ms(5_500)), "each renewal counts from its send");
    assert!(!s.has_told("etcd refuses"), "{:#?}", s.told());
    // The server takes fewer moves, too, because each move takes two operations.
    s.header.term += 1;
    s.keep_alive();
    let own = s.owns(&created, (at..at + 50).map(|n| n % 100));
    s.answer("read e", so(own));
    get_the_next_lease(&mut s);
    assert_eq!(moved_keys(&s), 25, "{:#?}", s.requests());
    s.answer("if create(e", too_many());
    assert_eq!(moved_keys(&s), 12, "{:#?}", s.requests());
    s.write("if create(e");
    assert_eq!(moved_keys(&s), 12, "as many as it took");
}

/// Both keys confirm a renewal in a later term.
fn enter_the_next_term_with_two(s: &mut Stage, a: Revision) {
    s.header.term += 1;
    s.open_watches();
    s.keep_alive();
    let (own, other) = (s.own("a", a), s.own("b", a + 1));
    s.answer("read a/", so(vec![Some(own), Some(other)]));
}

/// The former lease is revoked only once it is empty, because its keys would go with it.
#[test]
fn the_lease_before_goes_when_it_is_empty() {
    let (mut s, created) = Stage::led("db");
    enter_the_next_term(&mut s, "db", created);
    let old = get_the_next_lease(&mut s);
    assert!(!s.asks("revoke"), "{:#?}", s.requests());
    s.pass(ms(100));
    assert!(!s.asks("revoke"), "{:#?}", s.requests());
    s.write("if create(db/");
    assert!(s.asks(&format!("revoke lease {old}")), "{:#?}", s.requests());
}

/// The keys have the id of a lease that was handed in, and are on another lease. The session renews
/// the lease that was handed in: when that lease has ended, all leaderships end.
#[test]
fn given_lease_ends_all_leaderships() {
    let mut s = Stage::with(config(), Some(LeaseId(0x42)));
    s.campaign("db");
    s.answer("keep lease 42", Reply::Alive { ttl: Some(86_400) });
    s.establish();
    s.elect_again("db");
    assert_eq!(s.key("db").to_string(), "db/42");
    assert_ne!(s.lease(), LeaseId(0x42));
    s.pass(ms(3_400));
    s.answer("keep lease 42", Reply::Alive { ttl: None });
    assert!(!s.leads("db") && s.has_told("lost: etcd has ended its lease"), "{:#?}", s.told());
    assert!(s.position("no claim db") < s.position("revoke lease"), "{:#?}", s.told());
}

/// The lease that was handed in is shorter than the session's lease. The session renews that lease
/// in time, and repeats a lost keep-alive in time.
#[test]
fn given_lease_may_be_shorter() {
    let lease = Duration::from_secs(30);
    let mut s = Stage::with(Config { lease, ..config() }, Some(LeaseId(0x42)));
    s.campaign("db");
    s.answer("keep lease 42", Reply::Alive { ttl: Some(5) });
    s.establish();
    s.answer("grant", Reply::Granted { ttl: 30 });
    s.elect_next("db");
    for _ in 0..4 {
        s.pass(ms(1_700));
        s.answer("keep lease 42", Reply::Alive { ttl: Some(5) });
    }
    s.pass(ms(1_700));
    // The keep-alive has no answer, and is repeated before the lease ends.
    let first = s.asked("keep lease 42").call;
    s.pass(ms(1_700));
    assert!(s.asked("keep lease 42").call > first && s.leads("db"), "{:#?}", s.requests());
}

/// Ten thousand keys move in transactions that etcd takes, the keys of leaders first.
#[test]
fn ten_thousand_keys_move_in_parts() {
    let keys = 10_000;
    let mut s = Stage::new();
    s.campaign("e0000");
    s.answer("grant", Reply::Granted { ttl: 10 });
    // Every hundredth candidate leads, the others wait behind another candidate's key.
    for n in 0..keys {
        let election = format!("e{n:04}");
        if n > 0 {
            s.command(&election, Command::Campaign { value: "v".parse().unwrap(), priority: 0 });
        }
        let created = s.write(&format!("if create({election}/"));
        let (own, other) = (s.own(&election, created), s.other(&election, created - 1));
        let before = (n % 100 != 0).then_some(other);
        let first = before.clone().unwrap_or(own);
        s.answer(&format!("if create({election}/"), so(vec![Some(first), before]));
        s.answer("watch e", Reply::Watching);
    }
    s.done.clear();
    s.header.term += 1;
    s.keep_alive();
    let read = s.asked("read e");
    let Op::Txn(txn) = &read.op else { panic!("{}", read.op) };
    let all = (0..txn.then.len()).map(|n| Some(s.own(&format!("e{n:04}"), 11 + n as u64)));
    let all = all.collect();
    s.say(read.call, so(all));
    let old = get_the_next_lease(&mut s);
    let (mut moves, mut moved, mut leaders) = (0, 0, 0);
    while let Some(request) = s.open.iter().rev().find(|request| is_move(&request.op.to_string())) {
        let Op::Txn(txn) = &request.op else { panic!("{}", request.op) };
        assert!(txn.when.len().max(txn.otherwise.len()) <= 128, "{}", txn.when.len());
        (moves, moved) = (moves + 1, moved + txn.then.len());
        let call = request.call;
        s.header.revision += 1;
        s.done.clear();
        s.say(call, so(vec![]));
        leaders += s.told().iter().filter(|line| line.starts_with("claim ")).count();
        if moves == 2 {
            assert_eq!(leaders, keys / 100, "those who lead come first");
        }
    }
    assert_eq!((moves, moved), (keys.div_ceil(64), keys));
    assert!(s.asks(&format!("revoke lease {old}")), "{:#?}", s.requests().len());
}

/// After a move, the watch shows the key on another lease. The event may be late, so the session
/// reads the key. A key on a foreign lease is lost.
#[test]
fn key_on_foreign_lease_is_lost() {
    for taken in [false, true] {
        let (mut s, created) = Stage::led("db");
        enter_the_next_term(&mut s, "db", created);
        let old = get_the_next_lease(&mut s);
        s.write("if create(db/");
        s.answer("revoke", Reply::Revoked);
        let own = s.own("db", created);
        let late = on(if taken { LeaseId(0x77) } else { old }, own.clone()).unwrap();
        s.changed("db/", vec![Change::Put(late)]);
        assert!(s.leads("db"), "{:#?}", s.told());
        let found = if taken { on(LeaseId(0x77), own) } else { Some(own) };
        s.answer("if create(db/", so(vec![found]));
        assert_eq!(s.leads("db"), !taken, "{:#?}", s.told());
    }
}

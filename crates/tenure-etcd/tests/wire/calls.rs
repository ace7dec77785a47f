//! Leases and transactions.

use std::time::Duration;

use tenure_core::etcd::{Act, Bytes, Compare, LeaseId, Op, Pick, Refusal, Reply, Txn};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::common::{
    Line, PATIENCE, all, create, created, delete, found, put, read, read_all, run, then,
};

const LEASE: LeaseId = LeaseId(0x0123_4567_89ab_cdef);

tenure_services::on_each_version!(calls);

fn calls(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let mut line = Line::new(all(&cluster));
        leases(&mut line).await;
        transactions(&mut line).await;
        moves(&mut line).await;
        refusals(&mut line).await;
        many_at_once(&mut line).await;
    });
}

async fn leases(line: &mut Line) {
    let granted = line.ask(Op::Grant { lease: LEASE, ttl: 600 }).await.1;
    assert_eq!(granted, Reply::Granted { ttl: 600 });
    // etcd refuses a second grant of the same id, because that lease may belong to another process.
    assert_eq!(line.reply(Op::Grant { lease: LEASE, ttl: 600 }).await, Reply::LeaseExists);
    // Opening the stream is one renewal, and each request has an answer of its own.
    for _ in 0..3 {
        let (header, alive) = line.ask(Op::KeepAlive { lease: LEASE }).await;
        assert_eq!(alive, Reply::Alive { ttl: Some(600) });
        assert!(header.term > 0 && header.cluster != 0 && header.member != 0, "{header:?}");
    }
    assert_eq!(line.reply(Op::KeepAlive { lease: LeaseId(7) }).await, Reply::Alive { ttl: None });
    // Leases are renewed in turn, each on a stream of its own.
    let alive = line.ask(Op::KeepAlive { lease: LEASE }).await.1;
    assert_eq!(alive, Reply::Alive { ttl: Some(600) });
    assert_eq!(line.ask(Op::Revoke { lease: LEASE }).await.1, Reply::Revoked);
    assert_eq!(line.reply(Op::Revoke { lease: LEASE }).await, Reply::LeaseGone);
    // After the revocation the open stream brings an answer without a TTL.
    assert_eq!(line.reply(Op::KeepAlive { lease: LEASE }).await, Reply::Alive { ttl: None });
    let granted = line.ask(Op::Grant { lease: LeaseId(1), ttl: 1 }).await.1;
    assert_eq!(granted, Reply::Granted { ttl: 2 }, "etcd grants no shorter ones");
}

async fn transactions(line: &mut Line) {
    assert_eq!(line.ask(Op::Grant { lease: LEASE, ttl: 600 }).await.1, Reply::Granted { ttl: 600 });
    let mut revisions = Vec::new();
    for name in ["e/a", "e/b", "e/c", "ea/x"] {
        let (header, made) = line.ask(create(name, "value", LEASE)).await;
        assert_eq!(made, Reply::Txn { succeeded: true, found: vec![] });
        revisions.push(header.revision);
    }
    assert!(revisions.is_sorted_by(|a, b| a + 1 == *b), "{revisions:?}");
    let (header, again) = line.ask(create("e/a", "other", LEASE)).await;
    let Reply::Txn { succeeded: false, found: mut there } = again else { panic!("{again}") };
    let there = there.pop().unwrap().unwrap();
    assert_eq!((there.key, there.value), ("e/a".into(), "value".into()));
    assert_eq!((there.created, there.modified), (revisions[0], revisions[0]));
    assert_eq!((there.lease, header.revision), (Some(LEASE), revisions[3]));
    // Each pick finds a key of `e/`, and never a key of `ea`.
    let key_of = |reply: Reply| found(reply).map(|found| found.key.to_string());
    for (pick, key) in [
        (Pick::First, Some("e/a")),
        (Pick::LastUpTo(revisions[2] - 1), Some("e/b")),
        (Pick::LastUpTo(revisions[3]), Some("e/c")),
        (Pick::LastUpTo(revisions[0] - 1), None),
        (Pick::LastUpTo(0), None),
    ] {
        let reply = line.ask(then(vec![read_all("e/", pick)])).await.1;
        assert_eq!(key_of(reply).as_deref(), key, "{pick:?}");
    }
    // A transaction with reads and writes reports only reads.
    let both = then(vec![put("e/d", "d", LEASE), read("e/b"), read("e/z"), delete("e/a")]);
    let Reply::Txn { succeeded: true, found } = line.ask(both).await.1 else { panic!() };
    let keys: Vec<_> = found.into_iter().map(|kv| kv.map(|kv| kv.key)).collect();
    assert_eq!(keys, [Some(Bytes::from("e/b")), None]);
    let when = vec![created("e/b", revisions[1])];
    let resign = Txn { when, then: vec![delete("e/b")], otherwise: vec![read("e/b")] };
    for succeeded in [true, false] {
        let reply = line.ask(Op::Txn(resign.clone())).await.1;
        assert!(matches!(reply, Reply::Txn { succeeded: so, .. } if so == succeeded), "{reply}");
    }
    // All keys go with their lease.
    assert_eq!(line.ask(Op::Revoke { lease: LEASE }).await.1, Reply::Revoked);
    let left = line.ask(then(vec![read_all("e", Pick::First)])).await.1;
    assert_eq!(key_of(left), None);
}

/// Both leases are renewed side by side. A key moves from one lease to the other, and a write of
/// its value does not name the lease.
async fn moves(line: &mut Line) {
    let other = LeaseId(0x77);
    for lease in [LEASE, other] {
        assert_eq!(line.ask(Op::Grant { lease, ttl: 600 }).await.1, Reply::Granted { ttl: 600 });
    }
    let calls: Vec<_> = [LEASE, other, LEASE, other]
        .map(|lease| (lease, line.send(PATIENCE, Op::KeepAlive { lease })))
        .into();
    // A newer request on a lease ends the earlier request on this lease, and no request on another
    // lease.
    for (nth, (_, call)) in calls.iter().enumerate() {
        let reply = line.answer(*call).await.reply;
        let given_up = nth < 2 && matches!(reply, Reply::Unknown { .. });
        assert!(given_up || reply == Reply::Alive { ttl: Some(600) }, "{nth}: {reply}");
    }
    let (header, made) = line.ask(create("m/a", "value", LEASE)).await;
    assert_eq!(made, Reply::Txn { succeeded: true, found: vec![] });
    let revision = header.revision;
    let key = || Bytes::from("m/a");
    let shift = |from, to| {
        let there = Compare::Lease { key: key(), lease: from };
        let when = vec![created("m/a", revision), there];
        let then = vec![Act::Move { key: key(), lease: to }];
        Op::Txn(Txn { when, then, otherwise: vec![read("m/a")] })
    };
    let say = |value: &str| {
        let then = vec![Act::Proclaim { key: key(), value: value.into() }];
        let when = vec![created("m/a", revision)];
        Op::Txn(Txn { when, then, otherwise: vec![read("m/a")] })
    };
    let done = |reply: &Reply| matches!(reply, Reply::Txn { succeeded: true, .. });
    assert!(done(&line.ask(shift(LEASE, other)).await.1));
    assert!(done(&line.ask(say("said")).await.1));
    // The key is no longer on the first lease, so no move from that lease succeeds.
    let Reply::Txn { succeeded: false, found: at } = line.ask(shift(LEASE, LEASE)).await.1 else {
        panic!("it was moved")
    };
    let at = at.into_iter().next().flatten().unwrap();
    assert_eq!((at.created, at.lease, at.value), (revision, Some(other), "said".into()));
    assert_eq!(line.reply(shift(other, LeaseId(5))).await, Reply::LeaseGone);
    // No key goes with the former lease.
    assert_eq!(line.ask(Op::Revoke { lease: LEASE }).await.1, Reply::Revoked);
    let left = line.ask(then(vec![read("m/a")])).await.1;
    assert_eq!(found(left).unwrap().created, revision);
    assert_eq!(line.ask(Op::Revoke { lease: other }).await.1, Reply::Revoked);
    assert_eq!(found(line.ask(then(vec![read("m/a")])).await.1), None);
}

async fn refusals(line: &mut Line) {
    let gone = line.reply(create("r/a", "", LeaseId(5))).await;
    assert_eq!(gone, Reply::LeaseGone, "nothing was written");
    let too_many = (0..200).map(|n| read(&format!("r/{n}"))).collect();
    let refused = line.reply(then(too_many)).await;
    let said = "etcdserver: too many operations in txn request".into();
    assert_eq!(refused, Reply::Refused(Refusal::TooManyOperations { said }));
    let large =
        Act::Put { key: "r/large".into(), value: Bytes::new(&vec![0; 7 << 18]), lease: LeaseId(0) };
    let refused = line.reply(then(vec![large])).await;
    let said = "etcdserver: request is too large".into();
    assert_eq!(refused, Reply::Refused(Refusal::Other { said }));
}

/// More calls than may be under way at once: each call has one answer.
async fn many_at_once(line: &mut Line) {
    let look = || then(vec![read_all("m", Pick::First)]);
    let calls: Vec<_> = (0..500).map(|_| line.send(PATIENCE, look())).collect();
    let late = line.send(Duration::ZERO, look());
    let candidate = line.send(PATIENCE, create("n", "", LeaseId(0)));
    let confirmation = line.send(PATIENCE, then(vec![read("m")]));
    let renewed = line.reply(Op::KeepAlive { lease: LeaseId(7) }).await;
    assert_eq!(renewed, Reply::Alive { ttl: None }, "not behind all the others");
    // A confirmation of a renewal does not wait, either. A call without a turn in time was
    // certainly not sent.
    assert_eq!(found(line.answer(confirmation).await.reply), None);
    assert!(line.waiting() < 500, "behind all the others");
    let Reply::Txn { succeeded: true, .. } = line.answer(candidate).await.reply else { panic!() };
    assert!(line.waiting() < 500, "behind those who only look");
    let answer = line.answer(late).await;
    let Reply::Refused(Refusal::Other { said }) = answer.reply else { panic!("{answer}") };
    assert!(said.ends_with(" s for its turn: 32 requests are under way"), "{said}");
    for call in calls {
        assert_eq!(found(line.answer(call).await.reply), None);
    }
    assert!(line.is_silent(Duration::from_millis(200)).await, "answered twice");
}

#[test]
fn a_full_disk_is_a_refusal() {
    let config = ClusterConfig::new(Version::Newest, 1).quota(2 << 20);
    let cluster = config.start().unwrap();
    run(async {
        let mut line = Line::new(all(&cluster));
        let granted = line.ask(Op::Grant { lease: LEASE, ttl: 600 }).await.1;
        assert_eq!(granted, Reply::Granted { ttl: 600 });
        let large = Bytes::new(&vec![0; 1 << 20]);
        let mut written = 0;
        let refused = loop {
            let key = format!("full/{written}").as_str().into();
            let write = Act::Put { key, value: large.clone(), lease: LeaseId(0) };
            match line.reply(then(vec![write])).await {
                // A server notices its full quota when it commits, every 100 ms.
                Reply::Txn { .. } => tokio::time::sleep(Duration::from_millis(100)).await,
                other => break other,
            }
            written += 1;
            assert!(written < 1_000, "a server of 2 MiB has taken so many");
        };
        let said = "etcdserver: mvcc: database space exceeded".into();
        assert_eq!(refused, Reply::Refused(Refusal::NoSpace { said }));
        // A renewal and its confirmation need no space.
        let alive = line.reply(Op::KeepAlive { lease: LEASE }).await;
        assert_eq!(alive, Reply::Alive { ttl: Some(600) });
        assert_eq!(found(line.reply(then(vec![read("m")])).await), None);
    });
}

//! Watches: all of them on one stream, each revision in one answer.

use std::time::Duration;

use tenure_core::etcd::{Act, Bytes, CallId, Change, Keys, LeaseId, Op, Reply};
use tenure_services::etcd::{Cluster, Version};

use crate::common::{Line, PATIENCE, all, create, delete, put, run, then};

tenure_services::on_each_version!(watches);

fn watches(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let mut line = Line::new(all(&cluster));
        each_revision_has_one_answer(&mut line).await;
        many_on_one_stream(&mut line).await;
        unwatched(&mut line).await;
        a_long_past(&mut line).await;
        compacted(&mut line, &cluster).await;
    });
}

async fn changes(line: &mut Line, watch: CallId) -> Vec<String> {
    match line.answer(watch).await.reply {
        Reply::Changed(changes) => changes.iter().map(word).collect(),
        other => panic!("{other}"),
    }
}

fn word(change: &Change) -> String {
    match change {
        Change::Put(kv) => format!("put {}", kv.key),
        Change::TooLarge { key, .. } => format!("put {key}, too large"),
        Change::Deleted { key, .. } => format!("deleted {key}"),
    }
}

async fn each_revision_has_one_answer(line: &mut Line) {
    let lease = LeaseId(1);
    assert_eq!(line.ask(Op::Grant { lease, ttl: 60 }).await.1, Reply::Granted { ttl: 60 });
    let (header, _) = line.ask(create("w/a", "", lease)).await;
    let all = line.watch(Keys::Prefix("w/".into()), header.revision + 1).await;
    let one = line.watch(Keys::One("w/a".into()), header.revision).await;
    // Events from before the watch was opened come first.
    assert_eq!(changes(line, one).await, ["put w/a"]);
    line.ask(then(vec![put("w/b", "", lease), put("w/c", "", lease)])).await;
    line.ask(then(vec![delete("w/b")])).await;
    assert_eq!(changes(line, all).await, ["put w/b", "put w/c"]);
    assert_eq!(changes(line, all).await, ["deleted w/b"]);
    assert_eq!(line.ask(Op::Revoke { lease }).await.1, Reply::Revoked);
    let answer = line.answer(all).await;
    let Reply::Changed(mut gone) = answer.reply else { panic!("{answer}") };
    gone.sort_by_key(word);
    assert_eq!(gone.iter().map(word).collect::<Vec<_>>(), ["deleted w/a", "deleted w/c"]);
    let Change::Deleted { revision, .. } = gone[0] else { panic!() };
    assert!(answer.header.unwrap().revision >= revision);
    assert_eq!(changes(line, one).await, ["deleted w/a"]);
    assert!(line.is_silent(Duration::from_millis(200)).await);
}

async fn many_on_one_stream(line: &mut Line) {
    let key = |n: usize| format!("many/{n}");
    let keys = |n| Keys::One(key(n).as_str().into());
    let watches: Vec<_> = (0..300)
        .map(|n| line.send(PATIENCE, Op::Watch { keys: keys(n), from: 0, deletions: false }))
        .collect();
    for watch in &watches {
        assert_eq!(line.answer(*watch).await.reply, Reply::Watching);
    }
    for n in [299, 0, 150] {
        line.ask(then(vec![put(&key(n), "", LeaseId(0))])).await;
        assert_eq!(changes(line, watches[n]).await, [format!("put {}", key(n))]);
    }
    assert!(line.is_silent(Duration::from_millis(200)).await, "only who is concerned is told");
}

async fn unwatched(line: &mut Line) {
    let watch = line.watch(Keys::One("u".into()), 0).await;
    let early =
        line.send(PATIENCE, Op::Watch { keys: Keys::One("u".into()), from: 0, deletions: false });
    for watch in [watch, early] {
        line.send(PATIENCE, Op::Unwatch { watch });
    }
    line.ask(then(vec![put("u", "", LeaseId(0))])).await;
    assert!(line.is_silent(Duration::from_millis(300)).await);
}

/// The changes are more than one message can hold, so they come in pieces.
async fn a_long_past(line: &mut Line) {
    let value = Bytes::new(&vec![7; 1 << 20]);
    let mut first = None;
    for n in 0..8 {
        let key = format!("long/{n}").as_str().into();
        let write = Act::Put { key, value: value.clone(), lease: LeaseId(0) };
        first.get_or_insert(line.ask(then(vec![write])).await.0.revision);
    }
    let watch = line.watch(Keys::Prefix("long/".into()), first.unwrap()).await;
    for n in 0..8 {
        let answer = line.answer(watch).await;
        let Reply::Changed(told) = answer.reply else { panic!() };
        let [Change::Put(kv)] = &told[..] else { panic!("{} in one answer", told.len()) };
        assert_eq!((kv.key.to_string(), &kv.value), (format!("long/{n}"), &value));
    }
    line.send(PATIENCE, Op::Unwatch { watch });
}

async fn compacted(line: &mut Line, cluster: &Cluster) {
    let (header, _) = line.ask(then(vec![put("c", "1", LeaseId(0))])).await;
    let (now, _) = line.ask(then(vec![put("c", "2", LeaseId(0))])).await;
    cluster.etcdctl(&["compact", &now.revision.to_string()]).unwrap();
    let old = Op::Watch { keys: Keys::One("c".into()), from: header.revision, deletions: false };
    let watch = line.send(PATIENCE, old);
    let mut reply = line.answer(watch).await.reply;
    if reply == Reply::Watching {
        reply = line.answer(watch).await.reply;
    }
    assert_eq!(reply, Reply::Compacted { revision: now.revision });
    // The next watch begins at the newest revision, so it reports only the next change.
    let watch = line.watch(Keys::One("c".into()), now.revision).await;
    assert_eq!(changes(line, watch).await, ["put c"]);
}

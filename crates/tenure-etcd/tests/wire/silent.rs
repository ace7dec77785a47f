//! A member that still has its connections and answers pings, but opens no watch.

use std::time::Duration;

use tenure::clock;
use tenure_core::etcd::{Keys, Op, Reply};
use tenure_services::etcd::{Cluster, Version};

use crate::common::proxy::{Lost, Proxy};
use crate::common::{Line, PATIENCE, options, read, run, soon, then};

/// Time in which a watch opens, also on a busy machine.
const WITHIN: Duration = Duration::from_secs(4);

fn watch(key: &str) -> Op {
    Op::Watch { keys: Keys::One(key.into()), from: 0, deletions: false }
}

/// A line that uses the proxy's endpoint, and could use the member's own endpoint instead. On a
/// busy machine the own endpoint may win the race at first, so the loop tries again.
async fn line(cluster: &Cluster, way: &Proxy) -> Line {
    let endpoints = [way.url.clone(), cluster.member(0).endpoint().to_owned()];
    loop {
        let mut line = Line::new(options(&endpoints));
        line.ask(then(vec![read("s")])).await;
        if line.connected().is_some_and(|url| url.starts_with(&way.url)) {
            return line;
        }
    }
}

/// Asks again until a watch opens, as the core does. The core gives a watch up a moment before the
/// watch's time is over.
async fn opens_in_the_end(line: &mut Line, reads: bool) {
    soon(opens(line, reads)).await;
}

async fn opens(line: &mut Line, reads: bool) {
    loop {
        let due = clock::now().after(WITHIN - Duration::from_millis(5));
        let call = line.send(WITHIN, watch("s/b"));
        if reads {
            line.reply(then(vec![read("s")])).await;
        }
        let answer = tokio::time::timeout(due.since(clock::now()), line.answer(call)).await;
        if answer.is_ok_and(|answer| answer.reply == Reply::Watching) {
            return;
        }
        line.send(PATIENCE, Op::Unwatch { watch: call });
    }
}

/// The stream is not open yet when other requests find the connection silent.
#[test]
fn lost_line_moves_its_stream() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Proxy::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        way.loses(Lost::Calls);
        let watch = line.send(PATIENCE, watch("s/a"));
        let answer = line.ask_within(WITHIN, then(vec![read("s")])).await;
        assert!(matches!(answer.reply, Reply::Unknown { .. }), "{answer}");
        assert_eq!(line.answer(watch).await.reply, Reply::Watching);
    });
}

/// Only watches are requested, so only watches notice the silence.
#[test]
fn silent_member_loses_its_watches() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Proxy::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        way.loses(Lost::Calls);
        opens_in_the_end(&mut line, false).await;
    });
}

/// All other requests have answers, so the connection counts as good for them.
#[test]
fn streamless_member_is_left() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Proxy::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        way.loses(Lost::Streams);
        opens_in_the_end(&mut line, true).await;
    });
}

/// The stream was open before it became silent.
#[test]
fn silent_stream_is_left() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Proxy::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        let open = line.watch(Keys::One("s/a".into()), 0).await;
        way.loses(Lost::Streams);
        opens_in_the_end(&mut line, true).await;
        let ended = line.answer(open).await;
        assert!(matches!(ended.reply, Reply::Unknown { .. }), "it has another line now: {ended}");
    });
}

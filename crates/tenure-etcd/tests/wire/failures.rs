//! Members that stand still or are gone.

use std::net::TcpListener;
use std::time::Duration;

use tenure::clock;
use tenure_core::etcd::{Act, Answer, Change, Keys, LeaseId, Op, Pick, Read, Reply};
use tenure_etcd::wire::Incoming;
use tenure_etcd::{Notice, Options};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::common::{
    Line, PATIENCE, all, create, delete, found, options, put, read, read_all, run, soon, then,
};

const WITHIN: Duration = Duration::from_millis(700);

fn is_unknown(answer: &Answer) -> bool {
    matches!(answer.reply, Reply::Unknown { .. })
}

/// A foreign value is above our limit: a request for it fails, and the link and all other requests
/// go on.
#[test]
fn large_answer_breaks_no_link() {
    let config = ClusterConfig::new(Version::Newest, 1).argument("--max-request-bytes=16777216");
    let cluster = config.start().unwrap();
    let lease = LeaseId(9);
    run(async {
        let mut theirs = Line::new(all(&cluster));
        let mut line = Line::new(all(&cluster));
        theirs.ask(Op::Grant { lease, ttl: 60 }).await;
        let watch = line.watch(Keys::One("s/mine".into()), 0).await;
        let value = "x".repeat(5 << 20);
        theirs.ask(create("s/theirs", &value, lease)).await;
        for _ in 0..3 {
            let reply = line.reply(then(vec![read_all("s/theirs", Pick::First)])).await;
            let Reply::Unknown { why } = &reply else { panic!("{reply}") };
            let limit = "decoded message length too large: found 52";
            assert!(why.contains("cannot be used") && why.contains(limit), "{why}");
        }
        theirs.ask(create("s/mine", "small", lease)).await;
        let told = line.answer(watch).await;
        assert!(matches!(told.reply, Reply::Changed(_)), "the watch goes on: {told}");
        assert!(!line.was_disconnected());
        // A read of the key alone succeeds. In its answer, etcd 3.7 leaves out the lease as well as
        // the value.
        let keys = Keys::Prefix("s/".into());
        let key = Act::Read(Read { keys, pick: Pick::First, keys_only: true });
        let key = found(line.reply(then(vec![key])).await).unwrap();
        assert_eq!((key.key, key.value), ("s/theirs".into(), "".into()));
        // A watch reports the key with the large value. A watch of deletions reports only the key's
        // end.
        let all = line.watch(Keys::Prefix("s/".into()), 0).await;
        let keys = Keys::Prefix("s/".into());
        let gone = line.send(PATIENCE, Op::Watch { keys, from: 0, deletions: true });
        assert_eq!(line.answer(gone).await.reply, Reply::Watching);
        let changed = then(vec![delete("s/theirs"), put("s/large", &value, lease)]);
        theirs.ask(changed).await;
        let told = line.answer(all).await.reply;
        let Reply::Changed(changes) = &told else { panic!("{told}") };
        let is_large = |change: &Change| {
            matches!(change, Change::TooLarge { .. }) && *change.key() == "s/large".into()
        };
        assert!(changes.len() == 2 && changes.iter().any(is_large), "{told}");
        let told = line.answer(gone).await.reply;
        let Reply::Changed(changes) = &told else { panic!("{told}") };
        assert!(matches!(changes[..], [Change::Deleted { .. }]), "{told}");
        assert!(!line.was_disconnected());
    });
}

/// Every request has one answer in its time, and no late answer counts for a later request.
#[test]
fn a_member_that_stands_still() {
    let cluster = Cluster::start(Version::Oldest, 1).unwrap();
    let lease = LeaseId(9);
    run(async {
        let mut line = Line::new(all(&cluster));
        line.ask(Op::Grant { lease, ttl: 60 }).await;
        line.ask(Op::KeepAlive { lease }).await;
        let open = line.watch(Keys::One("s/a".into()), 0).await;
        cluster.member(0).stop().unwrap();
        let began = clock::now();
        let watch = Op::Watch { keys: Keys::One("s/b".into()), from: 0, deletions: false };
        let requests = [
            create("s/a", "1", lease),
            Op::KeepAlive { lease },
            Op::Grant { lease, ttl: 9 },
            watch,
        ];
        let calls = requests.map(|op| line.send(WITHIN, op));
        for call in calls {
            let answer = line.answer(call).await;
            assert!(is_unknown(&answer), "{answer}");
        }
        assert!(clock::now().since(began) >= WITHIN);
        let ended = line.answer(open).await;
        assert!(is_unknown(&ended), "{ended}");
        cluster.member(0).cont().unwrap();
        // Answers to the earlier requests may have arrived late. The next answers must belong to
        // the next requests.
        let other = LeaseId(10);
        assert_eq!(
            line.ask(Op::Grant { lease: other, ttl: 90 }).await.1,
            Reply::Granted { ttl: 90 }
        );
        for (lease, ttl) in [(other, 90), (lease, 60)] {
            let (_, alive) = line.ask(Op::KeepAlive { lease }).await;
            assert_eq!(alive, Reply::Alive { ttl: Some(ttl) });
        }
        let stored = found(line.ask(then(vec![put("s/c", "", other), read("s/c")])).await.1);
        assert_eq!(stored.map(|kv| kv.lease), Some(Some(other)));
        assert!(line.is_silent(Duration::from_millis(500)).await);
    });
}

/// The first endpoint is dead, and the connected member dies: the node uses the next endpoint.
#[test]
fn the_next_endpoint_is_used() {
    let cluster = Cluster::start(Version::Newest, 3).unwrap();
    let mut endpoints = cluster.endpoints();
    endpoints.insert(0, "http://127.0.0.1:9".to_owned());
    let lease = LeaseId(3);
    run(async {
        let mut line = Line::new(options(&endpoints));
        line.ask(Op::Grant { lease, ttl: 60 }).await;
        line.ask(create("f/a", "1", lease)).await;
        line.ask(Op::KeepAlive { lease }).await;
        let watch = line.watch(Keys::One("f/a".into()), 0).await;
        let first = line.connected().unwrap();
        let member = cluster.members().position(|member| member.endpoint() == first).unwrap();
        cluster.member(member).kill().unwrap();
        assert!(is_unknown(&line.answer(watch).await), "the core asks for what it has missed");
        // Harmless requests are repeated: renewals, reads, watches.
        let (_, alive) = line.ask(Op::KeepAlive { lease }).await;
        assert_eq!(alive, Reply::Alive { ttl: Some(60) });
        assert!(found(line.ask(then(vec![read("f/a")])).await.1).is_some());
        let watch = line.watch(Keys::One("f/b".into()), 0).await;
        line.ask(then(vec![put("f/b", "", lease)])).await;
        assert!(matches!(line.answer(watch).await.reply, Reply::Changed(_)));
        let next = line.connected().unwrap();
        assert!(next != first && endpoints[1..].contains(&next), "{next} after {first}");
    });
}

/// If the wire asked the endpoints one by one, each silent endpoint would take the whole time of
/// the call.
#[test]
fn endpoints_are_asked_side_by_side() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let silent = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let url = |one: &TcpListener| format!("http://{}", one.local_addr().unwrap());
    let mut endpoints: Vec<_> = silent.iter().map(url).collect();
    endpoints.extend(cluster.endpoints());
    let mut options = Options::clone(&options(&endpoints));
    options.connect_within = PATIENCE;
    run(async {
        let mut line = Line::new(options.check().unwrap());
        assert!(found(line.ask(then(vec![read("n")])).await.1).is_none());
        assert_eq!(line.connected(), endpoints.last().cloned());
    });
}

/// The silent connection carries only a watch, so only pings notice the silence.
#[test]
fn silent_connection_is_noticed() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let mut line = Line::new(all(&cluster));
        let watch = line.watch(Keys::One("p".into()), 0).await;
        // Pings come after 6 s, and etcd must tolerate them.
        assert!(line.is_silent(Duration::from_secs(13)).await);
        cluster.member(0).stop().unwrap();
        let answer = line.answer(watch).await;
        assert!(is_unknown(&answer), "{answer}");
    });
}

/// No server is there at first, and one comes later.
#[test]
fn first_server_comes_late() {
    let cluster = Cluster::start(Version::Oldest, 1).unwrap();
    cluster.member(0).terminate().unwrap();
    run(async {
        let mut line = Line::new(all(&cluster));
        let answer = line.ask_within(WITHIN, create("n", "", LeaseId(0))).await;
        assert!(is_unknown(&answer), "{answer}");
        let watch = Op::Watch { keys: Keys::One("n".into()), from: 0, deletions: false };
        let watch = line.send(PATIENCE, watch);
        let told = soon(async {
            loop {
                if let Incoming::Link(Notice::Unreachable { why, .. }) = line.wire.next().await {
                    break why;
                }
            }
        });
        let told = told.await;
        assert!(told.contains("cannot be reached"), "{told}");
        cluster.member(0).restart().unwrap();
        assert_eq!(line.answer(watch).await.reply, Reply::Watching);
        assert!(found(line.ask(then(vec![read("n")])).await.1).is_none());
    });
}

/// Attempts to connect end with the requests that wanted them.
#[test]
fn attempts_end_with_their_requests() {
    run(async {
        let mut line = Line::new(options(&["http://127.0.0.1:9".to_owned()]));
        let watch = Op::Watch { keys: Keys::One("n".into()), from: 0, deletions: false };
        let calls = [then(vec![read("n")]), Op::KeepAlive { lease: LeaseId(1) }, watch]
            .map(|op| line.send(WITHIN, op));
        for call in calls {
            let answer = line.answer(call).await;
            assert!(is_unknown(&answer), "{answer}");
        }
        // Answers under way may still arrive.
        let under_way = Duration::from_secs(4);
        soon(async { while tokio::time::timeout(under_way, line.wire.next()).await.is_ok() {} })
            .await;
        let more = tokio::time::timeout(Duration::from_secs(4), line.wire.next()).await;
        assert!(more.is_err(), "{more:?}");
    });
}

//! Tokens that expire, and passwords that change.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use etcd_client::{Client, ConnectOptions};
use tenure::{AtMostOne, CampaignError, Leadership, Loss};
use tenure_core::etcd::{CallId, Change, Keys, LeaseId, Op, Refusal, Reply};
use tenure_etcd::wire::Incoming;
use tenure_etcd::{Node, Notice, Options, OwnEvent};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};
use tokio::sync::broadcast::Receiver;

use crate::common::{Line, PATIENCE, create, is_late, node, put, read, run, seen, soon, then};
use crate::{PASSWORD, user, with_signed_tokens, with_users};

tenure_services::on_each_version!(expired_tokens);

/// An unused token lasts a second; etcd checks once a second.
fn expired_tokens(version: Version) {
    let config = ClusterConfig::new(version, 1).argument("--auth-token-ttl=1");
    let cluster = with_users(config);
    let lease = LeaseId(1);
    run(async {
        let mut line = Line::new(user(&cluster, "poor", PASSWORD));
        line.ask(Op::Grant { lease, ttl: 60 }).await;
        line.ask(create("poor/a", "", lease)).await;
        line.ask(Op::KeepAlive { lease }).await;
        let first = line.watch(Keys::One("poor/a".into()), 0).await;
        let expired = Duration::from_secs(3);
        assert!(line.is_silent(expired).await);
        // Each kind of request notices that its token has expired, logs in again, and is carried
        // out.
        let (_, done) = line.ask(then(vec![put("poor/b", "", lease)])).await;
        assert_eq!(done, Reply::Txn { succeeded: true, found: vec![] });
        assert!(line.is_silent(expired).await);
        let second = line.watch(Keys::One("poor/b".into()), 0).await;
        assert!(line.is_silent(expired).await);
        let (_, alive) = line.ask(Op::KeepAlive { lease }).await;
        assert_eq!(alive, Reply::Alive { ttl: Some(60) });
        // Open watches go on, although their tokens have expired.
        line.ask(then(vec![put("poor/a", "", lease), put("poor/b", "", lease)])).await;
        for watch in [first, second] {
            let told = line.answer(watch).await.reply;
            assert!(matches!(told, Reply::Changed(_)), "{told}");
        }
        assert!(!line.was_disconnected());
        // A new login does not help where the right is missing.
        let denied = line.reply(then(vec![read("rich")])).await;
        assert!(matches!(denied, Reply::Refused(Refusal::Denied { .. })), "{denied}");
        let watch = Op::Watch { keys: Keys::One("rich".into()), from: 0, deletions: false };
        let call = line.send(PATIENCE, watch);
        let denied = line.answer(call).await.reply;
        assert!(matches!(denied, Reply::Refused(Refusal::Denied { .. })), "{denied}");
    });
}

tenure_services::on_each_version!(more_logins_than_streams);

/// Each watch is opened with another login, and all report every change, once. The number of their
/// streams is bounded. A watch without events for too long reports that it cannot go on.
fn more_logins_than_streams(version: Version) {
    const WATCHES: usize = 12;
    let (cluster, _folder) = with_signed_tokens(version, "");
    let lease = LeaseId(1);
    let key = |nth: usize| format!("poor/{nth}");
    run(async {
        let mut line = Line::new(user(&cluster, "poor", PASSWORD));
        line.ask(Op::Grant { lease, ttl: 600 }).await;
        let idle = line.watch(Keys::One("poor/idle".into()), 0).await;
        let mut watches: Vec<(CallId, Vec<u64>)> = Vec::new();
        for nth in 0..WATCHES {
            let call = line.watch(Keys::One(key(nth).as_str().into()), 0).await;
            watches.push((call, Vec::new()));
            // A new user makes etcd refuse all earlier tokens.
            cluster.etcdctl(&["user", "add", &format!("user-{nth}:{PASSWORD}")]).unwrap();
            for (nth, (_, written)) in watches.iter_mut().enumerate() {
                let (header, _) = line.ask(then(vec![put(&key(nth), "", lease)])).await;
                written.push(header.revision);
            }
            if nth == 1 {
                let newest = watches[0].1[1].to_string();
                cluster.etcdctl(&["compact", &newest]).unwrap();
            }
        }
        let ended = line.answer(idle).await.reply;
        assert!(matches!(ended, Reply::Compacted { .. }), "{ended}");
        for (call, written) in watches {
            let mut told = Vec::new();
            while told.len() < written.len() {
                match line.answer(call).await.reply {
                    Reply::Changed(changes) => told.extend(changes.iter().map(revision)),
                    other => panic!("{other} after {told:?} of {written:?}"),
                }
            }
            assert_eq!(told, written);
        }
        assert!(line.is_silent(Duration::from_millis(200)).await);
        assert!(!line.was_disconnected());
        assert!(logins(&line) >= WATCHES - 1, "{} logins", logins(&line));
        // Streams that were given up end on their own.
        soon(async {
            while !(1..=4).contains(&streams(&cluster)) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    });
}

fn revision(change: &Change) -> u64 {
    match change {
        Change::Put(stored) => stored.modified,
        other => panic!("{other:?}"),
    }
}

fn logins(line: &Line) -> usize {
    line.incoming()
        .filter(|incoming| matches!(incoming, Incoming::Link(Notice::LoggedIn { .. })))
        .count()
}

/// Logins that came in time.
fn ahead(line: &Line) -> usize {
    line.incoming()
        .filter(|incoming| matches!(incoming, Incoming::Link(Notice::LoggedIn { why: None, .. })))
        .count()
}

/// Connections that were given up.
fn closed(line: &Line) -> usize {
    line.incoming()
        .filter(|incoming| matches!(incoming, Incoming::Link(Notice::Disconnected { .. })))
        .count()
}

/// The open streams of watches, by etcd's own count.
fn streams(cluster: &Cluster) -> u64 {
    let endpoint = cluster.member(0).endpoint().trim_start_matches("http://");
    let mut stream = TcpStream::connect(endpoint).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    let ours = |line: &&str| line.starts_with("etcd_debugging_mvcc_watch_stream_total ");
    let line = metrics.lines().find(ours).unwrap();
    line.split_whitespace().next_back().unwrap().parse().unwrap()
}

/// Notices of a node: logins before the token ended (`ahead`), logins after etcd refused the token
/// (`behind`), and all others.
#[derive(Default, Debug)]
struct NoticeCounts {
    ahead: usize,
    behind: usize,
    /// Requests that took too long, as on a busy machine.
    late: usize,
    trouble: Vec<String>,
}

impl NoticeCounts {
    fn take(&mut self, notices: &mut Receiver<Notice>) {
        while let Ok(notice) = notices.try_recv() {
            match notice {
                Notice::LoggedIn { why: None, .. } => self.ahead += 1,
                Notice::LoggedIn { why: Some(_), .. } => self.behind += 1,
                Notice::Connected { .. }
                | Notice::EarlyRevocation { .. }
                | Notice::Protocol { event: OwnEvent::Opened { .. }, .. } => {}
                other if is_late(&other) => self.late += 1,
                other => self.trouble.push(other.to_string()),
            }
        }
    }
}

async fn watches(node: &Node) -> u64 {
    node.counters().await.unwrap().requests.get("watch").copied().unwrap_or_default()
}

tenure_services::on_each_version!(unused_tokens_expire, signed_tokens_are_made_anew_in_time);

fn unused_tokens_expire(version: Version) {
    let config = ClusterConfig::new(version, 1).argument("--auth-token-ttl=1");
    outlived(&with_users(config), |told| told.behind >= 3);
}

/// A login comes in time if the machine never stands still for half of the token's time.
fn signed_tokens_are_made_anew_in_time(version: Version) {
    let (cluster, _folder) = with_signed_tokens(version, ",ttl=20s");
    outlived(&cluster, |told| told.ahead >= 2 && told.behind == 0);
}

/// The former login serves until a new one succeeds, and no connection is closed.
#[test]
fn failed_early_login_is_repeated() {
    let (cluster, _folder) = with_signed_tokens(Version::Newest, ",ttl=30s");
    let mut options = Options::clone(&user(&cluster, "poor", PASSWORD));
    options.connect_within = Duration::from_secs(1);
    run(async {
        let mut line = Line::new(options.check().unwrap());
        // On a busy machine the early login may fail until the token has ended, and come too late.
        while !is_tried_again(&cluster, &mut line).await {}
    });
}

/// Whether a login ahead of the token's end failed, another succeeded before the token had ended,
/// and no connection was closed. On a busy machine any login may fail.
async fn is_tried_again(cluster: &Cluster, line: &mut Line) -> bool {
    line.ask(then(vec![read("poor/a")])).await;
    cluster.member(0).stop().unwrap();
    let failed = loop {
        match soon(line.wire.next()).await {
            Incoming::Link(Notice::NotLoggedIn { why, .. }) => break Some(why),
            Incoming::Link(Notice::Disconnected { .. }) => break None,
            Incoming::Link(_) => {}
            other => panic!("{other:?}"),
        }
    };
    cluster.member(0).cont().unwrap();
    let Some(why) = failed else { return false };
    assert!(why.contains("did not answer"), "{why}");
    let before = (logins(line), ahead(line), closed(line));
    while logins(line) == before.0 && closed(line) == before.2 {
        line.ask(then(vec![read("poor/a")])).await;
        assert!(line.is_silent(Duration::from_millis(100)).await);
    }
    line.ask(then(vec![read("poor/a")])).await;
    ahead(line) > before.1 && closed(line) == before.2
}

/// A leader, a candidate and an observer run until the first two have reported `enough` logins: an
/// observer asks seldom, so its login may end unused. No other notice comes, no lease is lost, and
/// no watch is asked for again.
fn outlived(cluster: &Cluster, enough: impl Fn(&NoticeCounts) -> bool) {
    run(async {
        let poor = user(cluster, "poor", PASSWORD);
        let nodes = [(); 3].map(|()| node(&poor, 20));
        let mut notices = nodes.each_ref().map(Node::notices);
        let elections = nodes.each_ref().map(|node| node.election("poor/e").unwrap());
        let leader = soon(elections[0].campaign("one")).await.unwrap();
        let mut waiting = Box::pin(elections[1].campaign("two"));
        let mut observer = elections[2].observe();
        let led = seen(&mut observer).await;
        assert_eq!(led.leader().unwrap().fence, Some(leader.fence()));
        let mut told: Vec<_> = notices.iter().map(|_| NoticeCounts::default()).collect();
        let mut open = None;
        while !told[..2].iter().all(&enough) {
            tokio::select! {
                renewed = soon(leader.renewed(leader.until())) => drop(renewed.unwrap()),
                won = &mut waiting => panic!("{won:?} beside the leader"),
                view = seen(&mut observer) => {
                    let fence = view.leader().and_then(|led| led.fence);
                    assert_eq!(fence, Some(leader.fence()), "a change without a change");
                }
            }
            let mut asked = [0; 3];
            for (nth, node) in nodes.iter().enumerate() {
                asked[nth] = watches(node).await;
                told[nth].take(&mut notices[nth]);
            }
            // All watches are open once a lease was renewed, and must not be asked for again.
            let as_before = *open.get_or_insert(asked) == asked;
            let late = told.iter().any(|told| told.late > 0);
            assert!(as_before || late, "watches were asked for again");
            assert!(told.iter().all(|told| told.trouble.is_empty()), "{told:?}");
        }
        leads_next(leader, waiting).await;
    });
}

/// The watch of the waiting candidate reports the leader's departure.
async fn leads_next(
    leader: Leadership<AtMostOne>,
    waiting: impl Future<Output = Result<Leadership<AtMostOne>, CampaignError>>,
) {
    soon(leader.resign()).await;
    let next = soon(waiting).await.unwrap();
    assert!(next.is_current() && next.fence() > leader.fence());
}

tenure_services::on_each_version!(another_password_is_told);

fn another_password_is_told(version: Version) {
    another_password(version, "");
}

/// The failed login shows long before the token ends.
#[test]
fn wrong_password_shows_with_signed_tokens() {
    another_password(Version::Newest, ",ttl=600s");
}

/// etcd refuses the configured login from now on: a notice has etcd's text.
fn another_password(version: Version, signed: &str) {
    let (cluster, _folder) = match signed {
        "" => (with_users(ClusterConfig::new(version, 1)), tempfile::tempdir().unwrap()),
        more => with_signed_tokens(version, more),
    };
    let failed = "etcdserver: authentication failed, invalid user ID or password";
    run(async {
        let node = node(&user(&cluster, "poor", PASSWORD), 20);
        let mut notices = node.notices();
        let election = node.election("poor/e").unwrap();
        let leader = soon(election.campaign("us")).await.unwrap();
        let root = ConnectOptions::new().with_user("root", PASSWORD);
        let mut root = Client::connect([cluster.member(0).endpoint()], Some(root)).await.unwrap();
        root.user_change_password("poor", "another").await.unwrap();
        assert_eq!(soon(leader.lost()).await, Loss::Expired);
        let mut told = Vec::new();
        while let Ok(notice) = notices.try_recv() {
            told.push(notice.to_string());
        }
        let endpoint = &cluster.endpoints()[0];
        let expected = format!("{endpoint} does not accept the login: {failed}");
        assert!(told.contains(&expected), "{told:#?}");
        let refused = soon(election.campaign("us")).await;
        let why = format!("etcd refuses the request: {failed}");
        assert_eq!(refused.map(drop), Err(CampaignError::Refused { why }));
    });
}

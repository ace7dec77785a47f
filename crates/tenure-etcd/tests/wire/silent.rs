//! A member that still has its connections and answers pings, but opens no watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tenure::clock;
use tenure_core::etcd::{Keys, Op, Reply};
use tenure_services::etcd::{Cluster, Version};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::common::frames::{Frame, Frames, PREFACE};
use crate::common::{Line, PATIENCE, options, read, run, soon, then};

/// On a busy machine a watch opens in that time, too.
const WITHIN: Duration = Duration::from_secs(4);

/// What does not come back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Lost {
    Nothing,
    /// Whatever is told on streams on which the client may still ask for something: watches.
    Streams,
    /// The answers to all calls.
    Calls,
}

/// In front of the first member; what it loses can be changed at any time.
struct Way {
    url: String,
    lost: Arc<AtomicU8>,
    task: tokio::task::JoinHandle<()>,
}

impl Way {
    async fn start(cluster: &Cluster) -> Self {
        let server = cluster.member(0).endpoint().trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let lost = Arc::new(AtomicU8::new(Lost::Nothing as u8));
        let loses = lost.clone();
        let task = tokio::spawn(async move {
            // Connections end with this.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                connections.spawn(carry(client, server, loses.clone()));
            }
        });
        Self { url, lost, task }
    }

    fn loses(&self, lost: Lost) {
        self.lost.store(lost as u8, Ordering::Relaxed);
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Until one side closes it. Pings and the like belong to no stream, and always pass.
async fn carry(client: TcpStream, server: TcpStream, lost: Arc<AtomicU8>) {
    let (from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut asked = Frames::new(from_client, PREFACE);
    let mut told = Frames::new(from_server, 0);
    let mut ended = std::collections::BTreeSet::new();
    loop {
        let passed = tokio::select! {
            frame = asked.next() => {
                let Some(frame) = frame else { return };
                if frame.ends_stream() {
                    ended.insert(frame.stream());
                }
                to_server.write_all(&frame.0).await
            }
            frame = told.next() => {
                let Some(frame) = frame else { return };
                let lost = lost.load(Ordering::Relaxed);
                if is_lost(&frame, lost, ended.contains(&frame.stream())) {
                    continue;
                }
                to_client.write_all(&frame.0).await
            }
        };
        if passed.is_err() {
            return;
        }
    }
}

fn is_lost(frame: &Frame, lost: u8, is_unary: bool) -> bool {
    let is_call = frame.stream() > 0;
    (is_call && lost == Lost::Calls as u8) || (is_call && !is_unary && lost == Lost::Streams as u8)
}

fn watch(key: &str) -> Op {
    Op::Watch { keys: Keys::One(key.into()), from: 0, deletions: false }
}

/// With the silent member's endpoint in use, and another one, which is faster on a busy machine.
async fn line(cluster: &Cluster, way: &Way) -> Line {
    let endpoints = [way.url.clone(), cluster.member(0).endpoint().to_owned()];
    loop {
        let mut line = Line::new(options(&endpoints));
        line.ask(then(vec![read("s")])).await;
        if line.connected().is_some_and(|url| url.starts_with(&way.url)) {
            return line;
        }
    }
}

/// Asks as the core does, which gives a watch up just before the wire sees the end of its time.
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

/// The stream is not open yet when other requests find out that the line is silent.
#[test]
fn the_stream_is_opened_elsewhere_when_its_line_is_given_up() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Way::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        way.loses(Lost::Calls);
        let watch = line.send(PATIENCE, watch("s/a"));
        let answer = line.ask_within(WITHIN, then(vec![read("s")])).await;
        assert!(matches!(answer.reply, Reply::Unknown { .. }), "{answer}");
        assert_eq!(line.answer(watch).await.reply, Reply::Watching);
    });
}

/// Nothing but watches is asked for, so only they find out.
#[test]
fn a_silent_member_is_left_for_its_watches() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Way::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        way.loses(Lost::Calls);
        opens_in_the_end(&mut line, false).await;
    });
}

/// All other requests are answered, so the line is good for them.
#[test]
fn a_member_that_opens_no_stream_is_left_in_the_end() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Way::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        way.loses(Lost::Streams);
        opens_in_the_end(&mut line, true).await;
    });
}

/// The stream was open before it became silent.
#[test]
fn a_stream_that_falls_silent_is_left_in_the_end() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Way::start(&cluster).await;
        let mut line = line(&cluster, &way).await;
        let open = line.watch(Keys::One("s/a".into()), 0).await;
        way.loses(Lost::Streams);
        opens_in_the_end(&mut line, true).await;
        let ended = line.answer(open).await;
        assert!(matches!(ended.reply, Reply::Unknown { .. }), "it has another line now: {ended}");
    });
}

//! A proxy between a driver and a server, which loses an answer, holds a request back, or loses or
//! delays all messages on some streams.
//!
//! The proxy knows only the frames of HTTP/2: each call opens a stream with a higher number than
//! all earlier ones, and the frames of an answer carry the number of the call's stream. Any answer
//! shows that the request was carried out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_etcd::CheckedOptions;
use tenure_services::etcd::Cluster;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::frames::{DATA, Frame, Frames, HEADERS, PREFACE};
use super::{options, soon};

struct Trap {
    what: CallPart,
    calls: u32,
    caught: oneshot::Sender<Catch>,
}

/// The part of a call that the proxy keeps back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallPart {
    /// An answer shows that the request was carried out.
    Answer,
    Request,
}

/// A connection that passes nothing on after the caught message, in either direction. The
/// connection stays open until this value is dropped or used.
pub(crate) struct Catch {
    verdict: oneshot::Sender<Verdict>,
}

enum Verdict {
    Cut,
    Deliver,
}

impl Catch {
    pub(crate) fn cut(self) {
        // The send fails if the connection was closed already; ignore it.
        let _ = self.verdict.send(Verdict::Cut);
    }

    /// Sends the held request on to the server, and nothing else.
    pub(crate) fn deliver(self) {
        assert!(self.verdict.send(Verdict::Deliver).is_ok());
    }
}

/// Which answers are lost, until the test sets another loss.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    Nothing,
    /// Events of streams on which the client may still send requests: watches.
    Streams,
    /// Events as in [`Streams`](Self::Streams), but only delayed: they come with the client's first
    /// message after the test sets another loss.
    Late,
    /// The answers to all calls.
    Calls,
}

struct Rules {
    trap: Option<Trap>,
    lost: Lost,
    /// Number of answers that were kept back.
    late: usize,
}

/// The proxy, until it is dropped. Must be used in one runtime.
pub(crate) struct Proxy {
    pub(crate) url: String,
    rules: Arc<Mutex<Rules>>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(cluster: &Cluster) -> Self {
        let server = cluster.member(0).endpoint().trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let rules = Arc::new(Mutex::new(Rules { trap: None, lost: Lost::Nothing, late: 0 }));
        let its = Arc::clone(&rules);
        let task = tokio::spawn(async move {
            // Connections end with the proxy.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                connections.spawn(Connection::new(client, server, its.clone()).carry());
            }
        });
        Self { url, rules, task }
    }

    pub(crate) fn options(&self) -> CheckedOptions {
        options(std::slice::from_ref(&self.url))
    }

    pub(crate) fn loses(&self, lost: Lost) {
        self.rules.lock().unwrap().lost = lost;
    }

    /// Waits until an answer is kept back.
    pub(crate) async fn has_late_answer(&self) {
        soon(async {
            while self.rules.lock().unwrap().late == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }

    /// Catches the message of the `nth` call that follows.
    pub(crate) fn trap(&self, what: CallPart, nth: u32) -> impl Future<Output = Catch> + use<> {
        let (caught, comes) = oneshot::channel();
        let trap = Trap { what, calls: nth, caught };
        let before = self.rules.lock().unwrap().trap.replace(trap);
        assert!(before.is_none(), "one thing at a time");
        async { soon(comes).await.unwrap() }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Connection {
    from_client: Frames,
    from_server: Frames,
    to_client: tokio::net::tcp::OwnedWriteHalf,
    to_server: tokio::net::tcp::OwnedWriteHalf,
    rules: Arc<Mutex<Rules>>,
    opened: u32,
    /// Streams on which the client sends no more requests.
    asked: BTreeSet<u32>,
    /// Messages that are late, in their order.
    late: Vec<Frame>,
    /// The stream whose answer is to be lost, and the channel for the caught connection.
    losing: Option<(u32, oneshot::Sender<Catch>)>,
}

impl Connection {
    fn new(client: TcpStream, server: TcpStream, rules: Arc<Mutex<Rules>>) -> Self {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        Self {
            from_client: Frames::new(from_client, PREFACE),
            from_server: Frames::new(from_server, 0),
            to_client,
            to_server,
            rules,
            opened: 0,
            asked: BTreeSet::new(),
            late: Vec::new(),
            losing: None,
        }
    }

    /// Carries bytes until one side closes the connection, or a message is caught.
    async fn carry(mut self) {
        loop {
            let passed = tokio::select! {
                frame = self.from_client.next() => match frame {
                    Some(frame) => self.on_client(frame).await,
                    None => return,
                },
                frame = self.from_server.next() => match frame {
                    Some(frame) => self.on_server(frame).await,
                    None => return,
                },
            };
            if !passed {
                return;
            }
        }
    }

    /// Handles a frame of the client. Returns whether the connection goes on.
    async fn on_client(&mut self, frame: Frame) -> bool {
        if frame.kind() == Some(HEADERS) && frame.stream() > self.opened {
            self.opened = frame.stream();
            if let Some(Trap { what, caught, .. }) = self.spring() {
                if what == CallPart::Request {
                    self.hold(frame, caught).await;
                    return false;
                }
                self.losing = Some((self.opened, caught));
            }
        }
        if frame.ends_stream() {
            self.asked.insert(frame.stream());
        }
        let passed = self.to_server.write_all(&frame.0).await.is_ok();
        let asks = matches!(frame.kind(), Some(DATA | HEADERS));
        passed && (!asks || self.tell_late().await)
    }

    /// Passes on all delayed messages, before the answer to the client's last message.
    async fn tell_late(&mut self) -> bool {
        if self.rules.lock().unwrap().lost == Lost::Late {
            return true;
        }
        for frame in std::mem::take(&mut self.late) {
            if self.to_client.write_all(&frame.0).await.is_err() {
                return false;
            }
        }
        true
    }

    async fn on_server(&mut self, frame: Frame) -> bool {
        if self.losing.as_ref().is_some_and(|(stream, _)| frame.stream() == *stream) {
            let (_, caught) = self.losing.take().unwrap();
            self.wait(caught).await;
            return false;
        }
        if self.is_lost(&frame) {
            self.keep_if_late(frame);
            return true;
        }
        self.to_client.write_all(&frame.0).await.is_ok()
    }

    fn keep_if_late(&mut self, frame: Frame) {
        let mut rules = self.rules.lock().unwrap();
        if rules.lost == Lost::Late {
            rules.late += usize::from(frame.kind() == Some(DATA));
            self.late.push(frame);
        }
    }

    /// Whether a frame is lost. Pings and the like belong to no stream, and always pass.
    fn is_lost(&self, frame: &Frame) -> bool {
        let is_lost = match self.rules.lock().unwrap().lost {
            Lost::Nothing => false,
            Lost::Streams | Lost::Late => !self.asked.contains(&frame.stream()),
            Lost::Calls => true,
        };
        is_lost && frame.stream() > 0
    }

    /// Takes the trap if it waits for this call.
    fn spring(&self) -> Option<Trap> {
        let mut rules = self.rules.lock().unwrap();
        let set = rules.trap.as_mut()?;
        set.calls -= 1;
        if set.calls > 0 {
            return None;
        }
        rules.trap.take()
    }

    /// Keeps a complete request from the server.
    async fn hold(&mut self, first: Frame, caught: oneshot::Sender<Catch>) {
        let stream = first.stream();
        let mut held = vec![first];
        while !held.last().is_some_and(Frame::ends_stream) {
            let Some(frame) = self.from_client.next().await else { return };
            if frame.stream() == stream {
                held.push(frame);
            }
        }
        let Some(Verdict::Deliver) = self.wait(caught).await else { return };
        for frame in held {
            self.to_server.write_all(&frame.0).await.unwrap();
        }
        // The server's answer is read here and dropped.
        while self.from_server.next().await.is_some() {}
    }

    /// Swallows all messages until the test has decided, even when the client is gone.
    async fn wait(&mut self, caught: oneshot::Sender<Catch>) -> Option<Verdict> {
        let (verdict, mut decided) = oneshot::channel();
        caught.send(Catch { verdict }).ok()?;
        loop {
            tokio::select! {
                verdict = &mut decided => return verdict.ok(),
                Some(_) = self.from_client.next() => {}
                Some(_) = self.from_server.next() => {}
            }
        }
    }
}

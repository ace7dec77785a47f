//! Helpers of these tests.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use tenure::AtMostOne;
use tenure_voter::{Config, Founding, Listed, Node, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;

pub(crate) use tenure_testkit::handles::{PATIENCE, run, soon};

pub(crate) const ELECTION: &str = "billing";

/// Settings with a lease of 20 s, which no standstill of a busy machine ends.
pub(crate) fn config(id: &str, address: SocketAddr) -> Config {
    Config {
        tolerance: 19,
        request_timeout: Duration::from_millis(900),
        cast_timeout: Duration::from_millis(900),
        result_timeout: Duration::from_millis(900),
        spread: Duration::from_millis(200),
        ..Config::new(
            ELECTION.parse().unwrap(),
            id.parse().unwrap(),
            format!("http://{address}").parse().unwrap(),
        )
    }
}

pub(crate) fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(crate) struct Network {
    pub(crate) voters: Vec<Node<AtMostOne>>,
    pub(crate) addresses: Vec<SocketAddr>,
    directory: TempDir,
}

impl Network {
    pub(crate) fn start(number: usize) -> Self {
        Self::with(number, |options| options)
    }

    pub(crate) fn with(number: usize, change: impl Fn(Options) -> Options) -> Self {
        Self::of(number, |config| config, change)
    }

    pub(crate) fn of(
        number: usize,
        set: impl Fn(Config) -> Config,
        change: impl Fn(Options) -> Options,
    ) -> Self {
        let bound: Vec<_> = (0..number).map(|_| bind()).collect();
        let addresses: Vec<_> = bound.iter().map(|(_, address)| *address).collect();
        let id = |n: usize| char::from(b'a' + u8::try_from(n).unwrap()).to_string();
        let url = |address: &SocketAddr, options: &Options| {
            let scheme = if options.tls.is_some() { "https" } else { "http" };
            format!("{scheme}://{address}").parse().unwrap()
        };
        let directory = tempfile::tempdir().unwrap();
        let start = |(n, (listener, address)): (usize, (TcpListener, SocketAddr))| {
            let state = Some(directory.path().join(id(n)));
            let options = change(Options { state, ..Options::new(address) });
            let listed = |(n, address): (usize, &SocketAddr)| Listed {
                id: id(n).parse().unwrap(),
                url: url(address, &options),
            };
            let list = addresses.iter().enumerate().map(listed).collect();
            let config = Config {
                founding: Founding::List(list),
                url: url(&address, &options),
                ..config(&id(n), address)
            };
            let config = set(config).check().unwrap();
            let builder = Node::builder(config, options.check().unwrap());
            builder.listener(listener).start().unwrap()
        };
        let voters = bound.into_iter().enumerate().map(start).collect();
        Self { voters, addresses, directory }
    }

    pub(crate) fn state(&self, n: usize) -> PathBuf {
        let id = char::from(b'a' + u8::try_from(n).unwrap());
        self.directory.path().join(id.to_string())
    }
}

/// An address that passes bytes on to `to` after `delay`, and back. Works as long as the tasks are
/// kept.
pub(crate) async fn far(to: SocketAddr, delay: Duration) -> (JoinSet<()>, SocketAddr) {
    shared(vec![to], delay).await
}

/// As [`far`], with each connection to the next of all these addresses.
pub(crate) async fn shared(all: Vec<SocketAddr>, delay: Duration) -> (JoinSet<()>, SocketAddr) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        let mut turns = all.into_iter().cycle();
        while let (Ok((near, _)), Some(to)) = (listener.accept().await, turns.next()) {
            connections.spawn(async move {
                let Ok(far) = TcpStream::connect(to).await else { return };
                let ((a, b), (c, d)) = (near.into_split(), far.into_split());
                tokio::join!(later(a, d, delay), later(c, b, delay));
            });
        }
    });
    (tasks, address)
}

async fn later(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let mut bytes = [0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        tokio::time::sleep(delay).await;
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

/// Sends these bytes, and returns the answer: until it is complete, or the connection is closed.
pub(crate) async fn raw(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The connection may be closed before all bytes are written.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the answer to a request as `curl` sends it.
pub(crate) async fn curl(address: SocketAddr, line: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: voter\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    raw(address, request.as_bytes()).await
}

pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

//! NATS of both versions starts, answers, survives what tests do to it, and is gone. Logins and
//! certificates are shown by the tests of its driver.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use tenure_services::Error;
use tenure_services::nats::{Cluster, SERVICE, Version};

use common::gone;

fn pids(cluster: &Cluster) -> Vec<u32> {
    cluster.servers().filter_map(|server| server.pid()).collect()
}

/// Speaks just enough of NATS.
struct Client {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
    greeting: String,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap());
        let mut this = Self { stream, lines, greeting: String::new() };
        this.greeting = this.line();
        this.says("CONNECT {\"verbose\":false,\"protocol\":1}\r\n");
        this
    }

    fn says(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Until the server has taken in all that was said.
    fn settled(&mut self) {
        self.says("PING\r\n");
        while self.line() != "PONG" {}
    }

    /// The payload of the next message, or nothing if none comes for a moment.
    fn next(&mut self, within: Duration) -> Option<String> {
        self.stream.set_read_timeout(Some(within)).unwrap();
        loop {
            let mut line = String::new();
            self.lines.read_line(&mut line).ok()?;
            if line.starts_with("MSG ") {
                return Some(self.line());
            }
        }
    }
}

/// Whether a server hears what another publishes, within so many messages. Subscriptions take a
/// moment to be known everywhere.
fn is_heard(cluster: &Cluster, from: usize, to: usize, messages: u32) -> bool {
    let mut hears = Client::new(cluster.server(to).address());
    hears.says("SUB x 1\r\n");
    hears.settled();
    let mut says = Client::new(cluster.server(from).address());
    (0..messages).any(|_| {
        says.says("PUB x 2\r\nhi\r\n");
        says.settled();
        hears.next(Duration::from_millis(100)).as_deref() == Some("hi")
    })
}

/// The same within a minute.
fn passes(cluster: &Cluster, from: usize, to: usize) -> bool {
    is_heard(cluster, from, to, 600)
}

fn killed_and_started_again(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let before = pids(&cluster);
    let server = cluster.server(0);
    let greeting = Client::new(server.address()).greeting;
    let number = format!("\"version\":\"{}", SERVICE.number(version));
    assert!(greeting.starts_with("INFO {") && greeting.contains(&number), "{greeting}");
    assert!(passes(&cluster, 0, 0));
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(matches!(server.wait_ready(), Err(Error::NotReady { .. })));
    server.restart().unwrap();
    server.wait_ready().unwrap();
    assert!(passes(&cluster, 0, 0));
    let folder = cluster.folder().to_path_buf();
    let after = pids(&cluster);
    assert_ne!(after, before);
    server.stop().unwrap();
    drop(cluster);
    assert!(gone(&folder, &[before, after].concat()));
}

/// Servers tell each other of a third: a cut that they find a way around is none.
fn routes_that_are_cut_stay_cut(version: Version) {
    let cluster = Cluster::start(version, 3).unwrap();
    assert!(passes(&cluster, 0, 1) && passes(&cluster, 1, 2));
    cluster.cut(0, 1);
    for server in [0, 1] {
        cluster.server(server).wait_routes(1).unwrap();
    }
    // Long enough for several attempts to come together again.
    thread::sleep(Duration::from_secs(3));
    let routes = || cluster.servers().map(|server| server.routes().unwrap()).collect::<Vec<_>>();
    assert_eq!(routes(), [1, 1, 2]);
    assert!(!is_heard(&cluster, 0, 1, 20));
    assert!(passes(&cluster, 0, 2) && passes(&cluster, 2, 1));
    cluster.isolate(0);
    cluster.server(0).wait_routes(0).unwrap();
    cluster.heal();
    cluster.wait_ready().unwrap();
    assert!(passes(&cluster, 0, 1));
}

tenure_services::on_each_version!(killed_and_started_again, routes_that_are_cut_stay_cut);

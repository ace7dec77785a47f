//! Servers of both versions: they start, pass messages on, survive what tests do to them, and are
//! gone.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tenure_services::Error;
use tenure_services::nats::{Cluster, ClusterConfig, Tls, Version, install};

/// Nothing of a cluster is left: neither its folder nor its processes.
fn gone(folder: &Path, pids: &[u32]) -> bool {
    let running = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy())
    };
    !folder.exists() && !pids.iter().any(running)
}

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

/// Whether what is published at one server is heard at another, of so many messages. That somebody
/// listens takes a moment to be known everywhere.
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

fn says_what_it_is(version: Version) {
    let server = Cluster::start(version, 1).unwrap();
    let greeting = Client::new(server.server(0).address()).greeting;
    let number = format!("\"version\":\"{}", version.number());
    assert!(greeting.starts_with("INFO {") && greeting.contains(&number), "{greeting}");
    assert_eq!(install(version).unwrap(), install(version).unwrap());
    assert!(passes(&server, 0, 0));
}

fn killed_and_started_again(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let before = pids(&cluster);
    let server = cluster.server(0);
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(matches!(server.wait_ready(), Err(Error::NotReady { .. })));
    server.restart().unwrap();
    server.wait_ready().unwrap();
    assert!(passes(&cluster, 0, 0));
    let (folder, after) = (cluster.folder().to_path_buf(), pids(&cluster));
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

/// A client that is connected hears of it at once.
fn a_lame_duck_says_so(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let mut client = Client::new(cluster.server(0).address());
    client.settled();
    cluster.server(0).lame_duck().unwrap();
    let mut line = client.line();
    while !line.is_empty() && !line.contains("\"ldm\":true") {
        line = client.line();
    }
    assert!(line.starts_with("INFO "), "it closed without saying so");
}

fn with_tls_and_logins(version: Version) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(path("server.pem"), certificate.pem()).unwrap();
    fs::write(path("server.key"), key.serialize_pem()).unwrap();
    fs::write(path("ca.pem"), authority.pem()).unwrap();
    let tls = Tls {
        certificate: path("server.pem"),
        key: path("server.key"),
        clients: Some(path("ca.pem")),
        first: false,
    };
    let logins = "authorization { users: [ { user: ann, password: secret } ] }";
    let cluster = ClusterConfig::new(version, 1).tls(tls).settings(logins).start().unwrap();
    assert!(cluster.urls()[0].starts_with("tls://"));
    let greeting = Client::new(cluster.server(0).address()).greeting;
    for sign in ["\"tls_required\":true", "\"tls_verify\":true", "\"auth_required\":true"] {
        assert!(greeting.contains(sign), "{greeting}");
    }
}

fn a_wrong_setting_is_told(version: Version) {
    let error = ClusterConfig::new(version, 1).settings("no_such_setting: 1").start().unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}

tenure_services::on_each_nats!(
    says_what_it_is,
    killed_and_started_again,
    routes_that_are_cut_stay_cut,
    a_lame_duck_says_so,
    with_tls_and_logins,
    a_wrong_setting_is_told
);

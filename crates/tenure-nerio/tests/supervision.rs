//! Supervised release: a supervisor, and real processes that it watches. The other process is this
//! test binary again: it runs only [`as_child`], in the part that `TENURE_WATCHED_TEST` names.
#![allow(clippy::unwrap_used, reason = "the helpers of a test are a test")]
#![allow(clippy::print_stdout, reason = "a child tells its parent how far it is")]

use std::env;
use std::io::{BufRead, BufReader, Read, stdin};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType};
use tempfile::TempDir;
use tenure::clock;
use tenure_core::Time;
use tenure_core::nerio::{Inc, Who};
use tenure_nerio::Notice;
use tenure_nerio::supervision::{Supervisor, SupervisorAt, Watched};
use tokio::sync::broadcast::{Sender, channel};

const PART: &str = "TENURE_WATCHED_TEST";
const SOCKET: &str = "TENURE_WATCHED_TEST_SOCKET";
/// Longer than a supervisor needs on any usable machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any test.
const LEASE: Duration = Duration::from_secs(600);
const PROMISE: Duration = Duration::from_secs(2);

fn who(inc: u128) -> Who {
    Who { name: "one".parse().unwrap(), inc: Inc(inc) }
}

fn watched(socket: &Path, inc: u128) -> Arc<Watched> {
    let at = SupervisorAt { name: "a".parse().unwrap(), socket: socket.to_owned() };
    Watched::begin(at, who(inc), Sender::new(16)).unwrap()
}

fn until_watched(watched: &Watched) {
    until(|| watched.is_watched());
}

fn until(seen: impl Fn() -> bool) {
    let give_up = clock::now().after(PATIENCE);
    while !seen() {
        assert!(clock::now() < give_up, "not seen in time");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The supervisor a, and its reports with their times.
struct Stage {
    folder: TempDir,
    supervisor: Option<Supervisor>,
    reports: Receiver<(Who, Time)>,
    probes: u128,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (supervisor, reports) = Self::serve(&folder.path().join("a"));
        Self { folder, supervisor: Some(supervisor), reports, probes: 1_000 }
    }

    fn serve(socket: &Path) -> (Supervisor, Receiver<(Who, Time)>) {
        let (said, reports) = mpsc::channel();
        let report = move |who| said.send((who, clock::now())).is_ok();
        let name = "a".parse().unwrap();
        let pause = Duration::from_millis(1);
        let supervisor = Supervisor::begin(socket, name, LEASE, pause, Box::new(report)).unwrap();
        (supervisor, reports)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("a")
    }

    /// Starts a process that plays this part, and waits until it has said that it is watched.
    fn process(&self, part: &str) -> Process {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["as_child", "--exact", "--nocapture"]);
        command.env(PART, part).env(SOCKET, self.socket());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut process = Process { child, said };
        process.hears("watched");
        process
    }

    /// The time of the next report, which names this incarnation.
    fn report(&self, inc: u128) -> Time {
        let (gone, at) = self.reports.recv_timeout(PATIENCE).expect("a report");
        assert_eq!(gone, who(inc));
        at
    }

    /// Asserts that no report of this incarnation comes. The supervisor handles another process,
    /// which came later, so it has handled everything before.
    fn is_silent(&mut self, inc: u128) {
        for _ in 0..2 {
            self.probes += 1;
            until_watched(&watched(&self.socket(), self.probes));
        }
        while let Ok((gone, _)) = self.reports.try_recv() {
            assert_ne!(gone, who(inc), "reported too early");
        }
    }
}

struct Process {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Process {
    /// The rest of the line that begins with `> what`.
    fn hears(&mut self, what: &str) -> String {
        let start = format!("> {what}");
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "no {what}");
            if let Some((_, rest)) = line.split_once(&start) {
                return rest.trim().to_owned();
            }
        }
    }

    fn go_on(&mut self) {
        use std::io::Write;
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Not a test: the parts of the other processes. A part lives until its standard input ends, or
/// until it is killed.
#[test]
fn as_child() {
    let Ok(part) = env::var(PART) else { return };
    let socket = PathBuf::from(env::var_os(SOCKET).unwrap());
    let watched = watched(&socket, 1);
    until_watched(&watched);
    println!("> watched");
    match &*part {
        "promises" => {
            let until = clock::now().after(PROMISE);
            watched.promise(until).unwrap();
            watched.promise(clock::now()).unwrap();
            println!("> until {}", until.as_nanos());
        }
        "works" => {
            let (_, packet) = watched.begins().unwrap().last_word().unwrap();
            println!("> word {}", String::from_utf8_lossy(&hex(&packet)));
            until(|| !watched.is_watched());
            until(|| watched.is_watched());
            println!("> again");
        }
        "worked" => {
            watched.begins().unwrap().over();
            println!("> over");
        }
        "becomes" => {
            stdin().read_exact(&mut [0]).unwrap();
            // Executes another program, which closes sockets and page. The process lives on.
            panic!("{}", Command::new("cat").exec());
        }
        _ => {}
    }
    stdin().read_to_end(&mut Vec::new()).ok();
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// The guard of a work says its last word.
fn say(socket: &Path, packet: &[u8]) {
    let guard = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    rustix::net::connect(&guard, &SocketAddrUnix::new(socket).unwrap()).unwrap();
    rustix::net::send(&guard, packet, SendFlags::NOSIGNAL).unwrap();
}

#[test]
fn end_of_process_is_reported() {
    let stage = Stage::new();
    let mut process = stage.process("lives");
    assert_eq!(stage.reports.try_recv().ok(), None);
    process.kill();
    stage.report(1);
}

/// A process executes another program. Its sockets are closed, but the process has not ended.
#[test]
fn end_of_socket_proves_nothing() {
    let mut stage = Stage::new();
    let mut process = stage.process("becomes");
    process.go_on();
    let name = format!("/proc/{}/comm", process.child.id());
    until(|| std::fs::read_to_string(&name).unwrap().trim() == "cat");
    stage.is_silent(1);
    process.kill();
    stage.report(1);
}

#[test]
fn report_waits_for_promise() {
    let stage = Stage::new();
    let mut process = stage.process("promises");
    let until = Time::from_nanos(process.hears("until").parse().unwrap());
    process.kill();
    assert!(stage.report(1) >= until, "others lead before the promise is over");
}

#[test]
fn report_waits_for_work() {
    let mut stage = Stage::new();
    let mut process = stage.process("works");
    let packet = unhex(&process.hears("word"));
    process.kill();
    stage.is_silent(1);
    // The guard of the work says that nothing is left.
    say(&stage.socket(), &packet);
    stage.report(1);
}

#[test]
fn work_that_is_over_delays_nothing() {
    let stage = Stage::new();
    let mut process = stage.process("worked");
    process.hears("over");
    process.kill();
    stage.report(1);
}

/// The supervisor starts later than the watched process, and ends earlier.
#[test]
fn missing_supervisor_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("a");
    let at = SupervisorAt { name: "a".parse().unwrap(), socket: socket.clone() };
    let (notices, mut heard) = channel(16);
    let watched = Watched::begin(at, who(1), notices).unwrap();
    let missing = |notice: Option<Notice>, why: &str| match notice {
        Some(Notice::Unwatched { why: told, .. }) => told.contains(why),
        _ => false,
    };
    until(|| missing(watched.trouble(), "No such file"));
    assert!(missing(heard.blocking_recv().ok(), "No such file"), "said at once");
    let (supervisor, _reports) = Stage::serve(&socket);
    until_watched(&watched);
    assert_eq!(watched.trouble(), None);
    assert!(matches!(heard.blocking_recv(), Ok(Notice::Watched { .. })));
    drop(supervisor);
    until(|| !watched.is_watched());
    assert!(missing(heard.blocking_recv().ok(), "the watch has ended"));
    until(|| watched.trouble().is_some());
}

/// While a work runs, the supervisor starts again. The new supervisor learns of the process and of
/// the work.
#[test]
fn new_supervisor_knows_old_work() {
    let mut stage = Stage::new();
    let mut process = stage.process("works");
    let packet = unhex(&process.hears("word"));
    let socket = stage.socket();
    drop(stage.supervisor.take());
    let (supervisor, reports) = Stage::serve(&socket);
    (stage.supervisor, stage.reports) = (Some(supervisor), reports);
    process.hears("again");
    process.kill();
    stage.is_silent(1);
    say(&socket, &packet);
    stage.report(1);
}

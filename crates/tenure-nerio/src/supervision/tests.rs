//! Frames that break the rules.

use std::env;
use std::io::stdin;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tempfile::TempDir;
use tenure::driver::SharedTime;
use tenure::state::BootKey;
use tenure_core::Time;
use tenure_core::nerio::{Inc, Who};

use super::*;

/// Set in the process that answers for another.
const ANSWERS: &str = "TENURE_WATCHED_TEST_ANSWERS";
/// Longer than a supervisor needs on any usable machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The supervisor with the name a.
struct Stage {
    folder: TempDir,
    _supervisor: Supervisor,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let supervisor = begin(&folder.path().join("a")).unwrap();
        Self { folder, _supervisor: supervisor }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("a")
    }
}

fn begin(socket: &std::path::Path) -> std::io::Result<Supervisor> {
    let name = "a".parse().unwrap();
    Supervisor::begin(socket, name, PATIENCE, PATIENCE, Box::new(|_| true))
}

/// Not a test: a process whose standard input is a connection on which another process said hello.
#[test]
fn as_child() {
    if env::var_os(ANSWERS).is_none() {
        return;
    }
    let line = stdin().as_fd().try_clone_to_owned().unwrap();
    let Some(Answer::Nonce(nonce)) = line::receive(&line).unwrap() else { panic!() };
    line::send(&line, &Said::Nonce(nonce)).unwrap();
}

fn hello(boot: &str) -> Said {
    let who = Who { name: "one".parse().unwrap(), inc: Inc(1) };
    Said::Hello { version: VERSION, boot: boot.to_owned(), who }
}

fn connection(stage: &Stage, hello: &Said) -> OwnedFd {
    let line = line::dial(&stage.socket(), PATIENCE).unwrap();
    let page = SharedTime::create(Time::ZERO).unwrap();
    line::send_with(&line, hello, &[page.as_fd()]).unwrap();
    line
}

fn refusal(line: &OwnedFd) -> String {
    match line::receive(line).unwrap() {
        Some(Answer::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A process connects and says hello, and another process answers the nonce.
#[test]
fn another_process_answers_in_vain() {
    let stage = Stage::new();
    let line = connection(&stage, &hello(BootKey::current().unwrap().as_str()));
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["supervision::tests::as_child", "--exact"]).stdout(Stdio::null());
    command.env(ANSWERS, "1");
    let theirs = Stdio::from(line.try_clone().unwrap());
    assert!(command.stdin(theirs).status().unwrap().success());
    assert_eq!(refusal(&line), "the answer comes from another process than the connection");
}

#[test]
fn other_clock_is_refused() {
    let stage = Stage::new();
    let line = connection(&stage, &hello("another boot"));
    assert_eq!(refusal(&line), "its clock is of another boot or another time namespace");
}

/// A read of a pipe would never return.
#[test]
fn page_must_be_in_memory() {
    let stage = Stage::new();
    let line = line::dial(&stage.socket(), PATIENCE).unwrap();
    let (pipe, _writer) = std::io::pipe().unwrap();
    let hello = hello(BootKey::current().unwrap().as_str());
    line::send_with(&line, &hello, &[pipe.as_fd()]).unwrap();
    assert_eq!(refusal(&line), "no shared page of memory came");
}

#[test]
fn strange_packets_end_the_connection() {
    let stage = Stage::new();
    let line = line::dial(&stage.socket(), PATIENCE).unwrap();
    line::send(&line, &Said::Go).unwrap();
    assert!(refusal(&line).contains("at the wrong time"));
    let line = line::dial(&stage.socket(), PATIENCE).unwrap();
    rustix::net::send(&line, &[0xff; 900], rustix::net::SendFlags::NOSIGNAL).unwrap();
    assert_eq!(refusal(&line), "a packet is no frame");
}

#[test]
fn socket_of_living_supervisor_stays() {
    let stage = Stage::new();
    let second = begin(&stage.socket());
    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let line = connection(&stage, &hello("another boot"));
    assert!(refusal(&line).contains("another boot"));
}

/// A process ends before it has read that it is watched. Its last frames must not be lost, because
/// they may name a work that goes on.
#[test]
fn frames_behind_reset_are_read() {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    line::send(&ours, &Answer::Watching { by: "a".parse().unwrap() }).unwrap();
    for work in [1, 2] {
        line::send(&theirs, &Said::Begins(work)).unwrap();
    }
    drop(theirs);
    for work in [1, 2] {
        assert_eq!(line::receive(&ours).unwrap(), Some(Said::Begins(work)));
    }
    assert_eq!(line::receive::<Said>(&ours).unwrap(), None);
}

//! `examples/three_copies.rs` unchanged: three copies, killed, stopped and started again.
#![allow(clippy::unwrap_used, reason = "a test, though without #[test]")]
#![allow(clippy::print_stdout, reason = "a test that fails shows what was done")]

#[path = "../examples/three_copies.rs"]
mod example;

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};
use tenure_nerio::keys::ClusterKey;
use tenure_testkit::processes::{Members, wait};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn main() -> ExitCode {
    // This process was started as a copy of the example.
    if std::env::var_os("HTTP").is_some() {
        return match example::main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => panic!("{failure}"),
        };
    }
    let trial = || {
        somebody_leads_whoever_is_killed_or_stopped();
        Ok(())
    };
    let trials = vec![Trial::test("somebody_leads_whoever_is_killed_or_stopped", trial)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Running copies. Dropping this value ends them.
struct Copies {
    folder: tempfile::TempDir,
    members: String,
    http: BTreeMap<&'static str, SocketAddr>,
    /// Lines of all copies, in the order in which they write them.
    acts: File,
    running: BTreeMap<&'static str, Child>,
}

impl Copies {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let members = Members::new(NAMES).to_string();
        let http = Members::new(NAMES).iter().collect();
        let key = ClusterKey::generate("tenure".parse().unwrap()).unwrap();
        let file = folder.path().join("copies.key");
        fs::write(&file, key.to_line()).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let acts = File::options().create(true).append(true).open(folder.path().join("acts"));
        Self { folder, members, http, acts: acts.unwrap(), running: BTreeMap::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&mut self, name: &'static str, first: bool) {
        let mut copy = Command::new(std::env::current_exe().unwrap());
        copy.env("TENURE_NAME", name)
            .env("TENURE_MEMBERS", &self.members)
            .env("TENURE_KEY_FILE", self.path("copies.key"))
            .env("TENURE_STATE", self.path(name))
            .env("TENURE_LEASE", "10s")
            .env("TENURE_GRACE", "500ms")
            .env("HTTP", self.http[name].to_string())
            .stdout(self.acts.try_clone().unwrap());
        if first {
            copy.env("FIRST_START", "yes");
        }
        self.running.insert(name, copy.spawn().unwrap());
    }

    fn signal(&self, name: &str, signal: Signal) {
        kill_process(Pid::from_child(&self.running[name]), signal).unwrap();
    }

    fn get(&self, name: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.http[name]).ok()?;
        stream.set_read_timeout(Some(wait::PATIENCE)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
    }

    /// The leader that all these copies name, once it is not `other`.
    fn leader(&self, asked: &[&str], other: Option<&str>) -> &'static str {
        wait::eventually("all say who leads", || {
            let told: Vec<_> = asked.iter().map(|name| self.get(name, "/leader")).collect();
            let leader = NAMES.into_iter().find(|name| told[0].as_deref() == Some(*name))?;
            let all = told.iter().all(|told| told.as_deref() == Some(leader));
            (all && Some(leader) != other).then_some(leader)
        })
    }

    /// The fences of all acts, in order.
    fn fences(&self) -> Vec<u64> {
        let acts = fs::read_to_string(self.path("acts")).unwrap();
        acts.lines().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
    }

    fn newest(&self) -> u64 {
        self.fences().into_iter().max().unwrap_or(0)
    }

    /// Waits until a leader with a higher fence does its work.
    fn acts_after(&self, fence: u64) {
        wait::eventually("the next leader works", || (self.newest() > fence).then_some(()));
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", fs::read_to_string(self.path("acts")).unwrap_or_default());
        }
        for copy in self.running.values_mut() {
            let _ = copy.kill();
            let _ = copy.wait();
        }
    }
}

fn others(of: &str) -> Vec<&'static str> {
    NAMES.into_iter().filter(|name| *name != of).collect()
}

fn somebody_leads_whoever_is_killed_or_stopped() {
    let mut copies = Copies::new();
    NAMES.iter().for_each(|name| copies.start(name, true));
    let first = copies.leader(&NAMES, None);
    copies.acts_after(0);

    let before = copies.newest();
    copies.signal(first, Signal::KILL);
    copies.running.remove(first).unwrap().wait().unwrap();
    let second = copies.leader(&others(first), Some(first));
    copies.start(first, false);
    wait::eventually("it is up again", || copies.get(first, "/health").filter(|up| up == "up"));
    copies.acts_after(before);

    let before = copies.newest();
    copies.signal(second, Signal::STOP);
    copies.leader(&others(second), Some(second));
    copies.acts_after(before);
    copies.signal(second, Signal::CONT);
    let third = copies.leader(&NAMES, None);

    // A copy that is asked to end hands over to another copy.
    let before = copies.newest();
    copies.signal(third, Signal::TERM);
    let ended = wait::ended("it ends", copies.running.get_mut(third).unwrap());
    assert!(ended.success(), "{ended}");
    copies.running.remove(third);
    copies.leader(&others(third), Some(third));
    copies.acts_after(before);

    let fences = copies.fences();
    // A process may be stopped between its question and its act. Such a process does one late act,
    // and no more.
    let is_late = |nth: &usize| fences[..*nth].iter().any(|before| *before > fences[*nth]);
    let mut late: Vec<u64> = (0..fences.len()).filter(is_late).map(|nth| fences[nth]).collect();
    late.sort_unstable();
    assert!(late.is_sorted_by(|one, other| one < other), "{fences:?}");
    let mut leaders = fences.clone();
    leaders.sort_unstable();
    leaders.dedup();
    assert!(leaders.len() >= 4, "{leaders:?}");
}

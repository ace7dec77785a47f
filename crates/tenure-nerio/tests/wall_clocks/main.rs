//! Real processes whose wall clocks are set while they run, with a bound on skew.
//!
//! Each node is this test binary again: it runs only [`as_child`], in the part that
//! `TESTS_WALL_PART` names, below a library that shifts its `CLOCK_REALTIME` (`shift.c`).
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test are a test")]
#![allow(clippy::print_stdout, reason = "a child tells its parent how far it is")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use tenure::{Loss, clock};
use tenure_nerio::{Checked, Config, Node, Opening, Service, Storage, members};
use tenure_testkit::processes::Members;

const PART: &str = "TESTS_WALL_PART";
const NAME: &str = "TESTS_WALL_NAME";
const MEMBERS: &str = "TESTS_WALL_MEMBERS";
const SKEW: Duration = Duration::from_millis(500);
/// Longer than any step of this test takes on a usable machine.
const PATIENCE: Duration = Duration::from_secs(120);
const HOUR: i64 = 3_600_000;

fn config(list: &str) -> Checked {
    let mut config = Config::new("walls".parse().unwrap(), members(list).unwrap());
    config = config.with_lease(Duration::from_secs(4));
    config.clock_skew_max = Some(SKEW);
    config.check().unwrap()
}

/// The library that shifts wall clocks, compiled by the C compiler of the machine.
fn library(folder: &Path) -> PathBuf {
    let source = folder.join("shift.c");
    fs::write(&source, include_str!("shift.c")).unwrap();
    let library = folder.join("shift.so");
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compile.status().expect("a C compiler is needed").success());
    library
}

/// The nodes of a cluster, and their lines. Dropping the cluster ends the nodes.
struct Cluster {
    folder: tempfile::TempDir,
    library: PathBuf,
    members: String,
    children: BTreeMap<&'static str, Child>,
    say: mpsc::Sender<(&'static str, String)>,
    said: Receiver<(&'static str, String)>,
    heard: Vec<(&'static str, String)>,
    /// Leaderships by their fences: the node, and the first and last time at which its handle was
    /// current.
    led: BTreeMap<u64, (&'static str, u64, Option<u64>)>,
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = library(folder.path());
        let (say, said) = mpsc::channel();
        let members = Members::new(["a", "b", "c"]).to_string();
        Self {
            folder,
            library,
            members,
            children: BTreeMap::new(),
            say,
            said,
            heard: Vec::new(),
            led: BTreeMap::new(),
        }
    }

    /// Sets the wall clock of a node this many milliseconds ahead of that of the machine.
    fn set(&self, name: &str, ahead: i64) {
        let path = self.folder.path().join(name);
        let file = fs::File::options().create(true).truncate(false).write(true).open(path);
        // The process maps this file, and this write is a single store for it.
        file.unwrap().write_all_at(&(ahead * 1_000_000).to_ne_bytes(), 0).unwrap();
    }

    fn start(&mut self, part: &str, name: &'static str, ahead: i64) {
        self.set(name, ahead);
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["as_child", "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(NAME, name)
            .env(MEMBERS, &self.members)
            .env("LD_PRELOAD", &self.library)
            .env("SHIFT_FILE", self.folder.path().join(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let say = self.say.clone();
        // The thread ends with the child, or with the reader.
        thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| say.send((name, line)))
        });
        self.children.insert(name, child);
    }

    /// Waits until `who` has said a line that contains `what`.
    fn has_said(&mut self, who: &str, what: &str) {
        if !self.heard.iter().any(|(name, line)| *name == who && line.contains(what)) {
            self.hear(who, what);
        }
    }

    /// Waits until `who` says another line that contains `what`.
    fn hear(&mut self, who: &str, what: &str) {
        loop {
            let heard = self.said.recv_timeout(PATIENCE);
            let (name, line) = heard.unwrap_or_else(|why| panic!("no {what:?} of {who}: {why}"));
            let Some((_, line)) = line.split_once("> ") else { continue };
            println!("{name}: {line}");
            self.note(name, line);
            self.heard.push((name, line.to_owned()));
            if name == who && line.contains(what) {
                return;
            }
        }
    }

    /// Notes the times of a leadership, and compares them with the times of other leaderships.
    fn note(&mut self, name: &'static str, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |nth: usize| words[nth].parse::<u64>().unwrap();
        match words[0] {
            "leads" => {
                self.led.insert(number(1), (name, number(2), None));
            }
            "led" => self.led.get_mut(&number(1)).unwrap().2 = Some(number(2)),
            _ => return,
        }
        let all: Vec<_> = self.led.iter().collect();
        for pair in all.windows(2) {
            let ((fence, (one, _, last)), (next, (other, first, _))) = (pair[0], pair[1]);
            if let Some(last) = last {
                assert!(
                    last < first,
                    "{one} led with {fence} until {last}, and {other} with {next}"
                );
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Does nothing in the test process itself; see the head of this file.
#[test]
fn as_child() {
    let Ok(part) = env::var(PART) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = config(&env::var(MEMBERS).unwrap());
    let builder = Node::builder(config, env::var(NAME).unwrap().parse().unwrap());
    runtime.block_on(async {
        match part.as_str() {
            "grantor" => {
                let storage = Storage::Memory { opening: Opening::New };
                serve(&builder.grantor(storage).start().unwrap()).await;
            }
            "candidate" => contend(&builder.start().unwrap()).await,
            part => panic!("there is no part {part:?}"),
        }
    });
}

fn tell_notices(node: &Node) {
    let mut notices = node.notices();
    tokio::spawn(async move {
        while let Ok(notice) = notices.recv().await {
            println!("\n> notice {notice}");
        }
    });
}

async fn serve(node: &Node) {
    tell_notices(node);
    while node.service().await != Some(Service::Serving) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("\n> serves");
    let ended = || std::io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(ended).await.unwrap().unwrap();
}

/// Campaigns for ever. Prints the first and the last time at which a handle was current.
async fn contend(node: &Node) {
    tell_notices(node);
    let election = node.election("x").unwrap();
    loop {
        let Ok(leadership) = election.campaign("").await else { continue };
        let leader = leadership.leader();
        let fence = leader.fence().number();
        let mut last = clock::now();
        println!("\n> leads {fence} {}", last.as_nanos());
        let mut until = leader.until();
        loop {
            let now = clock::now();
            if !leader.is_current() {
                break;
            }
            last = now;
            if leader.until() != until {
                until = leader.until();
                println!("\n> renewed {fence}");
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        println!("\n> led {fence} {}", last.as_nanos());
        let loss: Loss = leader.lost().await;
        println!("\n> lost {fence} {loss:?}");
    }
}

/// A leader's wall clock is set back by an hour: the leader ends in time, and another one leads.
/// Then a leader's clock is set ahead: the leader ends at once. Nodes report clocks that are too
/// far apart.
#[test]
fn set_clocks_make_no_two_leaders() {
    let mut cluster = Cluster::new();
    for (name, ahead) in [("a", -200), ("b", 0), ("c", 200)] {
        cluster.start("grantor", name, ahead);
    }
    for name in ["a", "b", "c"] {
        cluster.has_said(name, "serves");
    }
    cluster.start("candidate", "p", 100);
    cluster.hear("p", "renewed");
    cluster.start("candidate", "q", -100);
    cluster.set("p", -HOUR);
    cluster.hear("q", "renewed");
    // Set the grantors' clocks within the bound: the leader goes on.
    for name in ["a", "b", "c"] {
        cluster.set(name, 50);
    }
    cluster.hear("q", "renewed");
    cluster.set("p", 0);
    cluster.set("q", HOUR);
    cluster.hear("p", "renewed");
    // The clock of q is ahead, so its requests come from the future.
    cluster.has_said("b", "notice the wall clock of q is ahead of this node's by ");
    cluster.set("a", HOUR);
    cluster.hear("p", "notice a refuses this candidate for x: the request came");
    cluster.hear("p", "renewed");
    assert!(cluster.led.len() >= 3, "{:?}", cluster.led);
}

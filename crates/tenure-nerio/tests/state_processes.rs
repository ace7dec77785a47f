//! The state directory under real processes: one at a time, killed at any moment, and denied room
//! by the system.
//!
//! The other process is this test binary again: it runs only [`as_child`], in the part that
//! `TENURE_STATE_TEST` names.
#![allow(clippy::unwrap_used, reason = "the helpers of a test are a test")]
#![allow(clippy::print_stdout, reason = "a child tells its parent how far it is")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal};
use tenure::state::{Opening, StateError};
use tenure_core::nerio::{Boot, GrantRecord, GrantTable, Inc, Record, Stamp, Tenancy, Who};
use tenure_core::{Fence, NodeName, Time, Value};
use tenure_nerio::state::{Grantor, Grants, Memory, MemoryError, Recovered, StateDir};
use tenure_supervise::take_signals;

const PART: &str = "TENURE_STATE_TEST";
const DIRECTORY: &str = "TENURE_STATE_TEST_DIRECTORY";
const FIRST: &str = "TENURE_STATE_TEST_FIRST";

fn open(path: &Path, opening: Opening) -> Result<(StateDir, Recovered), MemoryError> {
    let grantor = Grantor { cluster: "orders".parse().unwrap(), node: "a".parse().unwrap() };
    StateDir::open(path, opening, &grantor)
}

fn identity(recovered: &Recovered) -> Record {
    let instance = recovered.durable.instance;
    let boot = Boot(recovered.durable.boot.0 + 1);
    Record::Identity { instance, boot, delta_max: Duration::from_secs(10), enters: None }
}

fn grant(election: &str, number: u64) -> GrantRecord {
    let who = Who { name: NodeName::new("candidate").unwrap(), inc: Inc(number.into()) };
    GrantRecord {
        election: election.parse().unwrap(),
        holder: who.clone(),
        address: "127.0.0.1:7101".parse().unwrap(),
        value: Value::new(&"v".repeat(number as usize % 128)).unwrap(),
        start: Time::from_nanos(number),
        finish: Time::from_nanos(number + 5_000_000_000),
        stamp: Stamp { boot: Boot(1), clock: Time::from_nanos(number), counter: 0 },
        priority: 0,
        leading: true,
        announced: Some(Fence::new(number)),
        accepted: true,
        fence_seen: Fence::new(number),
        fence_owner: Some(Tenancy { who, first: Time::from_nanos(number) }),
    }
}

/// Longer than a child needs on any usable machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A child that is killed and waited for in every case.
struct Other {
    child: Child,
    lines: Receiver<String>,
}

impl Other {
    fn start(mut command: Command, part: &str, path: &Path) -> Self {
        let mut child = command
            .args(["as_child", "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(DIRECTORY, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = mpsc::sync_channel(1_000);
        // The thread ends when the child closes its output, or when no reader is left.
        thread::spawn(move || out.lines().try_for_each(|line| said.send(line.unwrap())));
        Self { child, lines }
    }

    fn part(part: &str, path: &Path) -> Self {
        Self::start(Command::new(env::current_exe().unwrap()), part, path)
    }

    /// The child's next line for us; `None` when it has ended.
    fn line(&mut self) -> Option<String> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    if let Some((_, said)) = line.split_once("> ") {
                        return Some(said.to_owned());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("nothing is said in {PATIENCE:?}"),
            }
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing in the test process itself; see the head of this file.
#[test]
fn as_child() {
    let Ok(part) = env::var(PART) else { return };
    let path = PathBuf::from(env::var(DIRECTORY).unwrap());
    match part.as_str() {
        "hold" => hold(&path),
        "hold and spawn" => hold_and_spawn(&path),
        "write" => write_for_ever(&path, env::var(FIRST).unwrap().parse().unwrap()),
        "no room" => no_room(&path),
        part => panic!("there is no part {part:?}"),
    }
}

fn hold(path: &Path) {
    let _state = open(path, Opening::Existing).unwrap();
    println!("> held");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn hold_and_spawn(path: &Path) {
    let _state = open(path, Opening::Existing).unwrap();
    let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
    println!("> {}", child.id());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    child.wait().unwrap();
}

#[test]
fn second_process_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a");
    let mut other = Other::part("hold", &path);
    assert_eq!(other.line().as_deref(), Some("held"));
    let refusal = || open(&path, Opening::Existing).unwrap_err().to_string();
    let text = |who: &str| {
        format!(
            "state directory {} is in use by {who}; stop that process, or give this node a \
             directory of its own",
            path.display()
        )
    };
    assert_eq!(refusal(), text(&format!("process {}", other.child.id())));
    // The file `lock` is only for people. Without it the directory is still locked.
    fs::remove_file(path.join("lock")).unwrap();
    assert_eq!(refusal(), text("another process"));
    other.kill();
    // Process ids never get this large, so this pid belongs to no process.
    fs::write(path.join("lock"), "4194305\n").unwrap();
    let (state, _) = open(&path, Opening::Existing).unwrap();
    assert_eq!(refusal(), text(&format!("this process ({}) already", std::process::id())));
    let flusher = state.flusher();
    drop(state);
    assert_eq!(refusal(), text(&format!("this process ({}) already", std::process::id())));
    drop(flusher);
    open(&path, Opening::Existing).unwrap();
}

#[test]
fn child_keeps_no_lock() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a");
    let mut other = Other::part("hold and spawn", &path);
    let sleeper: i32 = other.line().unwrap().parse().unwrap();
    other.kill();
    // A child that was just started holds its parent's files until it executes its program.
    let mut opened = open(&path, Opening::Existing);
    for _ in 0..PATIENCE.as_millis() / 10 {
        if !matches!(opened, Err(MemoryError::State(StateError::InUse { .. }))) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
        opened = open(&path, Opening::Existing);
    }
    rustix::process::kill_process(Pid::from_raw(sleeper).unwrap(), Signal::KILL).unwrap();
    assert_eq!(opened.unwrap().1.memory, Memory::Lost);
}

/// Carries out operation `number`: every seventh forgets, the others grant.
fn operation(number: u64) -> Record {
    let election = format!("e{}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56);
    match number % 7 {
        0 => Record::Forget(election.parse().unwrap()),
        _ => grant(&election, number).into(),
    }
}

fn write_for_ever(path: &Path, first: u64) {
    let (mut state, recovered) = open(path, Opening::Existing).unwrap();
    state.write(&identity(&recovered)).unwrap();
    let flusher = state.flusher();
    thread::spawn(move || {
        for high in first.. {
            flusher.flush(&Record::Reserve { high: Fence::new(high) }).unwrap();
            println!("> reserved {high}");
        }
    });
    for number in first.. {
        state.write(&operation(number)).unwrap();
        println!("> {number}");
    }
}

/// A restart finds each entry as the last complete write left it, or as the interrupted write made
/// it. The reserve is at least the last durable reserve.
#[test]
fn killed_writer_forgets_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a");
    let (mut state, recovered) = open(&path, Opening::New).unwrap();
    state.write(&identity(&recovered)).unwrap();
    state.write(&operation(1)).unwrap();
    drop(state);
    let mut model = BTreeMap::new();
    apply(&mut model, operation(1));
    let mut number = 1;
    let mut reserved = 0;
    for round in 0..12 {
        let mut command = Command::new(env::current_exe().unwrap());
        command.env(FIRST, (number + 1).to_string());
        let mut other = Other::start(command, "write", &path);
        let enough = number + 50 + round * 137;
        let mut killed = false;
        while let Some(line) = other.line() {
            match line.strip_prefix("reserved ") {
                Some(high) => reserved = high.parse().unwrap(),
                None => {
                    number += 1;
                    assert_eq!(line, number.to_string());
                    apply(&mut model, operation(number));
                }
            }
            if number >= enough && !killed {
                killed = true;
                other.child.kill().unwrap();
            }
        }
        assert!(killed, "the writer ended by itself");
        drop(other);

        let (_state, recovered) = open(&path, Opening::Existing).unwrap();
        let Memory::Kept { reserve, grants: Grants::SameBoot(table) } = recovered.memory else {
            panic!("round {round}: {}", recovered.memory);
        };
        let grants = table.grants;
        assert!(reserve.number() >= reserved, "{reserve} {reserved}");
        let known = |model: &BTreeMap<_, _>| model.values().cloned().collect::<Vec<_>>();
        if grants != known(&model) {
            number += 1;
            apply(&mut model, operation(number));
            assert_eq!(grants, known(&model), "round {round}");
        }
    }
    assert!(model.len() > 100, "{}", model.len());
}

fn apply(model: &mut BTreeMap<String, GrantRecord>, record: Record) {
    match record {
        Record::Grant(grant) => model.insert(grant.election.to_string(), *grant),
        Record::Forget(election) => model.remove(election.as_str()),
        other => panic!("{other}"),
    };
}

/// A limit on the size of files stands for a full disk: it needs no root, and it can cut a write
/// in the middle.
#[test]
fn full_disk_loses_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let mut other = Other::part("no room", &parent.path().join("a"));
    let mut lines = Vec::new();
    while let Some(line) = other.line() {
        lines.push(line);
    }
    assert!(other.child.wait().unwrap().success(), "{lines:?}");
    assert_eq!(lines, ["first", "cut", "growth", "identity"]);
}

fn limit(bytes: Option<u64>) {
    let maximum = rustix::process::getrlimit(Resource::Fsize).maximum;
    let current = bytes.or(maximum);
    rustix::process::setrlimit(Resource::Fsize, Rlimit { current, maximum }).unwrap();
}

fn refused(state: &mut StateDir, record: &Record, file: &str) {
    let file = state.path().join(file);
    assert_eq!(
        state.write(record).unwrap_err().to_string(),
        format!(
            "cannot write {}: File too large (os error 27); raise the limit on the size of \
             files (ulimit -f)",
            file.display()
        )
    );
}

fn restart(state: StateDir) -> (StateDir, Fence, Grants) {
    let path = state.path().to_owned();
    drop(state);
    match open(&path, Opening::Existing).unwrap() {
        (state, Recovered { memory: Memory::Kept { reserve, grants }, .. }) => {
            (state, reserve, grants)
        }
        (_, other) => panic!("{other:?}"),
    }
}

/// Grants that are found in an epoch 0.
fn same_boot(grants: Vec<GrantRecord>) -> Grants {
    Grants::SameBoot(GrantTable { grants, ..GrantTable::default() })
}

fn billing(number: u64) -> Record {
    grant("billing", number).into()
}

fn no_room(path: &Path) {
    // Without its signal, the limit causes an error.
    take_signals();
    let (mut state, recovered) = open(path, Opening::New).unwrap();
    state.write(&identity(&recovered)).unwrap();
    let state = no_room_for_the_first_grant(state);
    let state = no_room_within_an_entry(state);
    let state = no_room_for_another_election(state);
    no_room_for_the_identity(state);
}

/// There is no room for the head of the table, and then none for the chunk behind the head. A
/// restart waits as before.
fn no_room_for_the_first_grant(mut state: StateDir) -> StateDir {
    for room in [0, 100, 4096] {
        limit(Some(room));
        refused(&mut state, &billing(1), "grants");
        limit(None);
        let (restarted, _, grants) = restart(state);
        assert!(matches!(grants, Grants::Missing | Grants::Torn(_)), "{room}: {grants}");
        state = restarted;
    }
    let files = fs::read_dir(state.path()).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert!(!names.contains(&"grants.tmp".into()), "{names:?}");
    state.write(&billing(1)).unwrap();
    println!("> first");
    state
}

/// The second entry goes to the first slot, and the limit cuts it after each number of bytes.
fn no_room_within_an_entry(mut state: StateDir) -> StateDir {
    for cut in 0..60 {
        limit(Some(4096 + cut));
        refused(&mut state, &billing(2), "grants");
        limit(None);
        let (restarted, _, grants) = restart(state);
        assert_eq!(grants, same_boot(vec![grant("billing", 1)]), "cut {cut}");
        state = restarted;
    }
    // The next write goes to the same slot. A write over the valid entry would be cut here.
    limit(Some(4096 + 30));
    refused(&mut state, &billing(2), "grants");
    limit(Some(4096 + 512 + 30));
    state.write(&billing(3)).unwrap();
    limit(None);
    let (state, _, grants) = restart(state);
    assert_eq!(grants, same_boot(vec![grant("billing", 3)]));
    println!("> cut");
    state
}

/// There is no room for another election. The directory still writes grants of elections that have
/// an entry.
fn no_room_for_another_election(mut state: StateDir) -> StateDir {
    for number in 0..63 {
        state.write(&grant(&format!("other/{number:02}"), 4).into()).unwrap();
    }
    let one_more = Record::from(grant("zzz", 4));
    limit(Some(fs::metadata(state.path().join("grants")).unwrap().len() + 5000));
    refused(&mut state, &one_more, "grants");
    state.write(&billing(5)).unwrap();
    let (mut state, _, grants) = restart(state);
    let Grants::SameBoot(GrantTable { grants, .. }) = grants else { panic!("{grants}") };
    assert_eq!((grants.len(), &grants[0]), (64, &grant("billing", 5)));
    limit(None);
    state.write(&one_more).unwrap();
    println!("> growth");
    state
}

fn no_room_for_the_identity(mut state: StateDir) {
    let record = Record::Reserve { high: Fence::new(9) };
    limit(Some(10));
    refused(&mut state, &record, "identity");
    limit(None);
    let (mut state, reserve, _) = restart(state);
    assert_eq!(reserve, Fence::NONE);
    state.write(&record).unwrap();
    let (_state, reserve, grants) = restart(state);
    let Grants::SameBoot(GrantTable { grants, .. }) = grants else { panic!("{grants}") };
    assert_eq!((reserve, grants.len()), (Fence::new(9), 65));
    println!("> identity");
}

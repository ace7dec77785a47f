//! An operator who changes the members without end.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use serde_json::Value;
use tenure_testkit::Rng;
use tenure_testkit::processes::{Host, Machine, NamedHosts, Network, RunningCommand};

/// The member that comes and goes. Its host is the host of the first runner.
const NAME: &str = "d";
/// The longest time from the start of a change to its end, and to the order that cancels the
/// change.
const LIMIT: &str = "10s";
const CANCELLED_AFTER: Duration = Duration::from_millis(100);
/// The longest time between two changes.
const PAUSE: Duration = Duration::from_millis(400);

/// After this number of refused additions in a row, the node may be a former member that has not
/// heard of its removal.
const REFUSED: usize = 20;

/// How often each command was given, and how often it changed the members.
pub(crate) type Tally = BTreeMap<&'static str, [usize; 2]>;

/// Dropping the operator ends its work.
pub(crate) struct Operator {
    over: Arc<AtomicBool>,
    work: Option<JoinHandle<Tally>>,
}

impl Operator {
    /// Starts to change the members on these hosts, with the key of the cluster.
    pub(crate) fn start(hosts: &NamedHosts, seed: u64) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let machine = Machine::new(crate::TENURE).with("TENURE_CLUSTER", "chaos");
        let mut work = Work {
            over: Arc::clone(&over),
            machine,
            around: hosts.around(Host::runner(0)),
            key: hosts.key(Host::node(0)).display().to_string(),
            members: hosts.members(),
            entry: format!("{NAME}={}:7100", NamedHosts::name(Host::runner(0))),
            node: None,
            refused: 0,
            rng: Rng::new(seed),
            tally: Tally::new(),
        };
        let work = thread::spawn(move || {
            work.run();
            work.tally
        });
        Self { over, work: Some(work) }
    }

    /// Ends the work.
    pub(crate) fn end(mut self) -> Tally {
        self.over.store(true, Ordering::Relaxed);
        self.work.take().unwrap().join().unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            work.join().ok();
        }
    }
}

struct Work {
    over: Arc<AtomicBool>,
    machine: Machine,
    around: Vec<String>,
    key: String,
    members: String,
    entry: String,
    /// The process of the member that comes and goes.
    node: Option<RunningCommand>,
    /// The number of refused additions in a row.
    refused: usize,
    rng: Rng,
    tally: Tally,
}

impl Work {
    fn run(&mut self) {
        while !self.over.load(Ordering::Relaxed) {
            // Faults may hide the members from the operator.
            if let Some(states) = self.states() {
                self.turn(&states);
            }
            sleep(self.rng.span(&(Duration::ZERO..PAUSE)));
        }
    }

    /// Replaces members whose directories faults have deleted, and makes another change.
    fn turn(&mut self, states: &BTreeMap<String, String>) {
        let lost = states.iter().filter(|(name, state)| *state == "blank" && *name != NAME);
        for (name, _) in lost {
            self.change("replace", name, false);
        }
        let cancels = self.rng.chance(25);
        if states.contains_key(NAME) {
            self.change("remove", NAME, cancels);
        } else {
            if self.is_used() {
                self.start_empty();
            }
            let entry = self.entry.clone();
            let made = self.change("add", &entry, cancels);
            self.refused = if made { 0 } else { self.refused + 1 };
        }
    }

    /// Whether the node may start again with an empty directory. While members may still decide to
    /// add the node, its directory must stay: a fault may delete the directory of another of the
    /// four members.
    fn is_used(&self) -> bool {
        let former = self.machine.log(NAME).contains("is no member any more");
        self.node.is_none() || former || self.refused >= REFUSED
    }

    /// The members, each with its state, if they answer.
    fn states(&self) -> Option<BTreeMap<String, String>> {
        let running = self.spawn("states", &["members", "--json"]);
        running.status();
        let log = self.machine.log("states");
        let told: Value = log.lines().find_map(|line| serde_json::from_str(line).ok())?;
        told["epoch"].as_object()?;
        let word = |member: &Value, key: &str| member[key].as_str().map(str::to_owned);
        let all = told["members"].as_array()?.iter();
        all.map(|member| Some((word(member, "name")?, word(member, "state")?))).collect()
    }

    fn change(&mut self, what: &'static str, name: &str, cancels: bool) -> bool {
        let running = self.spawn(what, &["members", what, name, "--timeout", LIMIT]);
        if cancels {
            sleep(self.rng.span(&(Duration::ZERO..CANCELLED_AFTER)));
            let cancel = self.spawn("cancel", &["members", "cancel", "--timeout", LIMIT]);
            self.count("cancel", cancel);
        }
        self.count(what, running)
    }

    fn count(&mut self, what: &'static str, running: RunningCommand) -> bool {
        let done = running.ended() == Some(0);
        let [given, made] = self.tally.entry(what).or_default();
        *given += 1;
        *made += usize::from(done);
        done
    }

    /// Ends the last process of the node, and starts the node with an empty directory.
    fn start_empty(&mut self) {
        drop(self.node.take());
        self.refused = 0;
        let state = self.machine.path("state");
        if state.exists() {
            fs::remove_dir_all(&state).unwrap();
        }
        let members = format!("{},{}", self.members, self.entry);
        let state = state.display().to_string();
        let words = ["node", "--name", NAME, "--state", &state, "--lease-max", "10s"];
        let words = [&words[..], &["--members", &members]].concat();
        self.node = Some(self.spawn(NAME, &words));
    }

    fn spawn(&self, log: &str, words: &[&str]) -> RunningCommand {
        let around: Vec<_> = self.around.iter().map(String::as_str).collect();
        let list = ["--members", &self.members];
        let list = if words[0] == "node" { &[][..] } else { &list[..] };
        let words = [words, list, &["--key-file", &self.key]].concat();
        self.machine.spawn(log, self.machine.command_in(&around, &words))
    }
}

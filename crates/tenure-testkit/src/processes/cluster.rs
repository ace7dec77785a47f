//! Nodes of Nerio and their candidates on one machine, as tests of the command start them.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::ops::{Deref, Index};
use std::process::{Command, ExitStatus};

use rustix::process::Signal;
use serde_json::Value;

use super::machine::{Answer, Machine, RunningCommand};
use super::members::Members;
use super::wait::eventually;

/// The settings file, which every command of a [`Cluster`] reads.
const SETTINGS: &str = "tenure.toml";

/// Members with one settings file, and the processes of a test. The name of a process is also the
/// name of its log and of its control socket. Dropping the cluster kills all processes.
pub struct Cluster {
    /// Runs commands without the settings file.
    pub machine: Machine,
    members: String,
    addresses: Vec<(&'static str, SocketAddr)>,
    /// Sockets at the addresses of members that have not started, so that no process answers there.
    silent: Vec<(&'static str, UdpSocket)>,
    running: BTreeMap<String, RunningCommand>,
}

impl Deref for Cluster {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}

impl Index<&str> for Cluster {
    type Output = RunningCommand;

    fn index(&self, name: &str) -> &RunningCommand {
        &self.running[name]
    }
}

impl Cluster {
    /// A cluster with members of these names, not yet started. `tenure` is the command,
    /// `env!("CARGO_BIN_EXE_tenure")`; `settings` are lines of the settings file in addition to
    /// `members`.
    pub fn new<const N: usize>(tenure: &str, names: [&'static str; N], settings: &str) -> Self {
        let machine = Machine::new(tenure);
        let members = Members::new(names);
        let text = format!("members = \"{members}\"\n{settings}\n");
        fs::write(machine.path(SETTINGS), text).unwrap();
        let silent = members.iter().map(|(name, at)| (name, UdpSocket::bind(at).unwrap()));
        Self {
            machine,
            silent: silent.collect(),
            addresses: members.iter().collect(),
            members: members.to_string(),
            running: BTreeMap::new(),
        }
    }

    /// The list of members, as in the settings.
    pub fn members(&self) -> &str {
        &self.members
    }

    /// Each member with its address.
    pub fn addresses(&self) -> &[(&'static str, SocketAddr)] {
        &self.addresses
    }

    /// Replaces a text in the settings file, for commands that start later.
    pub fn set(&self, text: &str, instead: &str) {
        let path = self.path(SETTINGS);
        let settings = fs::read_to_string(&path).unwrap();
        fs::write(path, settings.replace(text, instead)).unwrap();
    }

    /// `tenure` with these arguments and the settings file.
    pub fn command(&self, words: &[&str]) -> Command {
        self.command_in(&[], words)
    }

    /// As [`command`](Self::command), but as an argument of `around`, such as `ip netns exec NAME`,
    /// which executes the command.
    pub fn command_in(&self, around: &[&str], words: &[&str]) -> Command {
        self.machine.command_in(around, &before_cmd(words, &["--config", SETTINGS]))
    }

    /// As [`command_in`](Self::command_in), with the control socket of this name.
    pub fn command_of(&self, around: &[&str], name: &str, words: &[&str]) -> Command {
        self.command_in(around, &before_cmd(words, &["--control", &socket(name)]))
    }

    /// Runs a command to its end.
    pub fn ask(&self, words: &[&str]) -> Answer {
        Answer::of(&mut self.command(words))
    }

    /// Runs a command that talks to the control socket of a process.
    pub fn tell(&self, name: &str, words: &[&str]) -> Answer {
        Answer::of(&mut self.command_of(&[], name, words))
    }

    /// Starts a command that the test has built; both outputs go to the log of this name.
    pub fn spawn(&mut self, name: &str, command: Command) {
        self.keep(name, |machine| machine.spawn(name, command));
    }

    /// Starts a command whose outputs go elsewhere.
    pub fn run(&mut self, name: &str, command: Command) {
        self.keep(name, |machine| machine.run(name, command));
    }

    fn keep(&mut self, name: &str, start: impl FnOnce(&Machine) -> RunningCommand) {
        self.silent.retain(|(silent, _)| *silent != name);
        let running = start(&self.machine);
        assert!(self.running.insert(name.to_owned(), running).is_none(), "{name} runs already");
    }

    /// Starts a process with a control socket.
    pub fn start(&mut self, name: &str, words: &[&str]) {
        let command = self.command_of(&[], name, words);
        self.spawn(name, command);
    }

    /// Starts a node with a state directory, `state-NAME`.
    pub fn node(&mut self, name: &str, more: &[&str]) {
        let state = format!("state-{name}");
        self.start(name, &[&["node", "--name", name, "--state", &state], more].concat());
    }

    /// Starts a candidate that runs `cmd` when it leads.
    pub fn candidate(&mut self, id: &str, more: &[&str], cmd: &[&str]) {
        self.start(id, &[&["run", "--id", id], more, &["--"], cmd].concat());
    }

    pub fn runs(&mut self, name: &str) -> bool {
        self.running.get_mut(name).is_some_and(|running| !running.has_ended())
    }

    pub fn kill(&mut self, name: &str) {
        drop(self.taken(name));
    }

    pub fn kill_all(&mut self) {
        self.running.clear();
    }

    /// Waits until a process ends.
    pub fn ended(&mut self, name: &str) -> ExitStatus {
        self.taken(name).status()
    }

    /// Ends a process by SIGTERM, and expects the exit code of that signal.
    pub fn stop(&mut self, name: &str) {
        self[name].signal(Signal::TERM);
        assert_eq!(self.ended(name).code(), Some(143), "{}", self.log(name));
    }

    fn taken(&mut self, name: &str) -> RunningCommand {
        self.running.remove(name).unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// Waits until the log of a process has this text.
    #[track_caller]
    pub fn says(&self, name: &str, text: &str) {
        self.says_times(name, text, 1);
    }

    /// Waits until the log of a process has this text `times` times.
    #[track_caller]
    pub fn says_times(&self, name: &str, text: &str, times: usize) {
        eventually(&format!("{name} says {times} times {text}"), || {
            (self.log(name).matches(text).count() >= times).then_some(())
        });
    }

    /// The status that a process answers at its control socket.
    #[track_caller]
    pub fn status(&self, name: &str) -> Value {
        let words = ["node", "status", "--json", "--control", &socket(name)];
        eventually(&format!("{name} answers"), || {
            serde_json::from_str(&self.machine.ask(&words).out).ok()
        })
    }

    /// The leader, as `tenure leader --json` with these arguments prints it, if a leader is known.
    pub fn leader(&self, more: &[&str]) -> Option<Value> {
        let Answer { code, out, .. } = self.ask(&[&["leader", "--json"], more].concat());
        (code == Some(0)).then(|| serde_json::from_str(&out).unwrap())
    }
}

fn socket(name: &str) -> String {
    format!("{name}.sock")
}

/// `words` with `more` before the `--` that precedes CMD.
fn before_cmd<'a>(words: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let own = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    [&words[..own], more, &words[own..]].concat()
}

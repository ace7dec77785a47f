//! Three nodes and some runners, each with a key file of its own.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tenure::clock;
use tenure_testkit::processes::{Members, PATIENCE, eventually, output, print_logs_of_a_failure};

pub(crate) const NODES: [&str; 3] = ["a", "b", "c"];
/// It outlasts a machine that stands still for some seconds.
pub(crate) const LEASE: Duration = Duration::from_secs(12);
/// The same as a flag has it.
pub(crate) const LEASE_FLAG: &str = "12s";

/// By these a member that says nothing for 10 s is silent: a busy one is not.
const TRIPS: [(&str, &str); 2] = [("TENURE_ROUND_TRIP", "500ms"), ("TENURE_REFRESH", "1s")];

/// Dropping it ends the processes.
pub(crate) struct Fleet {
    /// That of processes that start from now on.
    pub(crate) lease: &'static str,
    /// The command that processes are started with.
    pub(crate) program: PathBuf,
    folder: TempDir,
    pub(crate) members: Members<3>,
    processes: BTreeMap<String, Child>,
    /// Members as some processes have them.
    lists: BTreeMap<String, String>,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let (folder, members) = (TempDir::new().unwrap(), Members::new(NODES));
        let program = env!("CARGO_BIN_EXE_tenure").into();
        let (processes, lists) = (BTreeMap::new(), BTreeMap::new());
        Self { lease: LEASE_FLAG, program, folder, members, processes, lists }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn members(&self) -> String {
        self.members.to_string()
    }

    /// What this process is to take for members.
    pub(crate) fn misinform(&mut self, process: &str, members: String) {
        self.lists.insert(process.to_owned(), members);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder.path());
        // Variables of this process are meant for tests.
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TENURE_") {
                command.env_remove(name);
            }
        }
        command.envs(TRIPS).env("XDG_RUNTIME_DIR", self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn tenure(&self, arguments: &[&str]) -> Output {
        output(&mut self.command(arguments))
    }

    /// A new key of the cluster, in a file.
    pub(crate) fn key(&self, file: &str) -> String {
        let made = self.tenure(&["keys", "new", "--out", file]);
        assert!(made.status.success(), "{made:?}");
        file.to_owned()
    }

    /// That of an application, from the key in `from`.
    pub(crate) fn issue(&self, from: &str, file: &str) -> String {
        let arguments = ["--key-file", from, "--app", "billing", "--elections", "billing/*"];
        let made = self.tenure(&[&["keys", "issue"], &arguments[..], &["--out", file]].concat());
        assert!(made.status.success(), "{made:?}");
        file.to_owned()
    }

    /// That of another one with these rights, for the same elections.
    pub(crate) fn issue_with(&self, from: &str, app: &str, rights: &str, file: &str) -> String {
        let arguments = ["--key-file", from, "--app", app, "--elections", "billing/*"];
        let more = ["--rights", rights, "--out", file];
        let made = self.tenure(&[&["keys", "issue"], &arguments[..], &more].concat());
        assert!(made.status.success(), "{made:?}");
        file.to_owned()
    }

    /// The id of a process.
    pub(crate) fn process(&self, process: &str) -> u32 {
        self.processes[process].id()
    }

    /// The key file of a process.
    pub(crate) fn file(&self, process: &str) -> PathBuf {
        self.path(&format!("{process}.own.key"))
    }

    /// Puts the keys of these files into `file`, all at once.
    pub(crate) fn give(&self, file: &Path, keys: &[&str]) {
        if keys.is_empty() {
            return;
        }
        let texts: String =
            keys.iter().map(|key| fs::read_to_string(self.path(key)).unwrap()).collect();
        let draft = file.with_extension("draft");
        fs::write(&draft, texts).unwrap();
        fs::set_permissions(&draft, Permissions::from_mode(0o600)).unwrap();
        fs::rename(&draft, file).unwrap();
    }

    pub(crate) fn start_node(&mut self, name: &str, key: &str) {
        self.node(name, key, &["--new"]);
        self.wait_for(name, "granting");
    }

    /// On what is in its directory.
    pub(crate) fn start_node_again(&mut self, name: &str, key: &str) {
        self.node(name, key, &[]);
    }

    /// The same with these keys, if there are any, once it grants.
    pub(crate) fn restart_node(&mut self, name: &str, keys: &[&str]) {
        self.stop(name);
        self.give(&self.file(name), keys);
        self.grant(name, &[]);
        self.wait_for(name, "granting");
    }

    fn node(&mut self, name: &str, key: &str, more: &[&str]) {
        let own = self.file(name);
        self.give(&own, &[key]);
        self.grant(name, more);
    }

    /// With its key file if it has one.
    fn grant(&mut self, name: &str, more: &[&str]) {
        let (state, control) = (format!("state-{name}"), format!("{name}.sock"));
        let arguments = ["node", "--name", name, "--state", &state, "--control", &control];
        self.start(name, &arguments, more);
    }

    pub(crate) fn start_runner(&mut self, id: &str, key: &str) {
        self.runner(id, key);
        self.wait_for(id, "runs as process");
    }

    /// Behind one that leads, with these keys if there are any.
    pub(crate) fn start_waiting(&mut self, id: &str, keys: &[&str]) {
        self.give(&self.file(id), keys);
        self.run(id, "500ms", &["sleep", "600"]);
        self.wait_for(id, " waits: ");
    }

    pub(crate) fn runner(&mut self, id: &str, key: &str) {
        let own = self.file(id);
        self.give(&own, &[key]);
        self.run(id, "500ms", &["sleep", "600"]);
    }

    /// Its CMD ends when there is a file of this name, however it is asked to; the lease must be so
    /// long that it may take a minute for that.
    pub(crate) fn start_stubborn(&mut self, id: &str, key: &str, until: &str) {
        let own = self.file(id);
        self.give(&own, &[key]);
        let cmd = format!("trap '' TERM; until [ -e {until} ]; do sleep 0.1; done");
        self.run(id, "60s", &["sh", "-c", &cmd]);
        self.wait_for(id, "runs as process");
    }

    /// With its key file if it has one.
    fn run(&mut self, id: &str, grace: &str, cmd: &[&str]) {
        let control = format!("runner-{id}.sock");
        let arguments =
            ["run", "--election", "billing/x", "--id", id, "--control", &control, "--grace", grace];
        self.start(id, &arguments, &[&["--"], cmd].concat());
    }

    pub(crate) fn start_node_unsealed(&mut self, name: &str) {
        self.grant(name, &["--new"]);
        self.wait_for(name, "granting");
    }

    pub(crate) fn start_runner_unsealed(&mut self, id: &str) {
        self.run(id, "500ms", &["sleep", "600"]);
        self.wait_for(id, "runs as process");
    }

    fn start(&mut self, process: &str, arguments: &[&str], more: &[&str]) {
        let own = self.file(process);
        let members = self.lists.get(process).cloned().unwrap_or_else(|| self.members());
        let shown = own.display().to_string();
        let key = if own.exists() { vec!["--key-file", &shown] } else { Vec::new() };
        let common = [&["--members", &members, "--lease", self.lease], &key[..]].concat();
        let out = File::create(self.path(&format!("{process}.log"))).unwrap();
        let arguments = [arguments, &common, more].concat();
        let mut command = self.command(&arguments);
        let command = command.stderr(out.try_clone().unwrap()).stdout(out);
        self.processes.insert(process.to_owned(), command.spawn().unwrap());
    }

    /// What a process has printed.
    pub(crate) fn said(&self, process: &str) -> String {
        fs::read_to_string(self.path(&format!("{process}.log"))).unwrap()
    }

    fn wait_for(&self, process: &str, text: &str) {
        let says = || self.said(process).contains(text).then_some(());
        eventually(&format!("{process} says {text}"), says);
    }

    pub(crate) fn stop(&mut self, process: &str) {
        let mut child = self.processes.remove(process).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn runs(&mut self, process: &str) -> bool {
        self.processes.get_mut(process).unwrap().try_wait().unwrap().is_none()
    }

    /// Waits until somebody is known to lead, by the key in `key`, and says who.
    pub(crate) fn leader(&self, key: &str) -> Value {
        eventually("a leader is known", || self.told(&["--key-file", key]))
    }

    pub(crate) fn leader_unsealed(&self) -> Value {
        eventually("a leader is known without a key", || self.told(&[]))
    }

    /// Who leads, as far as one is told that has this key, if any.
    pub(crate) fn told(&self, key: &[&str]) -> Option<Value> {
        let members = self.members();
        let asked = ["leader", "--election", "billing/x", "--members", &members];
        let answer = self.tenure(&[&asked[..], key, &["--lease", LEASE_FLAG, "--json"]].concat());
        answer.status.success().then(|| serde_json::from_slice(&answer.stdout).unwrap())
    }

    /// Waits until this runner has renewed its lease once more.
    pub(crate) fn await_renewal(&self, id: &str) {
        let until = || fs::read_to_string(self.path(&format!("runner-{id}.sock.until"))).unwrap();
        let before = until();
        eventually("the lease is renewed", || (until() != before).then_some(()));
    }

    /// Asks until the node answers in time.
    fn ask(&self, arguments: &[&str], node: &str) -> Value {
        let control = format!("{node}.sock");
        eventually(&format!("{node} answers {arguments:?}"), || {
            let answer = self.tenure(&[arguments, &["--control", &control, "--json"]].concat());
            answer.status.success().then(|| serde_json::from_slice(&answer.stdout).unwrap())
        })
    }

    pub(crate) fn keys(&self, node: &str) -> Value {
        self.ask(&["keys", "status"], node)
    }

    pub(crate) fn status(&self, node: &str) -> Value {
        self.ask(&["node", "status"], node)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        print_logs_of_a_failure(self.folder.path());
        let give_up = clock::now().after(PATIENCE);
        for child in self.processes.values_mut() {
            // A runner ends its command, unless a test has stopped the runner.
            let id = child.id().to_string();
            for signal in ["-TERM", "-CONT"] {
                let _ = Command::new("kill").args([signal, &id]).status();
            }
            while matches!(child.try_wait(), Ok(None)) && clock::now() < give_up {
                sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

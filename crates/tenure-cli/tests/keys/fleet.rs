//! Three nodes and some runners, each with a key file of its own.

use std::fs::{self, Permissions};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tenure_testkit::processes::{Cluster, eventually};

pub(crate) const NODES: [&str; 3] = ["a", "b", "c"];
/// It outlasts a machine that stands still for some seconds.
pub(crate) const LEASE: Duration = Duration::from_secs(12);

pub(crate) struct Fleet(Cluster);

impl Deref for Fleet {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl DerefMut for Fleet {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0
    }
}

impl Fleet {
    pub(crate) fn new() -> Self {
        Self::with_lease("12s")
    }

    pub(crate) fn with_lease(lease: &str) -> Self {
        // A member that says nothing for 10 s is silent: a busy one is not.
        let settings = format!(
            "election = \"billing/x\"\nlease = \"{lease}\"\ngrace = \"500ms\"\n\
             round-trip = \"500ms\"\nrefresh = \"1s\""
        );
        Self(Cluster::new(env!("CARGO_BIN_EXE_tenure"), NODES, &settings))
    }

    /// A new key of the cluster, in a file.
    pub(crate) fn key(&self, file: &str) -> String {
        self.made(&["keys", "new"], file)
    }

    /// That of the application `billing`, from the key in `from`.
    pub(crate) fn issue(&self, from: &str, file: &str) -> String {
        self.issue_for(from, &["--app", "billing"], file)
    }

    /// That of another one, for the same elections.
    pub(crate) fn issue_for(&self, from: &str, app: &[&str], file: &str) -> String {
        let own = ["keys", "issue", "--key-file", from, "--elections", "billing/*"];
        self.made(&[&own, app].concat(), file)
    }

    fn made(&self, words: &[&str], file: &str) -> String {
        let made = self.machine.ask(&[words, &["--out", file]].concat());
        assert_eq!(made.code, Some(0), "{made:?}");
        file.to_owned()
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

    /// Gives these keys, if there are any, to a process before it starts, and says its key file.
    fn key_file(&self, process: &str, keys: &[&str]) -> Vec<String> {
        let file = self.file(process);
        self.give(&file, keys);
        let flag = || vec!["--key-file".to_owned(), file.display().to_string()];
        file.exists().then(flag).unwrap_or_default()
    }

    fn grant(&mut self, name: &str, keys: &[&str], more: &[&str]) {
        let key_file = self.key_file(name, keys);
        let own: Vec<_> = key_file.iter().map(String::as_str).collect();
        self.node(name, &[&own[..], more].concat());
    }

    fn work(&mut self, id: &str, keys: &[&str], more: &[&str], cmd: &[&str]) {
        let key_file = self.key_file(id, keys);
        let own: Vec<_> = key_file.iter().map(String::as_str).collect();
        self.candidate(id, &[&own[..], more].concat(), cmd);
    }

    pub(crate) fn start_node(&mut self, name: &str, key: &str) {
        self.grant(name, &[key], &["--new"]);
        self.says(name, "granting");
    }

    pub(crate) fn start_node_unsealed(&mut self, name: &str) {
        self.grant(name, &[], &["--new"]);
        self.says(name, "granting");
    }

    /// On what is in its directory.
    pub(crate) fn start_node_again(&mut self, name: &str, key: &str) {
        self.grant(name, &[key], &[]);
    }

    /// The same with these keys, if there are any, once it grants.
    pub(crate) fn restart_node(&mut self, name: &str, keys: &[&str]) {
        self.kill(name);
        self.grant(name, keys, &[]);
        self.says(name, "granting");
    }

    pub(crate) fn runner(&mut self, id: &str, key: &str, more: &[&str]) {
        self.work(id, &[key], more, &["sleep", "600"]);
    }

    pub(crate) fn start_runner(&mut self, id: &str, key: &str) {
        self.runner(id, key, &[]);
        self.says(id, "runs as process");
    }

    pub(crate) fn start_runner_unsealed(&mut self, id: &str) {
        self.work(id, &[], &[], &["sleep", "600"]);
        self.says(id, "runs as process");
    }

    /// Behind one that leads, with these keys if there are any.
    pub(crate) fn start_waiting(&mut self, id: &str, keys: &[&str]) {
        self.work(id, keys, &[], &["sleep", "600"]);
        self.says(id, " waits: ");
    }

    /// Its CMD ends when there is a file of this name, however it is asked to; the lease must be so
    /// long that it may take a minute for that.
    pub(crate) fn start_stubborn(&mut self, id: &str, key: &str, until: &str) {
        let cmd = format!("trap '' TERM; until [ -e {until} ]; do sleep 0.1; done");
        self.work(id, &[key], &["--grace", "60s"], &["sh", "-c", &cmd]);
        self.says(id, "runs as process");
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
        self.0.leader(key)
    }

    /// Waits until this runner has renewed its lease once more.
    pub(crate) fn await_renewal(&self, id: &str) {
        let until = || fs::read_to_string(self.path(&format!("{id}.sock.until"))).unwrap();
        let before = until();
        eventually("the lease is renewed", || (until() != before).then_some(()));
    }

    /// What a node says of its keys.
    pub(crate) fn keys(&self, node: &str) -> Value {
        let control = format!("{node}.sock");
        eventually(&format!("{node} says what keys it has"), || {
            let answer = self.machine.ask(&["keys", "status", "--control", &control, "--json"]);
            (answer.code == Some(0)).then(|| serde_json::from_str(&answer.out).unwrap())
        })
    }
}

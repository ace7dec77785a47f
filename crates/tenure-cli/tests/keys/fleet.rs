//! Three nodes and some runners, each with its own key file.

use std::fs::{self, Permissions};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tenure_testkit::processes::{Cluster, eventually};

pub(crate) const NODES: [&str; 3] = ["a", "b", "c"];
/// A lease that survives a machine which stands still for some seconds.
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
        // A member counts as silent only after 10 s without an answer, so a busy member does not.
        let settings = format!(
            "election = \"billing/x\"\nlease = \"{lease}\"\ngrace = \"500ms\"\n\
             round-trip = \"500ms\"\nrefresh = \"1s\""
        );
        Self(Cluster::new(env!("CARGO_BIN_EXE_tenure"), NODES, &settings))
    }

    /// Writes a new key of the cluster to a file.
    pub(crate) fn key(&self, file: &str) -> String {
        self.made(&["keys", "new"], file)
    }

    /// Issues a key of the application `billing`, from the key in `from`.
    pub(crate) fn issue(&self, from: &str, file: &str) -> String {
        self.issue_for(from, &["--app", "billing"], file)
    }

    /// Issues a key of another application, for the same elections.
    pub(crate) fn issue_for(&self, from: &str, app: &[&str], file: &str) -> String {
        let own = ["keys", "issue", "--key-file", from, "--elections", "billing/*"];
        self.made(&[&own, app].concat(), file)
    }

    fn made(&self, words: &[&str], file: &str) -> String {
        let made = self.machine.ask(&[words, &["--out", file]].concat());
        assert_eq!(made.code, Some(0), "{made:?}");
        file.to_owned()
    }

    pub(crate) fn file(&self, process: &str) -> PathBuf {
        self.path(&format!("{process}.own.key"))
    }

    /// Puts the keys of these files into `file`, atomically.
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

    /// Gives these keys, if any, to a process before its start, and returns its key file flag.
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

    /// Starts a node on its existing directory.
    pub(crate) fn start_node_again(&mut self, name: &str, key: &str) {
        self.grant(name, &[key], &[]);
    }

    /// Restarts a node with these keys, if any, and waits until it grants.
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

    /// Starts a candidate behind the leader, with these keys, if any.
    pub(crate) fn start_waiting(&mut self, id: &str, keys: &[&str]) {
        self.work(id, keys, &[], &["sleep", "600"]);
        self.says(id, " waits: ");
    }

    /// Starts a candidate whose CMD ignores SIGTERM and ends when the file `until` exists; the
    /// lease must allow a minute for that.
    pub(crate) fn start_stubborn(&mut self, id: &str, key: &str, until: &str) {
        let cmd = format!("trap '' TERM; >ignores; until [ -e {until} ]; do sleep 0.1; done");
        self.work(id, &[key], &["--grace", "60s"], &["sh", "-c", &cmd]);
        // A SIGTERM that comes before the trap ends CMD.
        eventually("CMD ignores SIGTERM", || self.path("ignores").exists().then_some(()));
    }

    /// Waits until a leader is known, with the key in `key`, and returns it.
    pub(crate) fn leader(&self, key: &str) -> Value {
        eventually("a leader is known", || self.told(&["--key-file", key]))
    }

    pub(crate) fn leader_unsealed(&self) -> Value {
        eventually("a leader is known without a key", || self.told(&[]))
    }

    /// The leader, as an asker with this key hears it, if any.
    pub(crate) fn told(&self, key: &[&str]) -> Option<Value> {
        self.0.leader(key)
    }

    /// Waits until this runner has renewed its lease once more.
    pub(crate) fn await_renewal(&self, id: &str) {
        let until = || fs::read_to_string(self.path(&format!("{id}.sock.until"))).unwrap();
        let before = until();
        eventually("the lease is renewed", || (until() != before).then_some(()));
    }

    /// The status of a node's keys.
    pub(crate) fn keys(&self, node: &str) -> Value {
        let control = format!("{node}.sock");
        eventually(&format!("{node} says what keys it has"), || {
            let answer = self.machine.ask(&["keys", "status", "--control", &control, "--json"]);
            (answer.code == Some(0)).then(|| serde_json::from_str(&answer.out).unwrap())
        })
    }
}

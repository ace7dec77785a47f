//! Three nodes and some runners, each with a key file of its own.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const NODES: [&str; 3] = ["a", "b", "c"];
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// Dropping it ends the processes.
pub(crate) struct Fleet {
    folder: TempDir,
    pub(crate) addresses: Vec<SocketAddr>,
    /// The members list, if not that of these addresses.
    pub(crate) listed: Option<String>,
    /// What processes are run by, if not by this one alone.
    pub(crate) around: Vec<String>,
    processes: BTreeMap<String, Child>,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let sockets = NODES.map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        let addresses = sockets.iter().map(|socket| socket.local_addr().unwrap()).collect();
        let (listed, around, processes) = (None, Vec::new(), BTreeMap::new());
        Self { folder: TempDir::new().unwrap(), addresses, listed, around, processes }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn members(&self) -> String {
        if let Some(listed) = &self.listed {
            return listed.clone();
        }
        let members = NODES.iter().zip(&self.addresses);
        members.map(|(name, address)| format!("{name}={address}")).collect::<Vec<_>>().join(",")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let words = [&self.around[..], &[env!("CARGO_BIN_EXE_tenure").to_owned()]].concat();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("TENURE_KEYS");
        command.env("XDG_RUNTIME_DIR", self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn tenure(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
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

    /// The key file of a process.
    pub(crate) fn file(&self, process: &str) -> PathBuf {
        self.path(&format!("{process}.own.key"))
    }

    /// Puts the keys of these files into `file`, all at once.
    pub(crate) fn give(&self, file: &Path, keys: &[&str]) {
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

    /// Receives on `listen`; the first time on an empty directory.
    pub(crate) fn start_node_on(&mut self, name: &str, key: &str, listen: &str, first: bool) {
        let listen = ["--listen", listen];
        self.node(name, key, &[&listen[..], if first { &["--new"] } else { &[] }].concat());
        self.wait_for(name, "granting");
    }

    /// On what is in its directory.
    pub(crate) fn start_node_again(&mut self, name: &str, key: &str) {
        self.node(name, key, &[]);
    }

    fn node(&mut self, name: &str, key: &str, more: &[&str]) {
        let own = self.file(name);
        self.give(&own, &[key]);
        let (state, control) = (format!("state-{name}"), format!("{name}.sock"));
        let arguments = ["node", "--name", name, "--state", &state, "--control", &control];
        self.start(name, &arguments, more);
    }

    pub(crate) fn start_runner(&mut self, id: &str, key: &str) {
        let own = self.file(id);
        self.give(&own, &[key]);
        let control = format!("runner-{id}.sock");
        let arguments = [
            "run",
            "--election",
            "billing/x",
            "--id",
            id,
            "--control",
            &control,
            "--grace",
            "500ms",
        ];
        self.start(id, &arguments, &["--", "sleep", "600"]);
        self.wait_for(id, "runs as process");
    }

    fn start(&mut self, process: &str, arguments: &[&str], more: &[&str]) {
        let (members, own) = (self.members(), self.file(process).display().to_string());
        let lease = format!("{}s", LEASE.as_secs());
        let common = ["--members", &members, "--key-file", &own, "--lease", &lease];
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
        crate::until(&format!("{process} says {text}"), || self.said(process).contains(text));
    }

    pub(crate) fn stop(&mut self, process: &str) {
        let mut child = self.processes.remove(process).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn runs(&mut self, process: &str) -> bool {
        self.processes.get_mut(process).unwrap().try_wait().unwrap().is_none()
    }

    /// Who leads, by the key in `key`.
    pub(crate) fn leader(&self, key: &str, election: &str) -> Option<Value> {
        let members = self.members();
        let asked = ["leader", "--election", election, "--key-file", key, "--members", &members];
        let answer = self.tenure(&[&asked[..], &["--lease", "3s", "--json"]].concat());
        answer.status.success().then(|| serde_json::from_slice(&answer.stdout).unwrap())
    }

    fn ask(&self, arguments: &[&str], node: &str) -> Value {
        let control = format!("{node}.sock");
        let answer = self.tenure(&[arguments, &["--control", &control, "--json"]].concat());
        assert!(answer.status.success(), "{answer:?}");
        serde_json::from_slice(&answer.stdout).unwrap()
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
        for child in self.processes.values_mut() {
            // Runners take their commands with them.
            let id = child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
            let _ = child.wait();
        }
    }
}

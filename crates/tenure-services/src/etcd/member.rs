//! A member of a cluster: a process that can be killed, stopped and started again.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use super::config::Tls;
use super::{Binaries, Version};
use crate::daemon::Daemon;
use crate::error::Error;
use crate::process::clean_environment;
use crate::tool;

/// The longest time of a command of `etcdctl`, and of a login.
const COMMAND_TIMEOUT: &str = "--command-timeout=20s";
const LOGIN_TIMEOUT: &str = "--dial-timeout=20s";

/// State that all members of a cluster share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) version: Version,
    pub(super) binaries: Binaries,
    pub(super) tls: Option<Tls>,
    /// `name:password` of the user, once authentication is on.
    pub(super) user: Mutex<Option<String>>,
}

/// A member of a cluster.
#[derive(Debug)]
pub struct Member {
    pub(super) daemon: Daemon,
    pub(super) shared: Arc<Shared>,
    /// Prefix of the member's command, and of the command of its client.
    pub(super) wrapper: Vec<String>,
    /// Arguments about the founding of the cluster. New and restored members get the same
    /// arguments.
    pub(super) founding: [String; 3],
    pub(super) data: PathBuf,
}

impl Deref for Member {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    pub member: u64,
    /// The id of the member's leader; 0 without a leader.
    pub leader: u64,
    pub term: u64,
    pub revision: u64,
}

impl Status {
    /// Whether the member claims to be the leader.
    pub fn leads(self) -> bool {
        self.member == self.leader
    }
}

impl Member {
    pub fn endpoint(&self) -> &str {
        self.url()
    }

    /// Waits until the member answers a linearizable read, which takes a quorum.
    pub fn wait_ready(&self) -> Result<(), Error> {
        self.wait(|| self.answers_at(self.url()))
    }

    /// Whether the member at `url` answers a linearizable read; the error says why not.
    pub(super) fn answers_at(&self, url: &str) -> Result<(), String> {
        let ask = ["--command-timeout=2s", "get", "tenure-services-ready"];
        let answer = self.control(url, &ask);
        answer.map(drop).map_err(|error| format!("does not answer: {error}"))
    }

    /// The status of the member, also without a quorum.
    pub fn status(&self) -> Result<Status, Error> {
        let ask = ["--command-timeout=5s", "endpoint", "status", "--write-out=fields"];
        let said = self.etcdctl(&ask)?;
        let field = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(&format!("\"{name}\" :")));
            line.and_then(|value| value.trim().parse().ok())
        };
        let status = || {
            let member = field("MemberID")?;
            let leader = field("Leader")?;
            Some(Status { member, leader, term: field("RaftTerm")?, revision: field("Revision")? })
        };
        status().ok_or_else(|| Error::Missing {
            what: format!("`etcdctl endpoint status` has no ids in its answer:\n{said}"),
            remedy: "This etcdctl has another form of answer: adapt `Member::status`.".into(),
        })
    }

    /// Runs `etcdctl` with the endpoint of this member only, and returns its standard output.
    pub fn etcdctl(&self, arguments: &[&str]) -> Result<String, Error> {
        self.control(self.url(), arguments)
    }

    pub(super) fn control(&self, endpoints: &str, arguments: &[&str]) -> Result<String, Error> {
        // The tool's own timeouts are too short for a slow machine: 5 s, and 2 s for a login. Some
        // commands have no timeout. The tool uses the last of several timeouts.
        let bounded = [&[COMMAND_TIMEOUT, LOGIN_TIMEOUT][..], arguments].concat();
        let mut command = Command::new("env");
        command.args(self.control_words(endpoints, &bounded));
        clean_environment(&mut command);
        let output = tool::run(&mut command)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The words of a command of `etcdctl`, after `env`.
    pub(super) fn control_words(&self, endpoints: &str, arguments: &[&str]) -> Vec<String> {
        let Shared { version, binaries, tls, user } = &*self.shared;
        let mut words = Vec::new();
        // Newer versions use only version 3 of the API, and complain about the variable.
        if *version == Version::Oldest {
            words.push("ETCDCTL_API=3".to_owned());
        }
        words.extend(self.wrapper.iter().cloned());
        let etcdctl = binaries.etcdctl.display().to_string();
        words.extend([etcdctl, format!("--endpoints={endpoints}")]);
        words.extend(tls.iter().flat_map(Tls::of_client));
        let user = user.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(user.iter().map(|user| format!("--user={user}")));
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        words
    }
}

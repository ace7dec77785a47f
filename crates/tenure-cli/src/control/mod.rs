//! The sockets over which runners and nodes take commands.
//!
//! One for each runner and each node of this user on this machine, in a directory of the user's
//! own. Election names may be longer than a socket's path, so the election and the cluster
//! appear as a hash; the process that answers says which election it is.

mod client;
mod named;
mod server;
mod socket_file;

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;
use tenure_core::{ClusterName, ElectionName, NodeName};

use crate::environment::Environment;
use crate::protocol::Realm;

pub use client::{ask, ask_for, find_leader, held_up_by, status};
pub use server::{Asked, Server};

use serde::{Deserialize, Serialize};

/// How many bytes of a socket's path, which has 107, are left for a name: `/run/user/4294967295`
/// and `/tenure/` take 28, `node-`, a hash, `-` and `.sock` 27.
const NAME_MAX: usize = 52;

/// A request to a runner or a node: one line of JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Report the status.
    Status,
    /// Stop CMD, and resign.
    Resign,
    /// Stop CMD, and hand the leadership over.
    Transfer {
        /// To the candidate with this name.
        to: String,
        /// For how many milliseconds to wait until a leader is seen; none is not to wait.
        #[serde(default)]
        wait_ms: Option<u64>,
    },
}

/// What it answers: one line of JSON.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Done, with the status after it.
    Done(serde_json::Value),
    /// Refused, for this reason.
    Refused {
        /// What is the matter.
        what: String,
        /// What to do.
        fix: String,
    },
}

impl Answer {
    /// The same status with what is worth a look.
    #[must_use]
    pub fn warned(mut self, warning: Option<String>) -> Self {
        if let Self::Done(status) = &mut self {
            status["warning"] = warning.into();
        }
        self
    }
}

/// The directory of this user's sockets: `$XDG_RUNTIME_DIR/tenure`, else `/tmp/tenure-UID`.
/// Created with mode 0700; one that is there must be the user's own.
#[must_use]
pub fn directory(environment: &Environment) -> PathBuf {
    match environment.variable("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("tenure"),
        None => format!("/tmp/tenure-{}", rustix::process::geteuid().as_raw()).into(),
    }
}

/// The file with the deadline of the runner whose control socket is at `control`. All of the
/// socket's name is in it: two runners have one directory, and names that differ anywhere.
#[must_use]
pub fn until_file(control: &Path) -> PathBuf {
    let mut name = control.as_os_str().to_owned();
    name.push(".until");
    name.into()
}

/// How the names of all sockets end. Other files of theirs are beside them.
const SOCKET: &str = ".sock";

/// The socket's file name of the candidate `id`.
#[must_use]
pub fn runner(realm: &Realm, election: &ElectionName, id: &NodeName) -> String {
    format!("{}{}{SOCKET}", runners(realm, election), label(id))
}

/// What the file names of all runners of an election begin with: several may run on one
/// machine.
#[must_use]
pub fn runners(realm: &Realm, election: &ElectionName) -> String {
    let election = election.as_str();
    format!("run-{:016x}-", hash(&[realm.protocol, &realm.name, election]))
}

/// The socket's file name of a node.
#[must_use]
pub fn node(cluster: &ClusterName, name: &NodeName) -> String {
    format!("node-{:016x}-{}{SOCKET}", hash(&[cluster.as_str()]), label(name))
}

/// As much of a name as a socket's path has room for. A longer one ends in a hash of the whole.
fn label(name: &NodeName) -> String {
    let name = name.as_str();
    match name.get(..NAME_MAX - 17) {
        Some(begin) if name.len() > NAME_MAX => format!("{begin}-{:016x}", hash(&[name])),
        _ => name.to_owned(),
    }
}

fn hash(parts: &[&str]) -> u64 {
    let mut hasher = SipHasher13::new();
    for part in parts {
        hasher.write(part.as_bytes());
        // No name holds a zero byte, so two lists never run together.
        hasher.write_u8(0);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runner_has_a_file_of_its_own_that_fits() {
        let realm = |protocol, setting, name: &str| Realm {
            protocol,
            setting,
            name: name.into(),
            roster: None,
        };
        let cluster = realm("nerio", "cluster", &"c".repeat(32));
        let election = ElectionName::new(&"e".repeat(64)).unwrap();
        for length in 1..=NodeName::MAX_BYTES {
            let name = |end: char| format!("{}{end}", "i".repeat(length - 1)).parse().unwrap();
            let [a, b] = ['a', 'b'].map(|end| runner(&cluster, &election, &name(end)));
            assert!(a.starts_with(&runners(&cluster, &election)));
            assert_ne!(a, b, "names that differ where they are cut");
            let node = node(&ClusterName::new("c").unwrap(), &name('a'));
            // A socket's path holds 107 bytes.
            let directory = "/run/user/4294967295/tenure/".len();
            assert!(directory + a.len().max(node.len()) <= 107, "{a} {node}");
        }
        assert_ne!(hash(&["a", "bc"]), hash(&["ab", "c"]));
        let elsewhere = |name| runners(&realm("other", "namespace", name), &election);
        assert_ne!(elsewhere(""), elsewhere("app/"));
        assert_ne!(elsewhere("x"), runners(&realm("nerio", "cluster", "x"), &election));
    }

    #[test]
    fn runners_that_differ_behind_a_dot_have_files_of_their_own() {
        let files = ["web.1", "web.2", "web", ".web", "web."].map(|name| {
            let file = until_file(&Path::new("/run/tenure").join(name));
            assert_eq!(file, Path::new("/run/tenure").join(format!("{name}.until")));
            file
        });
        assert_eq!(files.iter().collect::<std::collections::BTreeSet<_>>().len(), files.len());
    }

    #[test]
    fn the_directory_is_the_users_own() {
        let with =
            |value: &str| directory(&Environment::new([("XDG_RUNTIME_DIR".into(), value.into())]));
        assert_eq!(with("/run/user/7"), PathBuf::from("/run/user/7/tenure"));
        assert!(with("").to_string_lossy().starts_with("/tmp/tenure-"));
    }
}

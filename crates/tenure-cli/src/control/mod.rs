//! The sockets on which runners and nodes accept commands.
//!
//! Each runner and each node of this user on this machine has a socket, in a directory of the
//! user's own. Election names may be longer than a socket's path, so the path has a hash of the
//! election and the cluster. The answering process names its election.

mod server;
pub(crate) mod socket_file;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;
use tenure_core::{ClusterName, ElectionName, NodeName};

use crate::exit::Exit;
use crate::failure::Failure;

pub use server::{Call, Server};

use serde::{Deserialize, Serialize};

/// The bytes for a name in a socket's path, which has at most 107: `/run/user/4294967295` and
/// `/tenure/` take 28; `node-`, a hash, `-` and `.sock` take 27.
const NAME_MAX: usize = 52;

/// A request to a runner or a node: one line of JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    Status,
    /// Report the users of each key.
    Keys,
    /// Compare the clocks of this node and of the members anew.
    ClearBreach,
    Resign,
    /// Stop every CMD of the process, give back all roles, and campaign for them again.
    ResignAll,
    /// Report the roles for which the process stands.
    Roles,
    /// Stand for these roles, too; both ends are included.
    AddRoles {
        first: u32,
        last: u32,
    },
    /// Stop the CMDs of these roles, give up the roles, and stand for them no more.
    RemoveRoles {
        first: u32,
        last: u32,
    },
    /// Stop CMD, and hand the leadership over.
    Transfer {
        to: String,
        /// The longest wait for the next leader in milliseconds; `None` does not wait.
        #[serde(default)]
        wait_ms: Option<u64>,
    },
    /// Create an edict of the leadership with this fence.
    Edict {
        fence: u64,
    },
}

/// An answer: a line of JSON.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The request is done; the status follows.
    Done(serde_json::Value),
    Refused {
        what: String,
        fix: String,
    },
}

/// The first words of the refusal of a request that the process does not know.
pub(crate) const UNKNOWN_REQUEST: &str = "not a request: ";

/// The refusal of an order by a runner whose CMD is being stopped.
pub(crate) const STEPS_DOWN: &str = "the runner is stepping down already";

impl Answer {
    /// Adds a warning for the operator to the status.
    #[must_use]
    pub fn warned(mut self, warning: Option<String>) -> Self {
        if let Self::Done(status) = &mut self {
            status["warning"] = warning.into();
        }
        self
    }
}

/// The variable with a user's runtime directory, in which the directory of the sockets is.
pub(crate) const RUNTIME_DIRECTORY: &str = "XDG_RUNTIME_DIR";

/// The directory of this user's sockets: `$XDG_RUNTIME_DIR/tenure`, else `/tmp/tenure-UID`. The
/// first process creates it with mode 0700.
#[must_use]
pub fn directory(runtime: Option<&OsStr>) -> PathBuf {
    match runtime.filter(|directory| !directory.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("tenure"),
        None => format!("/tmp/tenure-{}", rustix::process::geteuid().as_raw()).into(),
    }
}

/// The file with the deadline of the runner whose control socket is at `control`. The file's name
/// has the whole name of the socket, so that runners in one directory never share a file.
#[must_use]
pub fn until_file(control: &Path) -> PathBuf {
    let mut name = control.as_os_str().to_owned();
    name.push(".until");
    name.into()
}

/// The control socket of the runner whose deadline is in the file at `until`.
#[must_use]
pub fn socket_of(until: &Path) -> Option<PathBuf> {
    let control = until.with_extension("");
    (until == until_file(&control)).then_some(control)
}

/// Checks that the file with the deadline can be written beside the control socket. A socket needs
/// no room on a disk, but CMD does not start without that file.
pub fn check_room(control: &Path) -> Result<(), Failure> {
    let mut name = until_file(control).into_os_string();
    name.push(".try");
    let path = PathBuf::from(name);
    // Remove a file that a killed process left, and create a new file: never write to an existing
    // file.
    let _ = fs::remove_file(&path);
    let written = File::create_new(&path).and_then(|file| take_room(&file));
    let _ = fs::remove_file(&path);
    written.map_err(|error| no_until_file(&until_file(control), &error))
}

/// Writes more bytes than a deadline has; some disks allocate room only at the first write.
fn take_room(mut file: &File) -> io::Result<()> {
    file.write_all(&[b'0'; 64])?;
    file.sync_all()
}

pub fn no_until_file(path: &Path, error: &io::Error) -> Failure {
    let what =
        format!("{}: cannot write the file that tells CMD its deadline: {error}", path.display());
    let fix = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there (4 KiB is enough), or give --control PATH on another file system"
        }
        _ => "give --control PATH in a directory where this user may write files",
    };
    Failure::new(Exit::System, what, fix)
}

/// The suffix of every socket's name. Other files of the process are beside the socket.
pub(crate) const SOCKET: &str = ".sock";

/// The realm of an election. Two realms may have elections of one name on one machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Realm {
    pub protocol: &'static str,
    /// Name of the [realm setting](crate::protocol::Protocol::realm), such as `cluster`.
    pub setting: &'static str,
    pub name: String,
    /// Name and value of the [roster](crate::protocol::Protocol::roster) that a whole realm shares,
    /// if given.
    pub roster: Option<(&'static str, String)>,
}

/// The file name of the socket of candidate `id`, with a role if the election has roles.
#[must_use]
pub fn runner(realm: &Realm, election: &ElectionName, id: &NodeName, role: Option<u32>) -> String {
    let runners = runners(realm, election);
    match role {
        None => format!("{runners}{}{SOCKET}", label(id, NAME_MAX)),
        Some(role) => {
            let role = format!("-{role}");
            format!("{runners}{}{role}{SOCKET}", label(id, NAME_MAX - role.len()))
        }
    }
}

/// The common prefix of the file names of an election's runners.
#[must_use]
pub fn runners(realm: &Realm, election: &ElectionName) -> String {
    let election = election.as_str();
    format!("run-{:016x}-", hash(&[realm.protocol, &realm.name, election]))
}

/// The file name of a node's socket.
#[must_use]
pub fn node(cluster: &ClusterName, name: &NodeName) -> String {
    format!("node-{:016x}-{}{SOCKET}", hash(&[cluster.as_str()]), label(name, NAME_MAX))
}

/// As much of a name as fits in `room`. A longer name ends in a hash of the whole name.
fn label(name: &NodeName, room: usize) -> String {
    let name = name.as_str();
    match name.get(..room - 17) {
        Some(begin) if name.len() > room => format!("{begin}-{:016x}", hash(&[name])),
        _ => name.to_owned(),
    }
}

fn hash(parts: &[&str]) -> u64 {
    let mut hasher = SipHasher13::new();
    for part in parts {
        hasher.write(part.as_bytes());
        // No name has a zero byte, so different lists never give the same bytes.
        hasher.write_u8(0);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_reported_before_campaigns() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let told = no_until_file(Path::new("c.until"), &take_room(&full).unwrap_err());
        assert!(told.what.contains("No space left on device"), "{}", told.what);
        assert!(told.fix.contains("make room there"), "{}", told.fix);
    }

    #[test]
    fn look_for_room_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let control = folder.path().join("c");
        let other = folder.path().join("other");
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("c.until.try")).unwrap();
        check_room(&control).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_runner_has_its_file() {
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
            for role in [None, Some(0), Some(u32::MAX)] {
                let [a, b] = ['a', 'b'].map(|end| runner(&cluster, &election, &name(end), role));
                assert!(a.starts_with(&runners(&cluster, &election)));
                assert_ne!(a, b, "names that differ where they are cut");
                // A socket's path holds 107 bytes.
                assert!("/run/user/4294967295/tenure/".len() + a.len() <= 107, "{a}");
            }
            let node = node(&ClusterName::new("c").unwrap(), &name('a'));
            assert!("/run/user/4294967295/tenure/".len() + node.len() <= 107, "{node}");
        }
        assert_ne!(hash(&["a", "bc"]), hash(&["ab", "c"]));
        let elsewhere = |name| runners(&realm("other", "namespace", name), &election);
        assert_ne!(elsewhere(""), elsewhere("app/"));
        assert_ne!(elsewhere("x"), runners(&realm("nerio", "cluster", "x"), &election));
    }

    #[test]
    fn names_with_dots_have_own_files() {
        let files = ["web.1", "web.2", "web", ".web", "web."].map(|name| {
            let file = until_file(&Path::new("/run/tenure").join(name));
            assert_eq!(file, Path::new("/run/tenure").join(format!("{name}.until")));
            assert_eq!(socket_of(&file), Some(Path::new("/run/tenure").join(name)));
            file
        });
        assert_eq!(files.iter().collect::<std::collections::BTreeSet<_>>().len(), files.len());
    }

    #[test]
    fn directory_belongs_to_the_user() {
        let with = |value: &str| directory(Some(OsStr::new(value)));
        assert_eq!(with("/run/user/7"), PathBuf::from("/run/user/7/tenure"));
        assert!(with("").to_string_lossy().starts_with("/tmp/tenure-"));
    }
}

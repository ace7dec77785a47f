//! The directory of the demo, with its files.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getpid};
use tempfile::TempDir;
use tenure::{ClusterName, NodeName};
use tenure_nerio::{Checked, Config, Member};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::demo::DemoSettings;

pub(super) const ELECTION: &str = "demo";
pub(super) const GRANTORS: [&str; 3] = ["a", "b", "c"];
pub(super) const CANDIDATES: [&str; 2] = ["ann", "ben"];

/// The ports of the grantors, on an address of the demo's own. The system assigns none of these
/// ports to processes that ask for any port, so they stay free until a node binds them.
const PORTS: Range<u16> = 7_400..7_500;

/// A Unix socket's path has at most 107 bytes, and the longest name here is `/resign.log`.
const PATH_MAX: usize = 107 - 12;

/// The directory of the demo. A drop removes the directory, unless the user keeps it.
pub(super) struct WorkDir {
    directory: TempDir,
    path: PathBuf,
    pub(super) config: Checked,
}

impl WorkDir {
    /// Makes the directory, with a settings file for all processes and an empty file for the work.
    pub(super) fn new(settings: &DemoSettings) -> Result<Self, Failure> {
        let parent = std::env::temp_dir();
        let fix = "set TMPDIR to a directory where this user may write";
        let refused = |error: io::Error| {
            let parent = parent.display();
            let what = format!("the demo's directory cannot be made in {parent}: {error}");
            Failure::new(Exit::System, what, fix)
        };
        let mut builder = tempfile::Builder::new();
        let directory = builder.prefix("tenure-demo-").tempdir().map_err(refused)?;
        let path = directory.path().canonicalize().map_err(refused)?;
        if path.as_os_str().len() > PATH_MAX {
            let (path, bytes) = (path.display(), path.as_os_str().len());
            let what = format!(
                "no socket can be made in {path}: its path would have {bytes} bytes, and at most \
                 {PATH_MAX} fit"
            );
            return Err(Failure::new(Exit::System, what, "set TMPDIR to a shorter path"));
        }
        let config = config(settings)?;
        let workdir = Self { directory, path, config };
        File::create(workdir.work()).map_err(refused)?;
        fs::write(workdir.settings(), workdir.toml(settings)).map_err(refused)?;
        Ok(workdir)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn settings(&self) -> PathBuf {
        self.path.join("tenure.toml")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    pub(super) fn state(&self, grantor: &str) -> PathBuf {
        self.path.join(grantor)
    }

    pub(super) fn control(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.sock"))
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.log"))
    }

    pub(super) fn keep(&mut self) {
        self.directory.disable_cleanup(true);
    }

    fn toml(&self, settings: &DemoSettings) -> String {
        let members: Vec<String> =
            self.config.members.iter().map(|m| format!("{}={}", m.name, m.address)).collect();
        let span = humantime::format_duration;
        format!(
            "election = \"{ELECTION}\"\ncluster = \"{}\"\nmembers = \"{}\"\nlease = \"{}\"\n\
             grace = \"{}\"\nkill-margin = \"{}\"\n",
            self.config.cluster,
            members.join(","),
            span(settings.lease),
            span(settings.grace),
            span(self.config.kill_margin),
        )
    }
}

fn config(settings: &DemoSettings) -> Result<Checked, Failure> {
    let bug = |error: String| {
        Failure::new(Exit::Bug, format!("the demo's cluster is refused: {error}"), "report it")
    };
    let cluster: ClusterName = "demo".parse().map_err(|error| bug(format!("{error}")))?;
    let mut members = Vec::new();
    for (name, address) in GRANTORS.into_iter().zip(free_addresses(own_address(getpid()))?) {
        let name: NodeName = name.parse().map_err(|error| bug(format!("{error}")))?;
        members.push(Member::at(name, address));
    }
    let mut config = Config::new(cluster, members).with_lease(settings.lease);
    config.grace = settings.grace;
    // A busy machine may stand still for this long when a lease ends.
    config.kill_margin = settings.grace / 2;
    config.check().map_err(|error| bug(error.to_string()))
}

/// The loopback address of the demo with this process number. The number has at most 22 bits, so
/// two demos on one machine have different addresses.
fn own_address(pid: Pid) -> Ipv4Addr {
    let [_, high, middle, low] = pid.as_raw_pid().to_be_bytes();
    Ipv4Addr::new(127, 64 | (high & 63), middle, low)
}

/// Addresses at which no process receives datagrams, even through a socket on all addresses.
fn free_addresses(own: Ipv4Addr) -> Result<Vec<SocketAddr>, Failure> {
    let mut found = Vec::new();
    let mut refused = None;
    for port in PORTS {
        match UdpSocket::bind((own, port)) {
            Ok(_) => found.push(SocketAddr::from((own, port))),
            Err(error) => refused = Some(error),
        }
        if found.len() == GRANTORS.len() {
            return Ok(found);
        }
    }
    let why = refused.map_or_else(String::new, |error| format!(": {error}"));
    let what = format!("too few of the ports {PORTS:?} are free on {own}{why}");
    let fix = "check the loopback interface of this machine";
    Err(Failure::new(Exit::System, what, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_ports_are_passed_over() {
        let own = own_address(getpid());
        let before = free_addresses(own).unwrap();
        let taken = UdpSocket::bind(before[1]).unwrap();
        let after = free_addresses(own).unwrap();
        assert_eq!((after[0], after.len()), (before[0], GRANTORS.len()));
        assert!(!after.contains(&before[1]), "{after:?}");
        drop(taken);
        // No process can have this number, so its address is unused.
        let other = own_address(Pid::from_raw((1 << 22) - 1).unwrap());
        assert_eq!(other, Ipv4Addr::new(127, 127, 255, 255));
        assert!(free_addresses(other).unwrap().iter().all(|address| !before.contains(address)));
    }
}

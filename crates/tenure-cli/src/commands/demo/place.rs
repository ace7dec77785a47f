//! The directory of the demo, and what is in it.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure::nerio::{Checked, Config, Member};
use tenure::{ClusterName, NodeName};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::demo::DemoSettings;

/// What the candidates contend for.
pub(super) const ELECTION: &str = "demo";
/// Who grants.
pub(super) const GRANTORS: [&str; 3] = ["a", "b", "c"];
/// Who contends.
pub(super) const CANDIDATES: [&str; 2] = ["ann", "ben"];

/// A Unix socket's path has at most 107 bytes, and the longest name here is `/resign.log`.
const PATH_MAX: usize = 107 - 12;

/// The directory, removed when dropped unless it is kept.
pub(super) struct Place {
    directory: TempDir,
    path: PathBuf,
    pub(super) config: Checked,
}

impl Place {
    /// Makes it, with a settings file for everybody and an empty file for the work.
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
                "no socket can be made in {path}: it has {bytes} bytes, at most {PATH_MAX} fit"
            );
            return Err(Failure::new(Exit::System, what, "set TMPDIR to a shorter path"));
        }
        let config = config(settings)?;
        let place = Self { directory, path, config };
        File::create(place.work()).map_err(refused)?;
        fs::write(place.settings(), place.toml(settings)).map_err(refused)?;
        Ok(place)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The settings file: whoever wants to join in from another terminal needs only this.
    pub(super) fn settings(&self) -> PathBuf {
        self.path.join("tenure.toml")
    }

    /// The file that the leaders write.
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

    /// Leaves it behind.
    pub(super) fn keep(&mut self) {
        self.directory.disable_cleanup(true);
    }

    fn toml(&self, settings: &DemoSettings) -> String {
        let members: Vec<String> =
            self.config.members.iter().map(|m| format!("{}={}", m.name, m.address)).collect();
        let span = humantime::format_duration;
        format!(
            "election = \"{ELECTION}\"\ncluster = \"{}\"\nmembers = \"{}\"\nlease = \"{}\"\n\
             grace = \"{}\"\n",
            self.config.cluster,
            members.join(","),
            span(settings.lease),
            span(settings.grace),
        )
    }
}

fn config(settings: &DemoSettings) -> Result<Checked, Failure> {
    let bug = |error: String| {
        Failure::new(Exit::Bug, format!("the demo's cluster is refused: {error}"), "report it")
    };
    let cluster: ClusterName = "demo".parse().map_err(|error| bug(format!("{error}")))?;
    let mut members = Vec::new();
    for (name, address) in GRANTORS.into_iter().zip(free_addresses()?) {
        let name: NodeName = name.parse().map_err(|error| bug(format!("{error}")))?;
        members.push(Member { name, address });
    }
    let mut config = Config::new(cluster, members).with_lease(settings.lease);
    config.grace = settings.grace;
    config.check().map_err(|error| bug(error.to_string()))
}

/// Ports that were free a moment ago. A node that finds its port taken says so.
fn free_addresses() -> Result<Vec<SocketAddr>, Failure> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let sockets: io::Result<Vec<UdpSocket>> = GRANTORS.iter().map(|_| bind()).collect();
    let addresses = sockets.and_then(|all| all.iter().map(UdpSocket::local_addr).collect());
    addresses.map_err(|error| {
        let what = format!("no port can be had on {}: {error}", Ipv4Addr::LOCALHOST);
        Failure::new(Exit::System, what, "look at the loopback interface of this machine")
    })
}

//! Real services: got for the tests, and started by hand.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

use clap::{Args, Subcommand, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use tenure_services::etcd::{self, Cluster, Version};
use tenure_services::protoc;

use crate::error::Error;

/// The arguments for `cargo` that get all services.
pub(crate) const COMMAND: &str = "xtask services all";

/// Which services.
#[derive(Subcommand)]
pub(crate) enum Service {
    /// Get everything that tests run against or are built with.
    All,
    /// Get etcd: 3.4 from Debian's packages, and the newest, built from its Go module.
    Etcd(Etcd),
}

#[derive(Args)]
pub(crate) struct Etcd {
    /// Start a cluster, print its endpoints, and end it at Ctrl-C. Its data is gone then.
    #[arg(long)]
    start: bool,
    /// How many members to start.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "start")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=9))]
    members: u8,
    /// This version only; without it, all are got, and the newest is started.
    #[arg(long = "version", value_name = "VERSION")]
    which: Option<Which>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    #[value(name = "3.4")]
    Debian34,
    Newest,
}

impl From<Which> for Version {
    fn from(which: Which) -> Self {
        match which {
            Which::Debian34 => Self::Debian34,
            Which::Newest => Self::Newest,
        }
    }
}

/// Gets a service, and starts it if asked to.
pub(crate) fn run(service: &Service) -> Result<(), Error> {
    let Service::Etcd(chosen) = service else { return install_all() };
    let version = chosen.which.map(Version::from);
    if chosen.start {
        return start(version.unwrap_or(Version::Newest), chosen.members.into());
    }
    match version {
        Some(version) => install(version),
        None => Version::ALL.into_iter().try_for_each(install),
    }
}

/// Gets everything that the tests need and is not there.
pub(crate) fn install_all() -> Result<(), Error> {
    protoc::ensure()?;
    Version::ALL.into_iter().try_for_each(install)
}

fn install(version: Version) -> Result<(), Error> {
    println!("{version}: a minute or two, unless it is there");
    let programs = etcd::install(version)?;
    println!("{version}: {}", programs.etcd.display());
    Ok(())
}

fn start(version: Version, members: usize) -> Result<(), Error> {
    // From here on Ctrl-C is news, so that the cluster is dropped.
    let interrupted = signals().map_err(|source| Error::Read { path: "signals".into(), source })?;
    let cluster = Cluster::start(version, members)?;
    for member in cluster.members() {
        let pid = member.pid().unwrap_or_default();
        println!("{version} at {} (process {pid})", member.endpoint());
    }
    let etcdctl = cluster.binaries().etcdctl.display();
    let endpoints = cluster.endpoints().join(",");
    println!("\n    ETCDCTL_API=3 {etcdctl} --endpoints={endpoints} member list\n");
    println!("Data and logs are in {}. Ctrl-C ends it.", cluster.folder().display());
    wait(interrupted);
    Ok(())
}

fn signals() -> io::Result<UnixStream> {
    let (interrupted, at_signal) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, at_signal.try_clone()?)?;
    }
    Ok(interrupted)
}

/// Until the first byte; a failure to read ends it as well.
fn wait(mut interrupted: UnixStream) {
    let _ = interrupted.read_exact(&mut [0]);
}

//! Real services: got for the tests, and started by hand.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

use clap::Args;
use clap::builder::PossibleValuesParser;
use signal_hook::consts::{SIGINT, SIGTERM};
use tenure_services::{ALL, Service};

use crate::error::Error;

/// The arguments for `cargo` that get all services.
pub(crate) const COMMAND: &str = "xtask services all";

/// What stands for each of them.
const EACH: &str = "all";

/// Which services, and whether to start them.
#[derive(Args)]
pub(crate) struct Selection {
    /// `all`: everything that tests run against or are built with; each is an older version and the
    /// newest that was looked at, from a package registry.
    #[arg(value_name = "SERVICE", value_parser = PossibleValuesParser::new(names()))]
    service: String,
    /// Start one, print how it is reached, and end it at Ctrl-C. Its data is gone then.
    #[arg(long)]
    start: bool,
    /// How many members or servers to start, as a cluster if there are several.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "start")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=9))]
    members: u8,
    /// This version only; without it, all are got, and the newest is started.
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

fn names() -> Vec<&'static str> {
    [EACH].into_iter().chain(ALL.iter().map(|service| service.name)).collect()
}

/// Gets a service, and starts it if asked to.
pub(crate) fn run(chosen: &Selection) -> Result<(), Error> {
    let Some(service) = named(&chosen.service) else {
        return match (chosen.start, &chosen.version) {
            (false, None) => install_all(),
            _ => Err(Error::Missing {
                what: "--start and --version are about one service".into(),
                remedy: format!("Name it: {}.", names()[1..].join(", ")),
            }),
        };
    };
    let version = chosen.version.as_deref().map(|name| version(service, name)).transpose()?;
    match version {
        version if chosen.start => {
            start(service, version.unwrap_or(service.versions.len() - 1), chosen.members.into())
        }
        Some(version) => install(service, version),
        None => install_each(service),
    }
}

/// The service called `name`.
pub(crate) fn named(name: &str) -> Option<&'static Service> {
    ALL.into_iter().find(|service| service.name == name)
}

fn version(service: &Service, name: &str) -> Result<usize, Error> {
    let found = service.versions.iter().position(|version| *version == name);
    found.ok_or_else(|| Error::Missing {
        what: format!("{} {name} is no version that tests run against", service.name),
        remedy: format!("They are: {}.", service.versions.join(", ")),
    })
}

/// Gets everything that the tests need and is not there.
pub(crate) fn install_all() -> Result<(), Error> {
    tenure_services::build_tools()?;
    ALL.into_iter().try_for_each(install_each)
}

fn install_each(service: &Service) -> Result<(), Error> {
    (0..service.versions.len()).try_for_each(|version| install(service, version))
}

fn install(service: &Service, version: usize) -> Result<(), Error> {
    let name = format!("{} {}", service.name, service.versions[version]);
    println!("{name}: {}, unless it is there", service.takes);
    println!("{name}: {}", (service.install)(version)?.display());
    Ok(())
}

fn start(service: &Service, version: usize, members: usize) -> Result<(), Error> {
    // From here on Ctrl-C is news, so that the cluster is dropped.
    let interrupted = signals().map_err(|source| Error::Read { path: "signals".into(), source })?;
    let started = (service.start)(version, members)?;
    println!("{}", started.said);
    println!("Data and logs are in {}. Ctrl-C ends it.", started.folder.display());
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

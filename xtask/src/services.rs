//! Real services: installed for the tests, and started by hand.

use clap::Args;
use clap::builder::PossibleValuesParser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tenure_services::{ALL, Service, monitoring};

use crate::error::Error;

/// The arguments for `cargo` that install all services.
pub(crate) const COMMAND: &str = "xtask services all";

/// Name for all services.
const EACH: &str = "all";

/// The services to install, and whether to start them.
#[derive(Args)]
pub(crate) struct Selection {
    /// Service to install, or `all`: an older version and the newest version that the tests know,
    /// from a package registry.
    #[arg(value_name = "SERVICE", value_parser = PossibleValuesParser::new(names()))]
    service: String,
    /// Start the newest version, print its addresses, and end it at Ctrl-C. Its data is then
    /// removed.
    #[arg(long)]
    start: bool,
    /// Number of members or servers to start; several form a cluster.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "start")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=9))]
    members: u8,
}

fn names() -> impl Iterator<Item = &'static str> {
    [EACH].into_iter().chain(ALL.iter().map(|service| service.name))
}

/// Installs a service, and starts it with `--start`.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    if selection.service == EACH && !selection.start {
        return install_all();
    }
    let service = named(&selection.service)?;
    if selection.start {
        return start(service, selection.members.into());
    }
    install_each(service)
}

/// The service called `name`.
pub(crate) fn named(name: &str) -> Result<&'static Service, Error> {
    let found = ALL.into_iter().find(|service| service.name == name);
    found.ok_or_else(|| Error::Said(format!("`{name}` is no single service: name one")))
}

/// Installs the newest version of a service, and the build tools of its client library.
pub(crate) fn install_newest(name: &str) -> Result<(), Error> {
    let service = named(name)?;
    (service.build_tools)()?;
    install(service, newest(service))
}

fn newest(service: &Service) -> usize {
    service.versions.len() - 1
}

/// Installs every service that the tests need and that is missing.
pub(crate) fn install_all() -> Result<(), Error> {
    tenure_services::build_tools()?;
    for tool in [monitoring::promtool()?, monitoring::haproxy()?] {
        println!("{}", tool.display());
    }
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

fn start(service: &Service, members: usize) -> Result<(), Error> {
    // From here on a signal ends only the wait below, not the process, so that the cluster is
    // dropped.
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|source| Error::Read { path: "signals".into(), source })?;
    let started = (service.start)(newest(service), members)?;
    println!("{}", started.said);
    println!("Data and logs are in {}. Ctrl-C ends it.", started.folder.display());
    signals.forever().next();
    Ok(())
}

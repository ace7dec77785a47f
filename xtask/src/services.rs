//! Real services: got for the tests, and started by hand.

use clap::Args;
use clap::builder::PossibleValuesParser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tenure_services::{ALL, Service};

use crate::error::Error;

/// The arguments for `cargo` that get all services.
pub(crate) const COMMAND: &str = "xtask services all";

/// Name for all services.
const EACH: &str = "all";

/// Which services, and whether to start them.
#[derive(Args)]
pub(crate) struct Selection {
    /// `all`: everything that tests run against or are built with; each is an older version and the
    /// newest that was looked at, from a package registry.
    #[arg(value_name = "SERVICE", value_parser = PossibleValuesParser::new(names()))]
    service: String,
    /// Start the newest, print how it is reached, and end it at Ctrl-C. Its data is gone then.
    #[arg(long)]
    start: bool,
    /// How many members or servers to start, as a cluster if there are several.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "start")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=9))]
    members: u8,
}

fn names() -> impl Iterator<Item = &'static str> {
    [EACH].into_iter().chain(ALL.iter().map(|service| service.name))
}

/// Gets a service, and starts it if asked to.
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
    found.ok_or_else(|| Error::Said(format!("`{name}` is not one service")))
}

/// Gets the newest of a service, and what its client is built with.
pub(crate) fn install_newest(name: &str) -> Result<(), Error> {
    let service = named(name)?;
    (service.build_tools)()?;
    install(service, newest(service))
}

fn newest(service: &Service) -> usize {
    service.versions.len() - 1
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

fn start(service: &Service, members: usize) -> Result<(), Error> {
    // From here on Ctrl-C is news, so that the cluster is dropped.
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|source| Error::Read { path: "signals".into(), source })?;
    let started = (service.start)(newest(service), members)?;
    println!("{}", started.said);
    println!("Data and logs are in {}. Ctrl-C ends it.", started.folder.display());
    signals.forever().next();
    Ok(())
}

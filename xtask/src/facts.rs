//! Facts on which the safety of our protocols rests, checked on real services.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols;
use crate::services;

/// The service whose facts are checked.
#[derive(Args)]
pub(crate) struct Selection {
    /// Service to check, in every version that tests run against. Takes half a minute to a few
    /// minutes.
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    service: String,
    /// Check this version, as v3.8.0, in place of the newest; `latest` asks the registry of the
    /// service.
    #[arg(long, value_name = "VERSION")]
    newest: Option<String>,
    /// Check only facts whose name contains this.
    filter: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    protocols::ALL.iter().filter_map(|protocol| protocol.service)
}

/// Prints a table of all facts, and fails if one of them has changed.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    let name = selection.service.as_str();
    let service = services::named(name)?;
    (service.build_tools)()?;
    let protocol = protocols::ALL.iter().find(|protocol| protocol.service == Some(name));
    let driver = protocol.unwrap_or(&protocols::ALL[0]).driver;
    let mut command = Cmd::cargo(&format!("test --quiet --package {driver} --test facts --"))
        .env("TESTS_LONG", "1");
    if let Some(newest) = &selection.newest {
        let latest = newest == "latest";
        let version = if latest { (service.latest)()? } else { newest.clone() };
        command = command.env(service.newest_variable, version);
    }
    selection.filter.iter().fold(command, Cmd::arg).run()
}

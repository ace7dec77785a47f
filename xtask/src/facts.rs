//! What the safety of our protocols rests on, checked on real services.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols;
use crate::services;
use crate::workspace::Workspace;

/// Facts of which service.
#[derive(Args)]
pub(crate) struct Selection {
    /// On every version of it that tests run against: half a minute, or a few.
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    service: String,
    /// Take this version for the newest, as v3.8.0; `latest` asks its registry.
    #[arg(long, value_name = "VERSION")]
    newest: Option<String>,
    /// Only facts whose name holds this.
    filter: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    protocols::ALL.iter().filter_map(|protocol| protocol.service)
}

/// Prints a table of all facts; fails when one of them has changed.
pub(crate) fn run(workspace: &Workspace, chosen: &Selection) -> Result<(), Error> {
    let name = chosen.service.as_str();
    let protocol = protocols::ALL.iter().find(|protocol| protocol.service == Some(name));
    let (Some(protocol), Some(service)) = (protocol, services::named(name)) else {
        return Err(Error::Missing {
            what: format!("there are no facts of {name}"),
            remedy: "Put it into ALL of tenure-services.".into(),
        });
    };
    (service.build_tools)()?;
    let driver = protocol.driver;
    let command = Cmd::cargo(&format!("test --quiet --package {driver} --test facts --"));
    let mut command = command.env("TESTS_LONG", "1");
    match chosen.newest.as_deref() {
        None => {}
        Some("latest") => command = command.env(service.newest_variable, (service.latest)()?),
        Some(version) => command = command.env(service.newest_variable, version),
    }
    chosen.filter.iter().fold(command, |command, filter| command.arg(filter)).run(workspace)
}

//! What our protocols rely on, checked on real services.

use clap::{Args, Subcommand};
use tenure_services::etcd::{self, NEWEST_VARIABLE};
use tenure_services::protoc;

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// Whose facts.
#[derive(Subcommand)]
pub(crate) enum Facts {
    /// Those of etcd, on every version that tests run against: half a minute.
    Etcd(Etcd),
}

#[derive(Args)]
pub(crate) struct Etcd {
    /// Take this version of the Go module for the newest, as v3.8.0; `latest` asks for it.
    #[arg(long, value_name = "VERSION")]
    newest: Option<String>,
    /// Only facts whose name holds this.
    filter: Option<String>,
}

/// Prints a table of all facts; fails when one of them has changed.
pub(crate) fn run(workspace: &Workspace, facts: &Facts) -> Result<(), Error> {
    let Facts::Etcd(chosen) = facts;
    protoc::ensure()?;
    let mut command = Cmd::cargo("test --quiet --package tenure-etcd --test facts --");
    match chosen.newest.as_deref() {
        None => {}
        Some("latest") => command = command.env(NEWEST_VARIABLE, etcd::latest()?),
        Some(version) => command = command.env(NEWEST_VARIABLE, version),
    }
    chosen.filter.iter().fold(command, |command, filter| command.arg(filter)).run(workspace)
}

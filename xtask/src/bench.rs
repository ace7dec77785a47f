//! `cargo xtask bench`: what elections cost, beside what nothing can do without.

use std::fmt::Write as _;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols::{self, Part, Protocol};
use crate::services;
use crate::workspace::Workspace;

#[derive(Args)]
#[command(after_help = parts())]
pub(crate) struct Selection {
    /// Whose elections.
    #[arg(default_value = protocols::ALL[0].name)]
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    protocol: String,
    /// Fewer rounds: a minute or so.
    #[arg(long)]
    quick: bool,
    /// Measure these only.
    #[arg(long, value_name = "PART", value_delimiter = ',', num_args = 1..)]
    only: Vec<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    protocols::ALL.iter().filter(|one| !one.parts.is_empty()).map(|protocol| protocol.name)
}

/// What the help says of what can be measured.
fn parts() -> String {
    let mut said = String::new();
    for protocol in protocols::ALL.iter().filter(|one| !one.parts.is_empty()) {
        let _ = writeln!(said, "Parts of {}:", protocol.name);
        for Part { name, about, .. } in protocol.parts {
            let _ = writeln!(said, "  {name:<10}{about}");
        }
    }
    said
}

/// Prints measurements and whether targets are met. One that is not is an error, after everything
/// was measured.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    let (protocol, commands) = commands(selection)?;
    if let Some(service) = protocol.service.and_then(services::named) {
        (service.build_tools)()?;
        (service.install)(service.versions.len() - 1)?;
    }
    all(workspace, &commands)
}

/// Runs all of them, whatever becomes of those before; the first error.
fn all(workspace: &Workspace, commands: &[Cmd]) -> Result<(), Error> {
    let done: Vec<_> = commands.iter().map(|command| command.run(workspace)).collect();
    done.into_iter().collect()
}

/// One command for each program that measures something wanted.
fn commands(selection: &Selection) -> Result<(&'static Protocol, Vec<Cmd>), Error> {
    let Selection { protocol, quick, only } = selection;
    let protocol = protocols::named(protocol).unwrap_or(&protocols::ALL[0]);
    if let Some(unknown) = only.iter().find(|name| protocol.parts.iter().all(|p| p.name != **name))
    {
        let known: Vec<_> = protocol.parts.iter().map(|part| part.name).collect();
        return Err(Error::Missing {
            what: format!("{unknown} is nothing that is measured of {}", protocol.name),
            remedy: format!("These are: {}.", known.join(", ")),
        });
    }
    let wanted = |part: &&Part| only.is_empty() || only.iter().any(|name| name == part.name);
    let wanted: Vec<&Part> = protocol.parts.iter().filter(wanted).collect();
    let commands = wanted.chunk_by(|one, next| one.bench == next.bench).map(|parts| {
        let (driver, bench) = (protocol.driver, parts[0].bench);
        let command = Cmd::cargo(&format!("bench --quiet --package {driver} --bench {bench}"));
        if parts[0].bench == parts[0].name {
            return command;
        }
        let names = parts.iter().map(|part| part.name);
        names.chain(quick.then_some("--quick")).fold(command.arg("--"), Cmd::arg)
    });
    Ok((protocol, commands.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(protocol: &str, quick: bool, only: &[&str]) -> Vec<String> {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        let (_, commands) =
            commands(&Selection { protocol: protocol.into(), quick, only }).unwrap();
        commands.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_unless_parts_are_named() {
        let bench = "cargo bench --quiet --package tenure --bench";
        let costs = format!("{bench} costs -- campaign handover keys question loss load");
        let memory = format!("{bench} memory");
        assert_eq!(said("nerio", false, &[]), [costs, memory.clone()]);
        assert_eq!(said("nerio", true, &["loss"]), [format!("{bench} costs -- loss --quick")]);
        assert_eq!(said("nerio", true, &["memory"]), [memory]);
        let selection = Selection { protocol: "nerio".into(), quick: true, only: vec!["x".into()] };
        assert!(commands(&selection).is_err());
    }

    #[test]
    fn a_target_that_is_not_met_is_told_after_all_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        let measured = folder.path().join("measured");
        let [missed, next] = [Cmd::new("false", ""), Cmd::new("touch", "")];
        let commands = [missed, next.arg(measured.to_str().unwrap())];
        let error = all(&Workspace::find(), &commands).unwrap_err();
        assert!(matches!(error, Error::Failed { command, .. } if command == "false"));
        assert!(measured.exists());
    }

    #[test]
    fn each_protocol_is_measured_by_its_driver() {
        for protocol in protocols::ALL.iter().filter(|one| !one.parts.is_empty()) {
            let package = format!("cargo bench --quiet --package {} --bench ", protocol.driver);
            let all = said(protocol.name, true, &[]);
            assert!(!all.is_empty() && all.iter().all(|one| one.starts_with(&package)), "{all:?}");
        }
    }
}

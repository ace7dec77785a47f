//! Parses the arguments into the checked settings of one command.

pub mod args;
pub mod ask;
pub mod doctor;
mod flag;
pub mod http;
pub mod nerio;
pub mod run;
mod short_help;
mod usage;
mod variables;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap_complete::Shell;
use tracing::level_filters::LevelFilter;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::explain;
use crate::failure::{Failure, quoted, warn_as_json};
use crate::protocol::{Layers, Registry};
use crate::settings::flags::Flags;
use crate::settings::{Context, Origin, parse, table};

#[derive(Debug)]
pub enum Reading<W> {
    /// A text to print: help, the version, completions, the settings.
    Text(String),
    Invocation(Invocation<W>),
    /// A folder for the manual pages of these protocols.
    Manual(PathBuf, Registry),
}

/// A command whose settings are checked.
#[derive(Debug)]
pub struct Invocation<W> {
    pub work: W,
    pub context: Context,
    pub log: LevelFilter,
}

/// Reads the arguments, the variables and the file. The first argument is the program's name.
/// `command` finds the reader of the settings by the words of the command. `warn` gets each
/// warning, one line at a time, also when the reading fails.
pub fn read<W>(
    registry: Registry,
    arguments: &[OsString],
    environment: &Environment,
    mut warn: impl FnMut(&str),
    command: impl FnOnce(&str, &mut Layers<'_>) -> Result<W, Failure>,
) -> Result<Reading<W>, Failure> {
    let mut tree = args::command(registry);
    let matches = match tree.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            let short = short_help::asked(&tree, registry, arguments, environment);
            return Ok(Reading::Text(short.unwrap_or_else(|| error.to_string())));
        }
        Err(error) => return Err(usage::failure(&error, &tree, arguments)),
    };
    let Some((name, flags)) = matches.subcommand() else {
        return Err(Failure::usage("no command is given", "see tenure --help"));
    };
    if name == "completions" {
        return Ok(Reading::Text(completions(shell(flags)?, registry)));
    }
    if name == "explain" {
        let id = flags.get_one::<OsString>(args::ID_TO_EXPLAIN);
        let text =
            id.map_or_else(|| Ok(explain::list()), |id| explain::section(&id.to_string_lossy()));
        return text.map(Reading::Text);
    }
    if name == "man" {
        let folder = flags.get_one::<OsString>(args::FOLDER).map(PathBuf::from);
        return Ok(Reading::Manual(folder.unwrap_or_default(), registry));
    }
    let (words, leaf, flags) = innermost(&tree, name, flags);
    if words == "run" && flags.get_flag(table::JSON.spec.name) {
        // Write JSON from the first line on: programs read the output of a runner.
        warn_as_json();
    }
    variables::check(environment, registry)?.iter().for_each(|warning| warn(warning));
    let mut layers = Layers::new(Flags::new(leaf, flags), environment, registry)?;
    let log = level(&mut layers)?;
    let work = command(&words, &mut layers);
    layers.warnings().iter().for_each(|warning| warn(warning));
    let work = work?;
    let json = layers.required(&table::JSON)?;
    let context = Context { json, origins: layers.origins };
    if flags.get_flag(table::SHOW_SETTINGS.spec.name) {
        let origins = &context.origins;
        let text = if json { origins.to_json() } else { origins.to_string() };
        return Ok(Reading::Text(text));
    }
    Ok(Reading::Invocation(Invocation { work, context, log }))
}

/// All words of the command, its place in the tree, and the flags after its last word.
fn innermost<'a>(
    tree: &'a clap::Command,
    name: &str,
    mut flags: &'a ArgMatches,
) -> (String, &'a clap::Command, &'a ArgMatches) {
    let mut words = name.to_owned();
    let mut leaf = tree.find_subcommand(name);
    while let Some((below, further)) = flags.subcommand() {
        words = format!("{words} {below}");
        (leaf, flags) = (leaf.and_then(|leaf| leaf.find_subcommand(below)), further);
    }
    // Every command that clap matched is in the tree.
    (words, leaf.unwrap_or(tree), flags)
}

fn level(layers: &mut Layers<'_>) -> Result<LevelFilter, Failure> {
    let (level, flag) = match layers.flags().get_count(flag::VERBOSE) {
        0 => return layers.required(&table::LOG),
        1 => (LevelFilter::DEBUG, "-v"),
        _ => (LevelFilter::TRACE, "-vv"),
    };
    layers.note(&table::LOG, Some(&level), Origin::Flag(flag.into()));
    Ok(level)
}

fn completions(shell: Shell, registry: Registry) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(registry), "tenure", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn shell(flags: &ArgMatches) -> Result<Shell, Failure> {
    let origin = Origin::Argument(args::SHELL);
    let Some(text) = flags.get_one::<OsString>(args::SHELL) else {
        return Err(Failure::new(Exit::Bug, "no shell is given, and was required", "report it"));
    };
    let text = text.to_string_lossy();
    parse::shell(&text).map_err(|refusal| {
        Failure::usage(format!("shell {}: {}", quoted(&text), refusal.what), refusal.fix)
            .origin(origin)
    })
}

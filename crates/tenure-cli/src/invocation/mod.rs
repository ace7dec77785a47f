//! From the arguments to the checked settings of one command, of which each file has some.

pub mod ask;
pub mod nerio;
pub mod order;
pub mod run;
mod variables;

use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap_complete::Shell;
use tracing::level_filters::LevelFilter;

use self::ask::{AskSettings, ChangeMembersSettings, ElectionsSettings, MembersSettings};
use self::nerio::demo::DemoSettings;
use self::nerio::keys::{IssueKeySettings, NewKeySettings};
use self::nerio::node::{NodeSettings, NodeStatusSettings, StatusSettings, WaitSafeSettings};
use self::nerio::recover::RecoverSettings;
use self::nerio::simulate::SimulateSettings;
use self::order::{HandOverSettings, ResignSettings};
use self::run::RunSettings;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, quoted, warn_as_json};
use crate::protocol::{MemberChange, Registry};
use crate::settings::flags::Flags;
use crate::settings::{Context, Layers, Origin, parse, table};
use crate::{args, usage};

/// What the arguments ask for.
#[derive(Debug)]
pub enum Reading {
    /// A text: help, the version, the settings.
    Text(String),
    /// A command.
    Invocation(Box<Invocation>),
}

/// One command with its checked settings.
#[derive(Debug)]
pub struct Invocation {
    /// What to do.
    pub command: Command,
    /// What it has beside its own settings.
    pub context: Context,
    /// What to log.
    pub log: LevelFilter,
}

/// A command with its checked settings.
#[derive(Debug)]
pub enum Command {
    /// `run`
    Run(RunSettings),
    /// `node`
    Node(NodeSettings),
    /// `node status`
    NodeStatus(NodeStatusSettings),
    /// `node wait-safe`
    NodeWaitSafe(WaitSafeSettings),
    /// `node recover`
    NodeRecover(RecoverSettings),
    /// `leader`
    Leader(AskSettings),
    /// `observe`
    Observe(AskSettings),
    /// `verify`
    Verify(AskSettings),
    /// `elections`
    Elections(ElectionsSettings),
    /// `candidates`
    Candidates(AskSettings),
    /// `members`, `members show`
    Members(MembersSettings),
    /// `members add`, `members remove`
    ChangeMembers(ChangeMembersSettings),
    /// `resign`
    Resign(ResignSettings),
    /// `transfer`
    Transfer(HandOverSettings),
    /// `keys new`
    KeysNew(NewKeySettings),
    /// `keys issue`
    KeysIssue(IssueKeySettings),
    /// `keys status`
    KeysStatus(StatusSettings),
    /// `demo`
    Demo(DemoSettings),
    /// `simulate`
    Simulate(SimulateSettings),
    /// `completions`
    Completions(Shell),
}

/// Reads the arguments, of which the first is the name of the program, and everything that they
/// refer to, for a command with these protocols. `warn` is given what people should know whatever
/// comes of it, one line at a time.
pub fn read(
    registry: Registry,
    arguments: &[OsString],
    environment: &Environment,
    mut warn: impl FnMut(&str),
) -> Result<Reading, Failure> {
    let mut tree = args::command(registry);
    let matches = match tree.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            return Ok(Reading::Text(error.to_string()));
        }
        Err(error) => return Err(usage::failure(&error, &tree, arguments)),
    };
    let Some((name, flags)) = matches.subcommand() else {
        return Err(Failure::usage("no command is given", "see tenure --help"));
    };
    if name == "completions" {
        let command = Command::Completions(shell(flags)?);
        let context = Context::default();
        let invocation = Invocation { command, context, log: LevelFilter::OFF };
        return Ok(Reading::Invocation(Box::new(invocation)));
    }
    let (words, leaf, flags) = innermost(&tree, name, flags);
    if words == "run" && flags.get_flag(table::JSON.spec.name) {
        // What a runner says is read by programs from its first line on.
        warn_as_json();
    }
    variables::check(environment, registry)?.iter().for_each(|warning| warn(warning));
    let mut layers = Layers::new(Flags::new(leaf, flags), environment, registry)?;
    let log = level(&mut layers)?;
    let command = command(&words, &mut layers);
    layers.warnings().iter().for_each(|warning| warn(warning));
    let command = command?;
    let json = layers.required(&table::JSON)?;
    let context = Context { json, origins: layers.origins };
    if flags.get_flag(table::SHOW_SETTINGS.spec.name) {
        let origins = &context.origins;
        let text = if json { origins.to_json() } else { origins.to_string() };
        return Ok(Reading::Text(text));
    }
    if let Command::Node(settings) = &command {
        settings.seat.storage.warning().iter().for_each(|warning| warn(warning));
    }
    Ok(Reading::Invocation(Box::new(Invocation { command, context, log })))
}

/// All words of the command, what it takes, and the flags that stand after the last.
fn innermost<'a>(
    tree: &'a clap::Command,
    name: &str,
    flags: &'a ArgMatches,
) -> (String, &'a clap::Command, &'a ArgMatches) {
    let (mut words, mut leaf, mut flags) = (name.to_owned(), tree.find_subcommand(name), flags);
    while let Some((below, further)) = flags.subcommand() {
        words = format!("{words} {below}");
        (leaf, flags) = (leaf.and_then(|leaf| leaf.find_subcommand(below)), further);
    }
    // What was matched is in the tree.
    (words, leaf.unwrap_or(tree), flags)
}

fn command(words: &str, layers: &mut Layers<'_>) -> Result<Command, Failure> {
    Ok(match words {
        "run" => Command::Run(RunSettings::read(layers)?),
        "node" => Command::Node(NodeSettings::read(layers)?),
        "node status" => Command::NodeStatus(NodeStatusSettings::read(layers)?),
        "node wait-safe" => Command::NodeWaitSafe(WaitSafeSettings::read(layers)?),
        "node recover" => Command::NodeRecover(RecoverSettings::read(layers)?),
        "leader" => Command::Leader(AskSettings::read(layers, true)?),
        "observe" => Command::Observe(AskSettings::read(layers, false)?),
        "verify" => Command::Verify(AskSettings::verify(layers)?),
        "elections" => Command::Elections(ElectionsSettings::read(layers)?),
        "candidates" => Command::Candidates(AskSettings::candidates(layers)?),
        "members" | "members show" => Command::Members(MembersSettings::read(layers)?),
        "members add" => {
            Command::ChangeMembers(ChangeMembersSettings::read(layers, MemberChange::Add)?)
        }
        "members remove" => {
            Command::ChangeMembers(ChangeMembersSettings::read(layers, MemberChange::Remove)?)
        }
        "resign" => Command::Resign(ResignSettings::read(layers)?),
        "transfer" => Command::Transfer(HandOverSettings::read(layers)?),
        "keys new" => Command::KeysNew(NewKeySettings::read(layers)?),
        "keys issue" => Command::KeysIssue(IssueKeySettings::read(layers)?),
        "keys status" => Command::KeysStatus(StatusSettings::read(layers)?),
        "demo" => Command::Demo(DemoSettings::read(layers)?),
        "simulate" => Command::Simulate(SimulateSettings::read(layers)?),
        _ => {
            let what = format!("the command {} is listed and has no settings", quoted(words));
            return Err(Failure::new(Exit::Bug, what, "report it"));
        }
    })
}

fn level(layers: &mut Layers<'_>) -> Result<LevelFilter, Failure> {
    let (level, flag) = match layers.flags().get_count(args::VERBOSE) {
        0 => return layers.required(&table::LOG),
        1 => (LevelFilter::DEBUG, "-v"),
        _ => (LevelFilter::TRACE, "-vv"),
    };
    layers.note(&table::LOG, Some(&level), Origin::Flag(flag.into()));
    Ok(level)
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

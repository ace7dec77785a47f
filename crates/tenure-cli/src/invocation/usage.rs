//! Explains command lines that clap refuses.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::nerio;
use crate::failure::{Failure, quoted};
use crate::near::nearest;
use crate::settings::hidden::HIDDEN;
use crate::settings::parse;

pub(crate) fn failure(error: &Error, tree: &Command, arguments: &[OsString]) -> Failure {
    let (path, command) = deepest(tree, arguments);
    let of = |kind| text(error, kind).unwrap_or_default();
    let (what, fix) = match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(error, &path, command, tree),
        ErrorKind::InvalidSubcommand => {
            let name = of(ContextKind::InvalidSubcommand);
            let near = suggestion(error, &name, command, tree);
            (format!("there is no command {}", quoted(&name)), near)
        }
        ErrorKind::MissingRequiredArgument if command.get_name() == "completions" => {
            ("no shell is given".into(), format!("give one of: {}", parse::SHELLS.join(", ")))
        }
        ErrorKind::MissingRequiredArgument if command.get_name() == "man" => {
            ("no folder is given".into(), "give the folder, such as ~/.local/share/man/man1".into())
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ("no command is given".into(), format!("give one of: {}", commands(command)))
        }
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::InvalidValue => {
            let flag = of(ContextKind::InvalidArg);
            let name = flag.split(' ').next().unwrap_or_default().to_owned();
            let fix =
                format!("write {flag}; a value that begins with - is joined by =, as in {name}=-x");
            (format!("{name} needs a value"), fix)
        }
        ErrorKind::TooManyValues => {
            let flag = of(ContextKind::InvalidArg);
            let value = of(ContextKind::InvalidValue);
            (
                format!("{flag} takes no value and was given {}", quoted(&value)),
                format!("write {flag} alone"),
            )
        }
        ErrorKind::InvalidUtf8 => {
            ("an argument is not UTF-8".into(), "write flags and commands in UTF-8".into())
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            (first.trim_start_matches("error: ").into(), format!("see {path} --help"))
        }
    };
    Failure::usage(what, fix).origin(format!("command line of {path}"))
}

fn unknown_argument(
    error: &Error,
    path: &str,
    command: &Command,
    tree: &Command,
) -> (String, String) {
    let argument = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let shown = quoted(&argument);
    let Some(flag) = argument.strip_prefix('-') else {
        let fix = match path {
            "tenure run" => {
                format!("put -- before CMD: tenure run … -- {}", argument.escape_debug())
            }
            _ => format!("remove {shown}; {path} --help lists the arguments"),
        };
        return (format!("the argument {shown} is not expected here"), fix);
    };
    let name = flag.trim_start_matches('-');
    let owners: Vec<_> = owners(tree, name, "").into_iter().take(3).collect();
    let fix = if let Some(hidden) = HIDDEN.iter().find(|hidden| hidden.name == name) {
        hidden.elsewhere()
    } else if let Some(fix) = nerio::lines::foreign(path, name) {
        fix.into()
    } else if let Some(near) = nearest(name, longs(command)) {
        format!("did you mean --{near}?")
    } else if !owners.is_empty() {
        let owners = owners.join(" or ");
        format!("put --{name} after a command that has this flag, such as {owners}")
    } else if name.starts_with(|c: char| c.is_ascii_digit()) {
        "join a value that begins with - to its flag by =, as in --lease=-5s".into()
    } else {
        format!("{path} --help lists the flags")
    };
    (format!("there is no flag {shown}"), fix)
}

fn longs(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter_map(|arg| arg.get_long())
}

fn owners(command: &Command, name: &str, above: &str) -> Vec<String> {
    let path = format!("{above}{}", command.get_name());
    let own = longs(command).any(|long| long == name).then(|| path.clone());
    let below =
        command.get_subcommands().flat_map(|below| owners(below, name, &format!("{path} ")));
    own.into_iter().chain(below).collect()
}

fn conflict(error: &Error) -> (String, String) {
    let name = |kind| {
        let flag = text(error, kind).unwrap_or_default();
        flag.split(' ').next().unwrap_or_default().trim_end_matches("...").to_owned()
    };
    let one = name(ContextKind::InvalidArg);
    let other = name(ContextKind::PriorArg);
    if one.is_empty() {
        let what = format!("{other} stands before the last word of the command");
        return (what, format!("put {other} after the last word of the command"));
    }
    if one == other {
        return (format!("{one} is given more than once"), format!("give {one} once"));
    }
    (format!("{one} and {other} exclude each other"), format!("leave out {other}"))
}

/// The fix for the unknown word `name` below `command`. A command of this name elsewhere in the
/// tree takes precedence over a similar name.
fn suggestion(error: &Error, name: &str, command: &Command, tree: &Command) -> String {
    let elsewhere = named(tree, name, tree.get_name());
    if !elsewhere.is_empty() {
        return format!("did you mean {}?", elsewhere.join(" or "));
    }
    match text(error, ContextKind::SuggestedSubcommand) {
        Some(near) => format!("did you mean {near}? One of: {}", commands(command)),
        None => format!("give one of: {}", commands(command)),
    }
}

/// The commands below `command` whose last word is `name`, each with all words from `path` on.
fn named(command: &Command, name: &str, path: &str) -> Vec<String> {
    // Below `help`, clap lists every command again.
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let of = |below: &Command| {
        let path = format!("{path} {}", below.get_name());
        let further = named(below, name, &path);
        (below.get_name() == name).then_some(path).into_iter().chain(further)
    };
    below.flat_map(of).collect()
}

fn commands(command: &Command) -> String {
    let names: Vec<_> = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .map(Command::get_name)
        .filter(|name| *name != "help")
        .collect();
    names.join(", ")
}

/// The command that the arguments name, with its words.
fn deepest<'a>(tree: &'a Command, arguments: &[OsString]) -> (String, &'a Command) {
    let mut path = tree.get_name().to_owned();
    let mut command = tree;
    for argument in arguments.iter().skip(1) {
        // The words after `help` name a command.
        if argument == "help" {
            continue;
        }
        let Some(below) = command.find_subcommand(argument) else { break };
        path = format!("{path} {}", below.get_name());
        command = below;
    }
    (path, command)
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

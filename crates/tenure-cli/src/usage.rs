//! Command lines that do not fit the tree, in the words of this command.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::failure::{Failure, quoted};

/// What clap found wrong with `arguments`, as a failure like any other.
pub(crate) fn failure(error: &Error, tree: &Command, arguments: &[OsString]) -> Failure {
    let (path, command) = deepest(tree, arguments);
    let of = |kind| text(error, kind).unwrap_or_default();
    let (what, fix) = match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(error, &path),
        ErrorKind::InvalidSubcommand => {
            let name = of(ContextKind::InvalidSubcommand);
            (format!("there is no command {}", quoted(&name)), suggestion(error, command))
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
            let (flag, value) = (of(ContextKind::InvalidArg), of(ContextKind::InvalidValue));
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

fn unknown_argument(error: &Error, path: &str) -> (String, String) {
    let argument = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let near = text(error, ContextKind::SuggestedArg);
    let shown = quoted(&argument);
    if !argument.starts_with('-') {
        let fix = match path {
            "tenure run" => {
                format!("put -- before CMD: tenure run … -- {}", argument.escape_debug())
            }
            _ => format!("leave it out; {path} --help lists what there is"),
        };
        return (format!("the argument {shown} is not expected here"), fix);
    }
    let fix = match near {
        Some(near) => format!("did you mean {near}?"),
        None if argument[1..].starts_with(|c: char| c.is_ascii_digit()) => {
            "join a value that begins with - to its flag by =, as in --lease=-5s".into()
        }
        None => format!("{path} --help lists the flags"),
    };
    (format!("there is no flag {shown}"), fix)
}

fn conflict(error: &Error) -> (String, String) {
    let one = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let other = text(error, ContextKind::PriorArg).unwrap_or_default();
    let name = |flag: &str| flag.split(' ').next().unwrap_or_default().to_owned();
    let (one, other) = (name(&one), name(&other));
    if one == other {
        return (format!("{one} is given more than once"), format!("give {one} once"));
    }
    match other.as_str() {
        "" => (format!("{one} cannot stand there"), "put flags after the last command".into()),
        _ => (format!("{one} and {other} exclude each other"), format!("leave out {other}")),
    }
}

fn suggestion(error: &Error, command: &Command) -> String {
    match text(error, ContextKind::SuggestedSubcommand) {
        Some(near) => format!("did you mean {near}? One of: {}", commands(command)),
        None => format!("give one of: {}", commands(command)),
    }
}

fn commands(command: &Command) -> String {
    let names: Vec<_> = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .map(Command::get_name)
        .collect();
    names.join(", ")
}

/// The command that the arguments reach, with the words that lead to it.
fn deepest<'a>(tree: &'a Command, arguments: &[OsString]) -> (String, &'a Command) {
    let (mut path, mut command) = (tree.get_name().to_owned(), tree);
    for argument in arguments.iter().skip(1) {
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

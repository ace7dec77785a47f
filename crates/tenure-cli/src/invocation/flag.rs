//! The flags of settings, as clap takes them.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, Command, ValueHint};

use crate::protocol::{Protocol, Registry};
use crate::settings::table::{CONFIG, GRACE, JSON, KILL_MARGIN, LOG, SHOW_SETTINGS};
use crate::settings::{Spec, parse};

pub(super) const VERBOSE: &str = "verbose";

/// The registry of settings that are the same for all protocols.
const NO_PROTOCOL: Registry = Registry(&[]);

/// Whether only a leader uses the setting. Commands that never lead accept and hide the flag, so
/// that they take the command line of a candidate.
pub(super) fn is_of_run(spec: &Spec) -> bool {
    [GRACE.spec.name, KILL_MARGIN.spec.name].contains(&spec.name)
}

/// `command` with the settings of the protocols that are `able` to do the command. The command also
/// accepts settings of other protocols, and hides them, so that an error can explain such a
/// setting.
pub(super) fn with_settings_of(
    registry: Registry,
    able: fn(&Protocol) -> bool,
    command: Command,
    specs: &[&'static Spec],
) -> Command {
    let is_able = |spec: &&Spec| registry.owners(spec).iter().any(|owner| able(owner));
    let all = registry.of_protocols(false).into_iter();
    let (hidden, shown): (Vec<_>, Vec<_>) = all.partition(|spec| is_of_run(spec) || !is_able(spec));
    with_settings(registry, command, &[specs, &shown])
        .args(hidden.into_iter().map(|spec| flag(registry, spec).hide(true)))
}

/// `command` with these settings, and with the settings of every command that reads the file.
pub(super) fn with_settings(
    registry: Registry,
    command: Command,
    groups: &[&[&'static Spec]],
) -> Command {
    let specs = groups.iter().copied().flatten();
    command
        .args(specs.map(|spec| flag(registry, spec)))
        .arg(flag(registry, &CONFIG.spec))
        .args(output())
}

pub(super) fn flag(registry: Registry, spec: &'static Spec) -> Arg {
    let mut help = registry.help(spec);
    if let Some(variable) = spec.variable() {
        help += &format!(" [env: {variable}]");
    }
    let owners = registry.owners(spec);
    let is_hidden = !owners.is_empty() && owners.iter().all(|owner| owner.lacks().is_some());
    let switch =
        Arg::new(spec.name).long(spec.name).help(help).help_heading(spec.group).hide(is_hidden);
    if spec.is_switch() {
        return switch.action(ArgAction::SetTrue);
    }
    let with_value = switch.value_name(spec.value).value_hint(hint(spec));
    match spec.name {
        "log" => with_value.value_parser(AnyOf(parse::LEVELS.to_vec())),
        "protocol" => with_value.value_parser(AnyOf(registry.names())),
        _ => with_value.value_parser(OsStringValueParser::new()),
    }
}

/// The flags of every command that reads settings.
pub(super) fn output() -> [Arg; 4] {
    [
        flag(NO_PROTOCOL, &JSON.spec),
        flag(NO_PROTOCOL, &SHOW_SETTINGS.spec),
        flag(NO_PROTOCOL, &LOG.spec),
        verbose(),
    ]
}

fn verbose() -> Arg {
    Arg::new(VERBOSE)
        .short('v')
        .action(ArgAction::Count)
        .conflicts_with(LOG.spec.name)
        .help("Log more: -v is --log debug, -vv is --log trace")
        .help_heading(LOG.spec.group)
}

fn hint(spec: &Spec) -> ValueHint {
    match spec.value {
        "FILE" | "PATH" => ValueHint::FilePath,
        "DIR" => ValueHint::DirPath,
        _ => ValueHint::Other,
    }
}

/// Offers words to shell completions, and accepts any text: the setting's parser refuses wrong
/// texts.
#[derive(Clone)]
pub(super) struct AnyOf(pub(super) Vec<&'static str>);

impl TypedValueParser for AnyOf {
    type Value = OsString;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<OsString, clap::Error> {
        Ok(value.to_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

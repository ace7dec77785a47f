//! The text of `-h`: a screen of the settings of one protocol. `--help` has all.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::environment::Environment;
use crate::protocol::{Protocol, Registry};
use crate::settings::table;

const COLUMNS: usize = 80;
const LINES: usize = 40;

/// Settings that come first, in this order; the addresses of the peers come after the protocol.
const FIRST: [&str; 15] = [
    "election",
    "protocol",
    "name",
    "id",
    "state",
    "new",
    "key-file",
    "secret-file",
    "lease",
    "lease-max",
    "priority",
    "once",
    "config",
    "show-settings",
    "json",
];

/// The widest column of flags.
const FLAG_MAX: usize = 30;

/// The short help, if the first request for help in the arguments is `-h`.
pub(super) fn asked(
    tree: &Command,
    registry: Registry,
    arguments: &[OsString],
    environment: &Environment,
) -> Option<String> {
    let own = || arguments.iter().skip(1).take_while(|argument| *argument != "--");
    let asks =
        |argument: &&OsString| ["-h", "--help", "help"].iter().any(|word| **argument == **word);
    if own().find(asks).is_none_or(|first| first != "-h") {
        return None;
    }
    let (mut path, mut command) = (tree.get_name().to_owned(), tree);
    for argument in own() {
        let Some(below) = command.find_subcommand(argument) else { break };
        write!(path, " {}", below.get_name()).ok()?;
        command = below;
    }
    let words: Vec<_> = own().map(|argument| argument.to_string_lossy()).collect();
    let flag = format!("--{}", table::PROTOCOL.spec.name);
    let joined = words.iter().find_map(|word| word.strip_prefix(&flag)?.strip_prefix('='));
    let next = || words.iter().skip_while(|word| **word != flag).nth(1).map(AsRef::as_ref);
    let variable = table::PROTOCOL.spec.variable();
    let variable = variable.and_then(|name| environment.variable(&name)?.to_str());
    let name = joined.or_else(next).or(variable);
    Some(text(&path, command, registry, name))
}

/// The short help of a command, for the protocol of this name, or for the default protocol.
fn text(path: &str, command: &Command, registry: Registry, name: Option<&str>) -> String {
    let chosen = name.and_then(|name| registry.named(name).ok());
    let chosen = chosen.or_else(|| registry.0.first().copied());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut lines = wrapped(&about, "");
    lines.extend([String::new(), usage(path, command)]);
    let below: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
    if !below.is_empty() {
        lines.push(String::new());
        let rows = below.iter().filter(|below| below.get_name() != "help").map(|below| {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            (below.get_name().to_owned(), about)
        });
        lines.extend(table(&rows.collect::<Vec<_>>()));
    }
    let mut end = vec![String::new(), format!("All of it: {path} --help")];
    if path == command.get_name() {
        lines.push(String::new());
        lines.extend(registry.about().lines().map(|line| cut(line, COLUMNS)));
    }
    let settings = settings(command, registry, chosen);
    if has_choice(command) {
        let others: Vec<_> = registry.names();
        let name = chosen.map_or("", Protocol::shown);
        let text = format!("Flags for {name}; for others: --protocol {} -h", others.join("|"));
        end.splice(1..1, wrapped(&text, ""));
    }
    if !settings.is_empty() {
        lines.push(String::new());
        // Show as many settings as fit, each on its own line. The names of all other settings share
        // the lines after these.
        let mut shown = settings.len();
        while shown > 0
            && lines.len() + shown + further(&settings[shown..]).len() + end.len() > LINES
        {
            shown -= 1;
        }
        let rows: Vec<_> = settings[..shown].iter().map(|arg| row(arg)).collect();
        lines.extend(table(&rows));
        lines.extend(further(&settings[shown..]));
    }
    lines.extend(end);
    lines.join("\n") + "\n"
}

fn usage(path: &str, command: &Command) -> String {
    let mut usage = format!("Usage: {path}");
    if command.get_subcommands().next().is_some() {
        usage += if command.is_subcommand_required_set() { " COMMAND" } else { " [COMMAND]" };
    }
    if command.get_arguments().any(|arg| arg.get_long().is_some() && !arg.is_hide_set()) {
        usage += " [FLAGS]";
    }
    for arg in command.get_arguments().filter(|arg| arg.is_positional() && !arg.is_hide_set()) {
        let id = arg.get_id().as_str();
        let name = arg.get_value_names().and_then(|names| names.first()).map_or(id, |name| name);
        usage += &if arg.is_last_set() { format!(" -- {name} ARGS") } else { format!(" {name}") };
    }
    usage
}

fn has_choice(command: &Command) -> bool {
    let name = table::PROTOCOL.spec.name;
    command.get_arguments().any(|arg| arg.get_id() == name && !arg.is_hide_set())
}

/// The flags of the command for the protocol `chosen`, the most wanted flags first.
fn settings<'a>(
    command: &'a Command,
    registry: Registry,
    chosen: Option<&Protocol>,
) -> Vec<&'a Arg> {
    let choice = has_choice(command);
    let is_shown = |arg: &&Arg| {
        let Some(name) = arg.get_long().filter(|_| !arg.is_hide_set()) else { return false };
        if name == "help" || name == "version" {
            return false;
        }
        let owners = registry.setting(name).map(|spec| registry.owners(spec)).unwrap_or_default();
        let is_own = owners.iter().any(|owner| chosen.is_some_and(|of| of.name == owner.name));
        !choice || owners.is_empty() || is_own
    };
    let mut all: Vec<&Arg> = command.get_arguments().filter(is_shown).collect();
    let peers = chosen.map(|chosen| chosen.whereabouts.name);
    all.sort_by_key(|arg| {
        let name = arg.get_long().unwrap_or_default();
        let place = FIRST.iter().position(|first| *first == name).map(|place| 2 * place);
        // The addresses come just after the protocol.
        let place = if Some(name) == peers { Some(3) } else { place };
        place.unwrap_or(usize::MAX)
    });
    all
}

/// A flag with its value, and the first clause of its help.
fn row(arg: &Arg) -> (String, String) {
    let mut flag = format!("--{}", arg.get_long().unwrap_or_default());
    if arg.get_action().takes_values()
        && let Some(value) = arg.get_value_names().and_then(|names| names.first())
    {
        flag += &format!(" {value}");
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let default = help.split_once("[default: ").and_then(|(_, rest)| rest.split(']').next());
    let said = help.split(" [").next().unwrap_or_default();
    let said = said.split("; ").next().unwrap_or_default();
    let said = said.split(". ").next().unwrap_or_default();
    // The condition `With …:` belongs to the clause after the colon.
    let said = match said.split_once(": ") {
        Some((first, _)) if !first.starts_with("With ") => first,
        _ => said,
    };
    let said = said.to_owned();
    match default.filter(|text| text.len() < 10) {
        Some(default) => (flag, format!("{said} [{default}]")),
        None => (flag, said),
    }
}

/// Rows in two columns.
fn table(rows: &[(String, String)]) -> Vec<String> {
    let width = rows.iter().map(|(left, _)| left.chars().count()).max().unwrap_or_default();
    let width = width.min(FLAG_MAX);
    let row =
        |(left, right): &(String, String)| cut(&format!("  {left:<width$}  {right}"), COLUMNS);
    rows.iter().map(row).collect()
}

/// The names of further settings.
fn further(settings: &[&Arg]) -> Vec<String> {
    if settings.is_empty() {
        return Vec::new();
    }
    let names: Vec<_> = settings.iter().filter_map(|arg| arg.get_long()).collect();
    let mut lines = vec![String::new()];
    lines.extend(wrapped(&format!("More: --{}", names.join(" --")), "  "));
    lines
}

/// The text in lines; `indent` begins each but the first.
fn wrapped(text: &str, indent: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or("", String::as_str);
        let begins = line.trim().is_empty();
        if !begins && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(format!("{indent}{word}"));
        } else if let Some(line) = lines.last_mut() {
            *line += if begins { "" } else { " " };
            *line += word;
        }
    }
    lines
}

/// The line, cut between words if it is too long.
fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.trim_end().to_owned();
    }
    let end = line.char_indices().nth(columns - 1).map_or(line.len(), |(end, _)| end);
    let end = line[..end].rfind(' ').unwrap_or(end);
    format!("{}…", line[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use crate::protocol::ALL;

    fn all(path: &str, command: &Command, see: &mut impl FnMut(&str, &Command)) {
        see(path, command);
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            all(&format!("{path} {}", below.get_name()), below, see);
        }
    }

    #[test]
    fn short_help_fits_a_screen() {
        let mut count = 0;
        all("tenure", &args::command(Registry(ALL)), &mut |path, command| {
            for name in Registry(ALL).names() {
                let text = text(path, command, Registry(ALL), Some(name));
                let lines = text.lines().count();
                assert!(lines <= LINES, "{path} for {name} has {lines} lines:\n{text}");
                let wide = text.lines().find(|line| line.chars().count() > COLUMNS);
                assert_eq!(wide, None, "{path} for {name}");
                count += 1;
            }
        });
        assert!(count > 20, "{count}");
    }

    #[test]
    fn protocol_chooses_the_settings() {
        let all = Registry(ALL);
        let tree = args::command(all);
        let asked = |words: &str, variable: &str| {
            let environment =
                Environment::new([("TENURE_PROTOCOL".into(), OsString::from(variable))]);
            let words: Vec<_> = words.split(' ').map(OsString::from).collect();
            asked(&tree, all, &words, &environment)
        };
        assert_eq!(asked("tenure run --help -h", ""), None);
        assert_eq!(asked("tenure run -- cmd -h", ""), None);
        for one in all.built() {
            let shows = |text: &str, other: &Protocol| {
                text.contains(&format!("  --{} ", other.whereabouts.name))
            };
            for name in [one.name, one.shown()] {
                let lines = [
                    asked(&format!("tenure run --protocol {name} -h"), ALL[0].name),
                    asked(&format!("tenure run --protocol={name} -h"), ALL[0].name),
                    asked("tenure run -h", name),
                ];
                for text in lines.map(Option::unwrap) {
                    let shown: Vec<_> = all.built().filter(|other| shows(&text, other)).collect();
                    assert!(shown.len() == 1 && shown[0].name == one.name, "{name}: {text}");
                }
            }
        }
    }
}

//! The reference pages that are made from the command: `docs/reference/settings.md` from the tables
//! of settings, `docs/reference/cli.md` from its help. `cargo xtask bless --only reference` writes
//! them.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use tenure_cli::protocol::{ALL, Protocol, Registry};
use tenure_cli::settings::{Default, Reach, Spec};

const SETTINGS: &str = "\
# Settings

Made from the command's own table. A flag `--NAME` wins over the variable, that over the key
`NAME` of the file (`--config`), that over the default. `--show-settings` prints each with its
value and origin.

The variable of `lease-max` is `TENURE_LEASE_MAX`. A setting without a variable is a flag alone. A
switch takes no value as a flag, and `true` in a variable or the file. Durations are like `500ms`,
`5s`, `2m`.

";

const COMMANDS: &str = "\
# Commands

Made from the command's own help. `tenure COMMAND --help` has every setting of a command;
[settings](settings.md) lists all of them, [exit codes](exit-codes.md) their outcomes.

";

/// A page, and the text that it should have.
fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("TENURE_BLESS").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == text, "docs/reference/{name} is old: cargo xtask bless --only reference");
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").replace('*', "\\*").replace('\n', " ")
}

fn default(spec: &Spec, owners: &[&'static Protocol]) -> String {
    let all = ALL.iter().copied();
    match spec.default {
        _ if spec.is_switch() => "off".to_owned(),
        Default::Text("") => "empty".to_owned(),
        Default::Text(text) => format!("`{text}`"),
        Default::Follows(words) => cell(words),
        Default::Nothing => "–".to_owned(),
        Default::ByProtocol => {
            let of = all
                .filter(|one| owners.is_empty() || owners.iter().any(|own| own.name == one.name));
            let values = of.filter_map(|one| {
                let about = one.says.iter().find(|about| about.setting == spec.name)?;
                Some(format!("{} `{}`", one.shown(), about.default?))
            });
            values.collect::<Vec<_>>().join(", ")
        }
    }
}

fn row(spec: &Spec) -> String {
    let registry = Registry(ALL);
    let owners = registry.owners(spec);
    let protocols = match owners.len() {
        0 => "all".to_owned(),
        many if many == ALL.len() => "all".to_owned(),
        _ => owners.iter().map(|owner| owner.shown()).collect::<Vec<_>>().join(", "),
    };
    let kind = if spec.is_switch() { "switch" } else { spec.value };
    let set_by = match spec.reach {
        Reach::Everywhere => "flag, variable, key",
        Reach::Process => "flag, variable",
        Reach::Flag(_) => "flag",
    };
    let notes: String = owners
        .iter()
        .filter_map(|owner| {
            let about = owner.says.iter().find(|about| about.setting == spec.name)?;
            let with =
                if owners.len() > 1 { format!("with {} ", owner.shown()) } else { String::new() };
            (!about.note.is_empty()).then(|| format!("; {with}{}", about.note))
        })
        .collect();
    format!(
        "| `{}` | {kind} | {} | {protocols} | {set_by} | {} |\n",
        spec.name,
        default(spec, &owners),
        cell(&format!("{}{notes}", spec.help)),
    )
}

#[test]
fn settings_page_is_current() {
    let mut page = SETTINGS.to_owned();
    let mut groups: Vec<&str> = Vec::new();
    for spec in Registry(ALL).settings() {
        if !groups.contains(&spec.group) {
            groups.push(spec.group);
        }
    }
    for group in groups {
        let title = group.split(" (").next().unwrap_or(group);
        let _ = write!(page, "## {title}\n\n");
        page.push_str("| setting | kind | default | protocols | set by | meaning |\n");
        page.push_str("|---|---|---|---|---|---|\n");
        let mut rows: Vec<_> =
            Registry(ALL).settings().filter(|spec| spec.group == group).collect();
        rows.sort_by_key(|spec| spec.name);
        page.extend(rows.into_iter().map(row));
        page.push('\n');
    }
    compare("settings.md", &format!("{}\n", page.trim_end()));
}

fn help(words: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    let output = command.args(words).arg("--help").env_clear().output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of the help below a heading, up to the next heading.
fn part<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| line.is_empty() || line.starts_with(' ')).collect()
}

/// Describes a command and its subcommands.
fn describe(words: &[String], page: &mut String) {
    let help = help(words);
    // Further lines of a description stand further right.
    let is_name = |line: &&str| !line.starts_with(' ');
    let commands: Vec<String> = part(&help, "Commands:")
        .into_iter()
        .filter_map(|line| line.strip_prefix("  ").filter(is_name)?.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    if !words.is_empty() {
        let about = help.lines().next().unwrap_or_default();
        let _ = write!(page, "## tenure {}\n\n{about}.\n\n", words.join(" "));
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
        let examples = ["Example:", "Examples:"].into_iter().flat_map(|title| part(&help, title));
        let examples: Vec<_> =
            examples.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        let examples = examples.join("\n");
        let _ = write!(page, "```text\n{usage}\n```\n\n");
        if !examples.trim().is_empty() {
            let _ = write!(page, "For example:\n\n```text\n{}\n```\n\n", examples.trim_end());
        }
    }
    for command in commands {
        describe(&[words, &[command]].concat(), page);
    }
}

#[test]
fn commands_page_is_current() {
    let mut page = COMMANDS.to_owned();
    describe(&[], &mut page);
    compare("cli.md", &format!("{}\n", page.trim_end()));
}

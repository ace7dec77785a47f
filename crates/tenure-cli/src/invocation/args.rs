//! The command line: its commands, and the settings of each.
//!
//! clap only splits the line and collects texts. The parsers in [`mod@crate::settings`] read these
//! texts, because the same setting may come from a variable or the file.

use clap::builder::OsStringValueParser;
use clap::{Arg, ArgAction, Command, ValueHint};

use super::flag::{AnyOf, flag, is_of_run, with_settings, with_settings_of};
use super::http::OF_HTTP;
use super::nerio::{edict, lines};
use crate::exit;
use crate::protocol::{Protocol, Registry};
use crate::settings::table::*;
use crate::settings::{Default, Spec, parse};

/// The name of the arguments after `--`.
pub const COMMAND: &str = "CMD";
/// The argument of `members add`, `remove` and `replace`: a name, with addresses or without.
pub const MEMBER: &str = "member";
/// The argument of `roles add` and `roles remove`.
pub const ROLE_RANGE: &str = "J|FIRST..LAST";
/// The argument of `completions`.
pub const SHELL: &str = "SHELL";
/// The argument of `man`.
pub const FOLDER: &str = "DIR";
/// The argument of `explain`.
pub const ID_TO_EXPLAIN: &str = "ID";

const PRECEDENCE: &str = "\
Settings: a flag wins over its TENURE_* variable, the variable over the settings file (--config),
and the file over the default. A variable that is set and empty has the empty value. Variables
and keys are named after the flags: --lease-max is TENURE_LEASE_MAX and lease-max = \"10s\".
Tenure refuses an unknown key and a misspelt variable, and warns about any other unknown
TENURE_* variable. --show-settings prints each setting with its value and origin.";

#[must_use]
pub fn command(registry: Registry) -> Command {
    Command::new("tenure")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Leader election: run something on exactly one machine, and prove it")
        .after_help(format!("{}\n\n{PRECEDENCE}\n\n{}", registry.about(), exit::HELP))
        .subcommand_required(true)
        .max_term_width(100)
        .subcommands([
            run(registry),
            lines::node(),
            leader(registry),
            observe(registry),
            verify(registry),
            elections(registry),
            election(registry),
            candidates(registry),
            members(registry),
            resign(registry),
            transfer(registry),
            roles(registry),
            edict::line(registry),
            lines::keys(),
            doctor(registry),
            lines::demo_command(),
            lines::simulate_command(),
            explain(),
            completions(),
            man(),
        ])
}

fn run(registry: Registry) -> Command {
    let own = [
        &ELECTION.spec,
        &PROTOCOL.spec,
        &ID.spec,
        &VALUE.spec,
        &ONCE.spec,
        &TRY.spec,
        &HOLD.spec,
        &CONTROL.spec,
    ];
    let about = "Campaign, run CMD while leading, and stop it before the lease ends";
    let examples = registry.built().map(|protocol| {
        let name = protocol.name;
        let is_default = PROTOCOL.spec.default == Default::Text(name);
        let shown = protocol.shown();
        let chosen = if is_default { String::new() } else { format!("--protocol {shown} ") };
        let example = protocol.example;
        format!("\n  tenure run {chosen}{example} \\\n      --election billing -- ./bill --all")
    });
    let examples: String = examples.collect();
    let all: [&[_]; 3] = [&own, &OF_HTTP, &registry.of_protocols(true)];
    with_settings(registry, Command::new("run").about(about), &all)
        .arg(command_words("The command to run while this process leads, with its arguments"))
        .after_help(format!("{RUN}{examples}"))
}

/// CMD, after `--`.
fn command_words(help: &'static str) -> Arg {
    Arg::new(COMMAND)
        .help(help)
        .value_parser(OsStringValueParser::new())
        .action(ArgAction::Append)
        .num_args(1..)
        .last(true)
        .value_hint(ValueHint::CommandWithArguments)
}

const RUN: &str = "\
CMD gets the variables TENURE_ELECTION, TENURE_ID, TENURE_FENCE (a number larger than that of \
every earlier leader; unset where several may lead at once) and TENURE_UNTIL_FILE (a file that \
holds the end of the lease; unset without a lease). Where an election has roles, CMD also gets \
TENURE_ROLE, and {role} in its arguments becomes the number of its role. A `tenure run` inside CMD \
ignores the election, id, role and member name in the variables that it inherits.

With --name and --state this process is also a member of Nerio: the machine then needs no tenure \
node.

Ends with CMD's own code; 5 when the leadership is lost under --once; 126 and 127 when CMD cannot \
be executed or does not exist.

Examples:";

fn leader(registry: Registry) -> Command {
    let specs = [&ELECTION.spec, &PROTOCOL.spec, &WAIT.spec];
    with_settings_of(registry, |_| true, Command::new("leader").about("Print who leads"), &specs)
        .after_help(
            "Without --wait the first answer counts. Ends with 0 when there is a leader, 3 when \
             there is none, 4 when no quorum could be asked. The settings are those of tenure run: \
             keep them in one file for all commands.\n\n\
             Example:\n  tenure leader --config tenure.toml --election billing --wait 10s",
        )
}

fn observe(registry: Registry) -> Command {
    let about = "Print a line for each change of leader, until stopped";
    let specs = [&ELECTION.spec, &PROTOCOL.spec, &WEAK.spec];
    with_settings_of(registry, |_| true, Command::new("observe").about(about), &specs)
        .after_help("Example:\n  tenure observe --config tenure.toml --election billing --json")
}

fn verify(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.verify;
    let specs = [&ELECTION.spec, &PROTOCOL.spec, &WAIT.spec];
    with_settings_of(registry, able, Command::new("verify"), &specs)
        .about("Ask the leader itself for proof that it leads")
        .after_help(
            "Use this where work arrives and fences cannot be checked: the leader promises to lead \
             for the printed time. Ends with 0 when the leader has promised, 3 when there is no \
             leader, 4 when the leader did not answer, 6 when the leader says that it does not \
             lead, for example while it hands over. Without --wait the first answer counts.\n\n\
             Example:\n  tenure verify --config tenure.toml --election billing",
        )
}

fn elections(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.elections;
    with_settings_of(registry, able, Command::new("elections"), &[&PROTOCOL.spec])
        .about("Print all elections, who leads each, and how many candidates wait")
        .after_help(
            "Lists every election that has a leader or a waiting candidate, as far as the \
             answering members know. With the key of an application, lists only the elections of \
             that key. A leader is named when a quorum of members names it. An election without a \
             named leader may still have a leader: ask tenure leader. Ends with 4 when fewer \
             members serve than a quorum.\n\n\
             Example:\n  tenure elections --config tenure.toml",
        )
}

fn election(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.start_election;
    let about = "Ask for an election: the leader gives way, or an election begins at once";
    let example = "Example:\n  tenure election start --config tenure.toml --election billing";
    let specs = [&ELECTION.spec, &PROTOCOL.spec];
    let start = with_settings_of(registry, able, Command::new("start"), &specs)
        .about(about)
        .after_help(format!(
            "A leader that is asked renews its lease no more, and leads until its lease ends. Then \
             all voters draw a leader. The runner of the old leader may win again: for another \
             leader, stop that runner. Without a leader all voters draw as soon as a majority is \
             free. Ask tenure leader for the result. In the mode available all voters draw at \
             once.\n\n\
             Ends with 0 when a node has accepted, 4 when no node answers, 6 when all nodes \
             refuse: each has promised its vote for a while, or has just restarted.\n\n\
             {example}"
        ));
    Command::new("election")
        .about("Ask for an election")
        .subcommand_required(true)
        .subcommand(start)
        .after_help(example)
}

fn candidates(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.elections;
    let specs = [&ELECTION.spec, &PROTOCOL.spec];
    with_settings_of(registry, able, Command::new("candidates"), &specs)
        .about("Print the leader and the waiting candidates of an election, with their waits")
        .after_help(
            "The leader comes first, then the waiting candidates, the longest wait first. Each \
             wait is the longest that any member has seen; a member sees nothing before its own \
             start. Ends with 4 when fewer members serve than a quorum.\n\n\
             Example:\n  tenure candidates --config tenure.toml --election billing",
        )
}

fn members(registry: Registry) -> Command {
    let shows = |protocol: &Protocol| protocol.can.members;
    let own = [&ELECTION.spec, &PROTOCOL.spec];
    let show = |name| {
        with_settings_of(registry, shows, Command::new(name), &own)
            .about("Print the members, and the state of each")
            .after_help(
                "Prints all members. With Nerio, also prints the nodes of the members list that \
                 are no members; with voters, also those without a vote. Ends with 4 when fewer \
                 members serve than a quorum needs.\n\n\
                 Example:\n  tenure members --config tenure.toml",
            )
    };
    show("members").args_conflicts_with_subcommands(true).subcommands([
        show("show"),
        change_members(
            registry,
            "add",
            Some("NAME[=HOST:PORT,…]"),
            "Make a running node a member, or give it a vote",
            "Start the node first: with an empty state directory, without --new, and with the \
             present members in its list. HOST:PORT is where others find the node; voters need no \
             HOST:PORT. If one of the voters has lost its state directory, remove it before you \
             add it.",
            "d=10.0.0.4:7101",
        ),
        change_members(
            registry,
            "remove",
            Some("NAME"),
            "Remove a member",
            "Stop the node afterwards. The leader of voters is never removed: make it resign \
             first, with tenure resign.",
            "c",
        ),
        change_members(
            registry,
            "replace",
            Some("NAME[=HOST:PORT,…]"),
            "Give a member's place to the running node with this name and an empty directory",
            "Use this if the machine or the state directory of a member is lost. First start a \
             node with the name of the member and an empty state directory, without --new. Give \
             HOST:PORT if the node is not at the address of the old member. With voters, use \
             remove and add instead.",
            "c",
        ),
        change_members(
            registry,
            "cancel",
            None,
            "Cancel the running change of members, unless a member has accepted it",
            "Voters make a change at once, so nothing can be cancelled.",
            "",
        ),
    ])
}

/// A command below `members` that changes a member; `argument` names its argument in the help.
fn change_members(
    registry: Registry,
    name: &'static str,
    argument: Option<&'static str>,
    about: &'static str,
    more: &str,
    example: &str,
) -> Command {
    let changes = |protocol: &Protocol| protocol.can.change_members;
    let own = [&ELECTION.spec, &PROTOCOL.spec, &TIMEOUT.spec];
    let argument = argument.map(|value| {
        Arg::new(MEMBER)
            .help("The name of the member")
            .value_name(value)
            .value_parser(OsStringValueParser::new())
    });
    let example = if example.is_empty() { String::new() } else { format!(" {example}") };
    with_settings_of(registry, changes, Command::new(name), &own)
        .about(about)
        .args(argument)
        .after_help(format!(
            "{more}\n\n\
             With Nerio one member carries the change out, and leaders keep leading. Give \
             --key-file with the key of the cluster, or with a key that has the right members. \
             Give --quorums if the quorum system of the new members is no majority; write a grid \
             by its rows, such as grid:a+b,c+d. With voters the leader makes the change.\n\n\
             Ends with 0 when a quorum of the new members serves, 3 when none of the voters leads, \
             4 when the outcome is unknown after --timeout, 6 when the change is refused.\n\n\
             Example:\n  tenure members {name}{example} --config tenure.toml --key-file op.key"
        ))
}

fn resign(registry: Registry) -> Command {
    let own = [&EVERY_ROLE.spec, &REMOTE.spec, &TIMEOUT.spec];
    to_runner(registry, Command::new("resign"), &own)
        .about("Make the leading `tenure run` resign: here, or on any machine with --remote")
        .after_help(
            "Ends with 6 when the runner does not lead, 69 when no runner answers, or when CMD \
             runs on after 90 s.\n\n\
             With --remote the members pass the order to the leader. Give --key-file with a key \
             that has the right resign. Ends with 0 when that leadership is over, 3 when nobody \
             leads, 4 when no quorum answers, 6 when no member passes the order on, 69 when the \
             leader still leads after --timeout.\n\n\
             Examples:\n  tenure resign --election billing\n  \
             tenure resign --election prices --all\n  \
             tenure resign --remote --key-file operator.key --config tenure.toml \\\n      \
             --election billing",
        )
}

fn transfer(registry: Registry) -> Command {
    let own = [&TO.spec, &WAIT.spec, &REMOTE.spec, &TIMEOUT.spec];
    to_runner(registry, Command::new("transfer"), &own)
        .about("Make the leading `tenure run` hand over: here, or on any machine with --remote")
        .after_help(
            "Without --wait the command ends when the old leader no longer leads. If that leader \
             has answered tenure verify, its promise may keep the next leader waiting; the command \
             then prints for how long. With --wait the command also waits for the end of such a \
             promise, and of an election.\n\n\
             Ends with 4 when --wait is over before the named candidate leads, 6 when the runner \
             does not lead or the named candidate does not wait, 69 when no runner answers.\n\n\
             With --remote the members pass the order to the leader. Give --key-file with a key \
             that has the right resign. Ends with 3 when nobody leads, 4 when no quorum answers, \
             69 when the leader still leads after --timeout.\n\n\
             Examples:\n  tenure transfer --election billing --to web-2-815 --wait 10s\n  \
             tenure transfer --remote --config tenure.toml --key-file operator.key \\\n      \
             --election billing --to web-2-815 --wait 10s",
        )
}

fn roles(registry: Registry) -> Command {
    let of = |name, about, more: &str, example: &str| {
        let argument = Arg::new(ROLE_RANGE)
            .help("A role, or the first and the last of several")
            .value_name(ROLE_RANGE)
            .value_parser(OsStringValueParser::new());
        to_runner(registry, Command::new(name).about(about), &[])
            .args((name != "show").then_some(argument))
            .after_help(format!("{more}\n\nExample:\n  tenure roles {name}{example}"))
    };
    let alike = "Change all processes of a group alike, and --roles in their settings: a process \
                 that starts again stands for the roles of its settings.";
    Command::new("roles")
        .about("Print or change the roles for which the `tenure run` on this machine stands")
        .subcommand_required(true)
        .after_help("Example:\n  tenure roles show --election prices")
        .subcommands([
            of("show", "Print the roles of the process", "", " --election prices"),
            of("add", "Make the process stand for more roles", alike, " 16..31 --election prices"),
            of(
                "remove",
                "Make the process give up some of its roles",
                &format!(
                    "The process stops the CMDs of these roles, and gives the roles up, before the \
                     command ends. A process that owns the partition of a removed role warns while \
                     others still stand for that role. {alike} Ends with 69 when a CMD runs on \
                     after 90 s."
                ),
                " 7 --election prices",
            ),
        ])
}

/// `command` with the settings that name a runner of an election on this machine. The command reads
/// the settings for reaching members only with --remote. The command always accepts these settings,
/// so that a line for `tenure leader` also works here.
pub(super) fn to_runner(registry: Registry, command: Command, more: &[&'static Spec]) -> Command {
    let mut specs = vec![&ELECTION.spec, &PROTOCOL.spec, &CONTROL.spec];
    let realms = registry.0.iter().map(|protocol| protocol.realm);
    for named in realms.chain(registry.0.iter().filter_map(|protocol| protocol.roster)) {
        // Take each setting once: several protocols may share a setting.
        if specs.iter().all(|told| told.name != named.name) {
            specs.push(named);
        }
    }
    let others = registry.of_protocols(false).into_iter();
    let others = others.filter(|spec| specs.iter().all(|told| told.name != spec.name));
    // The settings for reaching members are useful with --remote.
    let able = |spec: &&Spec| registry.owners(spec).iter().any(|owner| owner.can.orders);
    let (shown, hidden): (Vec<_>, Vec<_>) = others.partition(|spec| !is_of_run(spec) && able(spec));
    let hidden: Vec<_> = hidden.into_iter().map(|spec| flag(registry, spec).hide(true)).collect();
    with_settings(registry, command, &[&specs, more, &shown]).args(hidden)
}

fn doctor(registry: Registry) -> Command {
    let own = [&ELECTION.spec, &PROTOCOL.spec, &ID.spec, &CONTROL.spec];
    // Accept these settings, so that `tenure doctor` takes a line of `tenure run` or `tenure node`
    // unchanged.
    let others = [&VALUE.spec, &ONCE.spec, &TRY.spec, &HOLD.spec, &SUPERVISE.spec];
    let hidden = others.into_iter().map(|spec| flag(registry, spec).hide(true));
    let command = Command::new("doctor")
        .about("Check this machine: settings, keys, clock, names, members or service, disk");
    with_settings(registry, command, &[&own, &registry.of_protocols(true)])
        .args(hidden)
        .arg(command_words("The command of tenure run, which must be executable").hide(true))
        .after_help(
            "Takes the settings of tenure run and of tenure node, before and after the start. Run \
             it as the user that runs tenure. Prints a line for each check: ok, warning or fails, \
             with the remedy. Ends with 0 when no check fails, and with 1 when one does.\n\n\
             Examples:\n  sudo -u tenure tenure doctor --config /etc/tenure/node.toml \\\n      \
             --state /var/lib/tenure\n  tenure doctor --config tenure.toml --election billing",
        )
}

fn explain() -> Command {
    Command::new("explain")
        .about("Explain a waiting reason, a warning or an exit code, by its id")
        .arg(
            Arg::new(ID_TO_EXPLAIN)
                .help(
                    "The id at the end of a line, or an exit code; without an id, the command \
                       lists all ids",
                )
                .value_parser(OsStringValueParser::new()),
        )
        .after_help(
            "Needs no network: the text is that of docs/troubleshooting.md.\n\n\
             Examples:\n  tenure explain behind\n  tenure explain $?",
        )
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print the completion script for a shell")
        .arg(
            Arg::new(SHELL)
                .help("The shell")
                .required(true)
                .value_parser(AnyOf(parse::SHELLS.to_vec())),
        )
        .after_help(
            "Examples:\n  \
             tenure completions bash > ~/.local/share/bash-completion/completions/tenure\n  \
             tenure completions zsh > ~/.zfunc/_tenure     # with ~/.zfunc in $fpath\n  \
             tenure completions fish > ~/.config/fish/completions/tenure.fish",
        )
}

fn man() -> Command {
    Command::new("man")
        .about("Write the manual pages into a folder")
        .arg(
            Arg::new(FOLDER)
                .help("The folder; the command makes it if it does not exist")
                .required(true)
                .value_parser(OsStringValueParser::new())
                .value_hint(ValueHint::DirPath),
        )
        .after_help("Example:\n  tenure man ~/.local/share/man/man1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ALL;

    fn tree() -> Command {
        command(Registry(ALL))
    }

    #[test]
    fn command_tree_is_sound() {
        tree().debug_assert();
    }

    #[test]
    fn every_setting_is_a_flag() {
        fn has(command: &Command, name: &str) -> bool {
            command.get_arguments().any(|arg| arg.get_long() == Some(name))
                || command.get_subcommands().any(|below| has(below, name))
        }
        for spec in Registry(ALL).settings() {
            assert!(has(&tree(), spec.name), "{}", spec.name);
        }
    }

    #[test]
    fn flags_name_their_protocols() {
        fn help(command: &Command, name: &str) -> String {
            let flag = command.get_arguments().find(|arg| arg.get_long() == Some(name));
            flag.and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default()
        }
        let tree = tree();
        for name in ["run", "leader", "observe", "resign", "transfer"] {
            let below = tree.find_subcommand(name).unwrap();
            for arg in below.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(spec) = arg.get_long().and_then(|long| Registry(ALL).setting(long)) else {
                    continue;
                };
                let owners = Registry(ALL).owners(spec).len();
                let says = help(below, spec.name).contains("[only with ");
                assert_eq!(says, (1..ALL.len()).contains(&owners), "{name} --{}", spec.name);
            }
        }
        // A node has only one protocol, so the help of the flag needs no note.
        let node = tree.find_subcommand("node").unwrap();
        assert!(!help(node, "members").contains("[only with "));
        assert!(help(node, "lease").contains("[default: 5s]"), "{}", help(node, "lease"));
    }

    #[test]
    fn every_command_shows_an_example() {
        for below in tree().get_subcommands().filter(|below| !below.is_hide_set()) {
            let help = below.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", below.get_name());
        }
    }
}

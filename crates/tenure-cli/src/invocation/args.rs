//! The command line: which commands exist, and which settings each has.
//!
//! clap only splits it and collects texts. The parsers in [`mod@crate::settings`] read these texts,
//! because the same setting may come from a variable or the file.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, Command, ValueHint};

use crate::exit;
use crate::invocation::nerio::{demo, simulate};
use crate::protocol::nerio::{
    self, CLUSTER_SETTINGS, EXIT_ON_MISMATCH, LEASE_MAX, MEMBERS, REFRESH, ROUND_TRIP,
};
use crate::protocol::{Protocol, Registry};
use crate::settings::table::*;
use crate::settings::{Spec, parse};

/// The name of `-v`.
pub const VERBOSE: &str = "verbose";
/// The name of what stands after `--`.
pub const COMMAND: &str = "CMD";
/// The name of the argument of `members add` and `members remove`.
pub const MEMBER: &str = "member";
/// The name of the argument of `completions`.
pub const SHELL: &str = "SHELL";

const PRECEDENCE: &str = "\
Settings: a flag wins over its TENURE_* variable, that over the file of --config, that over the
default. A variable that is set and empty has the empty value. Variables and keys are named
after the flags: --lease-max is TENURE_LEASE_MAX and lease-max = \"10s\". An unknown key and a
misspelt variable are refused; any other unknown TENURE_* variable is only warned about.
--show-settings prints each setting with its value and origin.";

/// The registry of commands that have no choice of protocols.
const NERIO: Registry = Registry(&[&nerio::PROTOCOL]);

/// The whole command line.
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
            node(),
            leader(registry),
            observe(registry),
            verify(registry),
            elections(registry),
            candidates(registry),
            members(registry),
            resign(registry),
            transfer(registry),
            keys(),
            demo_command(),
            simulate_command(),
            completions(),
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
        let chosen = match protocol.name {
            name if *name == *NERIO.0[0].name => String::new(),
            name => format!("--protocol {name} "),
        };
        let example = protocol.example;
        format!("\n  tenure run {chosen}{example} \\\n      --election billing -- ./bill --all")
    });
    let examples: String = examples.collect();
    with_settings(registry, Command::new("run").about(about), &[&own, &registry.of_protocols(true)])
        .arg(
            Arg::new(COMMAND)
                .help("What runs while this process leads, with its arguments")
                .value_parser(OsStringValueParser::new())
                .action(ArgAction::Append)
                .num_args(1..)
                .last(true)
                .value_hint(ValueHint::CommandWithArguments),
        )
        .after_help(format!("{RUN}{examples}"))
}

const RUN: &str = "\
CMD is given TENURE_ELECTION, TENURE_ID, TENURE_FENCE (a number larger than that of every earlier \
leader; not where several may lead at once) and TENURE_UNTIL_FILE (a file that holds the end of \
the lease; not where it has none); where an election has roles also TENURE_ROLE, and in its \
arguments {role} is the number of its role. A `tenure run` inside CMD takes \
neither election, id, role nor the name of a member for its own.

With --name and --state it is a member of Nerio as well: one process a machine, without a \
tenure node.

Ends with CMD's own code; 5 when the leadership is lost under --once; 126 and 127 when CMD cannot \
be executed or does not exist.

Examples:";

fn node() -> Command {
    let own = [&NAME.spec, &STATE.spec, &NEW.spec, &MEMORY.spec, &CONTROL.spec];
    // A node ends for no member that differs.
    let of_nodes = CLUSTER_SETTINGS.iter().copied();
    let of_nodes: Vec<_> =
        of_nodes.filter(|spec| spec.name != EXIT_ON_MISMATCH.spec.name).collect();
    with_settings(
        NERIO,
        Command::new("node").about("Run a node: it grants leases to candidates"),
        &[&own, &of_nodes],
    )
    .args_conflicts_with_subcommands(true)
    .subcommands([
        with_settings(
            NERIO,
            Command::new("status").about(
                "Print what a node of this machine is doing, or a runner by its --control, or \
                        with --remote how all nodes do",
            ),
            &[&[&NAME.spec, &CONTROL.spec, &REMOTE.spec], CLUSTER_SETTINGS],
        )
        .after_help(
            "With --remote every node is asked over the network: what it does, the longest lease \
             that it gives, of how many elections it has granted the lease; ends with 4 when fewer \
             serve than a quorum, with --name with 69 when that one does not answer.\n\n\
             Examples:\n  tenure node status --name a\n  \
             tenure node status --control /run/billing.sock\n  \
             tenure node status --remote --config tenure.toml",
        ),
        with_settings(
            NERIO,
            Command::new("recover").about(
                "Edit the state directory of a stopped node, when more directories are lost than \
                 the others make up for",
            ),
            &[
                &[&NAME.spec, &STATE.spec, &LOST.spec, &ALL_LEADERS_STOPPED.spec],
                &[&FENCE_FLOOR.spec],
                &of_nodes,
            ],
        )
        .after_help(RECOVER),
        with_settings(
            NERIO,
            Command::new("wait-safe")
                .about("Wait until the next node may be restarted without stopping elections"),
            &[&[&NAME.spec, &WAIT.spec], CLUSTER_SETTINGS],
        )
        .after_help(
            "Safe is when all nodes grant, and every leader has its latest lease from all of \
             them. Without --wait it waits for ever; with it, 4 when the time is over. Ends \
             with 1 when it never will be safe, and says what to do.\n\n\
             Example:\n  tenure node wait-safe --config tenure.toml --wait 1m",
        ),
    ])
    .after_help(
        "Example:\n  tenure node --name a --state /var/lib/tenure --new \\\n      \
         --members a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103",
    )
}

const RECOVER: &str = "\
Where the lost ones are a quorum among themselves, nobody knows what they granted, and to whom; \
every election stops. Run this for each member that is there, first for those whose directories \
are whole: a lost directory begins a memory that knows the floor, a whole one keeps all that it \
holds. It prints the command line for the others, with the floor that all are to have.

Refused where starting the nodes is enough, for a directory that a node holds, for one that is \
not as --lost says, and for a floor below what a directory holds. The whole way is in \
docs/operations.md under \"Too many lost directories\".

Example:
  tenure node recover --name c --state /var/lib/tenure/c --config tenure.toml \\
      --lost a,b --all-leaders-stopped";

fn leader(registry: Registry) -> Command {
    with_settings(
        registry,
        Command::new("leader").about("Print who leads"),
        &[&[&ELECTION.spec, &PROTOCOL.spec, &WAIT.spec], &registry.of_protocols(false)],
    )
    .after_help(
        "Without --wait the first answer counts. Ends with 0 when there is a leader, 3 when there \
         is none, 4 when no quorum could be asked.\n\n\
         Example:\n  tenure leader --config tenure.toml --election billing --wait 10s",
    )
}

fn observe(registry: Registry) -> Command {
    with_settings(
        registry,
        Command::new("observe").about("Print a line for each change of leader, until stopped"),
        &[&[&ELECTION.spec, &PROTOCOL.spec], &registry.of_protocols(false)],
    )
    .after_help("Example:\n  tenure observe --config tenure.toml --election billing --json")
}

fn verify(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.verify;
    let specs = [&ELECTION.spec, &PROTOCOL.spec, &WAIT.spec];
    with_settings_of(registry, able, Command::new("verify"), &specs)
        .about("Ask the leader itself for proof that it leads")
        .after_help(
            "For recipients that cannot check a fence. Ends with 0 when the leader has promised, 3 \
             when there is none, 4 when it did not answer, 6 when it says that it does not lead, \
             as while it hands over. Without --wait the first answer counts.\n\n\
             Example:\n  tenure verify --config tenure.toml --election billing",
        )
}

fn elections(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.elections;
    with_settings_of(registry, able, Command::new("elections"), &[&PROTOCOL.spec])
        .about("Print which elections there are, who leads each, and how many wait")
        .after_help(
            "Those that somebody holds or waits for, as the members say that answer; with the key \
             of an application, its own. A leader is named when a quorum of members names it: that \
             none is named does not say that nobody leads, which tenure leader says. Ends with 4 \
             when fewer members serve than a quorum.\n\n\
             Example:\n  tenure elections --config tenure.toml",
        )
}

fn candidates(registry: Registry) -> Command {
    let able = |protocol: &Protocol| protocol.can.elections;
    let specs = [&ELECTION.spec, &PROTOCOL.spec];
    with_settings_of(registry, able, Command::new("candidates"), &specs)
        .about("Print who leads an election and who waits for it, and since when")
        .after_help(
            "The leader first, then who has waited longest: without a break, at the member where \
             that is longest. A member that was started again counts from then. Ends with 4 when \
             fewer members serve than a quorum.\n\n\
             Example:\n  tenure candidates --config tenure.toml --election billing",
        )
}

fn members(registry: Registry) -> Command {
    let shows = |protocol: &Protocol| protocol.can.members;
    let changes = |protocol: &Protocol| protocol.can.change_members;
    let own = [&ELECTION.spec, &PROTOCOL.spec];
    let show = |name| {
        with_settings_of(registry, shows, Command::new(name), &own)
            .about("Print the members, and how each does")
            .after_help(
                "These are the nodes of the members list or, where the members change, those that \
                 have a vote and those that are known without one. Ends with 4 when fewer of them \
                 serve than a quorum needs.\n\n\
                 Example:\n  tenure members --config tenure.toml",
            )
    };
    let able = registry.0.iter().find(|protocol| changes(**protocol));
    let protocol = able.map(|one| format!(" --protocol {}", one.name)).unwrap_or_default();
    let change = |name, about: &'static str, more: &str| {
        with_settings_of(registry, changes, Command::new(name), &own)
            .about(about)
            .arg(
                Arg::new(MEMBER)
                    .help("Its name")
                    .value_name("NAME")
                    .value_parser(OsStringValueParser::new()),
            )
            .after_help(format!(
                "The leader is asked to. {more} Ends with 3 when nobody leads, and 6 when it \
                 refuses.\n\nExample:\n  tenure members {name} west{protocol} --config tenure.toml"
            ))
    };
    show("members").args_conflicts_with_subcommands(true).subcommands([
        show("show"),
        change(
            "add",
            "Make one a member that takes part already, without a vote",
            "One whose state directory was lost is removed first, and added with its new one.",
        ),
        change(
            "remove",
            "Take a member's vote away",
            "A leader is never removed: it resigns first.",
        ),
    ])
}

/// `command` with the settings of the protocols that are `able` to do it; those of others are
/// taken and hidden, so that an error can say what is wrong with them.
fn with_settings_of(
    registry: Registry,
    able: fn(&Protocol) -> bool,
    command: Command,
    specs: &[&'static Spec],
) -> Command {
    let is_shown = |spec: &&Spec| registry.owners(spec).iter().any(|owner| able(*owner));
    let (shown, hidden): (Vec<_>, Vec<_>) =
        registry.of_protocols(false).into_iter().partition(is_shown);
    with_settings(registry, command, &[specs, &shown])
        .args(hidden.into_iter().map(|spec| flag(registry, spec).hide(true)))
}

fn resign(registry: Registry) -> Command {
    let own = [&EVERY_ROLE.spec, &REMOTE.spec, &TIMEOUT.spec];
    to_runner(registry, Command::new("resign"), &own)
        .about("Have the leading `tenure run` resign: that of this machine, or with --remote any")
        .after_help(
            "Ends with 6 when it does not lead, 69 when no runner answers, or its CMD has not \
             ended in 90 s.\n\n\
             With --remote the members pass it on to whoever leads, which needs a key with the \
             right to resign. Ends with 0 when that leadership is over, 3 when there is none, 4 \
             when no quorum answers, 6 when no member passes it on, 69 when it goes on after \
             --timeout.\n\n\
             Examples:\n  tenure resign --election billing\n  \
             tenure resign --election prices --all\n  \
             tenure resign --remote --key-file operator.key --config tenure.toml \\\n      \
             --election billing",
        )
}

fn transfer(registry: Registry) -> Command {
    let own = [&TO.spec, &WAIT.spec, &REMOTE.spec, &TIMEOUT.spec];
    to_runner(registry, Command::new("transfer"), &own)
        .about(
            "Have the leading `tenure run` hand over: that of this machine, or with --remote any",
        )
        .after_help(
            "Without --wait it ends when the old leader leads no more, and says until when a \
             verification's promise keeps the other from leading.\n\n\
             Ends with 4 when --wait is over before that, 6 when it does not lead or the other \
             does not wait, 69 when no runner answers.\n\n\
             With --remote the members pass it on to whoever leads, which needs a key with the \
             right to resign; 3 when nobody leads, 4 when no quorum answers, 69 when it leads on \
             after --timeout.\n\n\
             Examples:\n  tenure transfer --election billing --to web-2-815 --wait 10s\n  \
             tenure transfer --remote --config tenure.toml --key-file operator.key \\\n      \
             --election billing --to web-2-815 --wait 10s",
        )
}

/// `command` with what names the runner of an election on this machine. How else that runner finds
/// the others is looked at only with --remote, so that it need not be removed from a line that asks
/// who leads.
fn to_runner(registry: Registry, command: Command, more: &[&'static Spec]) -> Command {
    let mut specs = vec![&ELECTION.spec, &PROTOCOL.spec, &CONTROL.spec];
    let realms = registry.0.iter().map(|protocol| protocol.realm);
    for named in realms.chain(registry.0.iter().filter_map(|protocol| protocol.roster)) {
        // Several protocols may have the same.
        if specs.iter().all(|told| told.name != named.name) {
            specs.push(named);
        }
    }
    let others = registry.of_protocols(false).into_iter();
    let others = others.filter(|spec| specs.iter().all(|told| told.name != spec.name));
    // The settings that find members are of use with --remote.
    let able = |spec: &&Spec| registry.owners(spec).iter().any(|owner| owner.can.orders);
    let (shown, hidden): (Vec<_>, Vec<_>) = others.partition(able);
    let hidden: Vec<_> = hidden.into_iter().map(|spec| flag(registry, spec).hide(true)).collect();
    with_settings(registry, command, &[&specs, more, &shown]).args(hidden)
}

fn keys() -> Command {
    let below = |name, about: &'static str, specs: &[&'static Spec]| {
        with_settings(NERIO, Command::new(name).about(about), &[specs])
    };
    let made = "The key is a secret. Without --out it is printed.";
    Command::new("keys")
        .about("Make keys, and see who uses which")
        .subcommand_required(true)
        .subcommands([
            below(
                "new",
                "Make a key of a cluster, for its nodes only",
                &[&CLUSTER.spec, &OUT.spec],
            )
            .after_help(format!(
                "{made}\n\nExample:\n  tenure keys new --cluster prod --out prod.key"
            )),
            below(
                "issue",
                "Make the key of an application from that of its cluster",
                &[&KEY_FILE.spec, &APP.spec, &ELECTIONS.spec, &RIGHTS.spec, &OUT.spec],
            )
            .after_help(format!(
                "{made} The same command makes the same key again. Versions of tenure before \
                 rights do not read keys with others than contend,ask: upgrade first.\n\n\
                 Examples:\n  tenure keys issue --key-file prod.key --app billing \\\n      \
                 --elections 'billing/*' --out billing.key\n  \
                 tenure keys issue --key-file prod.key --app operator --elections '*' \\\n      \
                 --rights ask,resign --out operator.key"
            )),
            below(
                "status",
                "Print which keys a node of this machine uses and accepts, and who uses which",
                &[&NAME.spec, &CONTROL.spec, &CLUSTER.spec, &MEMBERS.spec],
            )
            .after_help("Example:\n  tenure keys status --name a"),
        ])
        .after_help(
            "To change a key without a stop, put the new one below the old one in the key files of \
             all nodes, then the new one alone in those of all applications, then the new one \
             first in those of the nodes, and take the old one out when keys status says so.\n\n\
             Examples:\n  tenure keys new --cluster prod --out prod.key\n  \
             tenure keys status --name a",
        )
}

fn demo_command() -> Command {
    Command::new("demo")
        .about("Start a real cluster on this machine, kill its leaders, and check what happened")
        .args([&demo::FOR.spec, &demo::LEASE.spec, &demo::KEEP.spec].map(|spec| flag(NERIO, spec)))
        .args(output())
        .after_help(
            "Reads no settings file, and of the variables only TENURE_LOG; a misspelt one is \
             refused all the same. Ends with 1 when two \
             leaders overlapped, a fence went back or a failover did not happen in time.\n\n\
             Example:\n  tenure demo --for 30s",
        )
}

fn simulate_command() -> Command {
    let timing = [
        &MEMBERS.spec,
        &LEASE.spec,
        &LEASE_MAX.spec,
        &DRIFT.spec,
        &GRACE.spec,
        &KILL_MARGIN.spec,
        &ROUND_TRIP.spec,
        &REFRESH.spec,
    ];
    let about =
        "Forecast what settings will give: failover times, availability, messages, and more";
    let command = Command::new("simulate").about(about);
    with_settings(NERIO, command, &[&timing, simulate::ALL]).after_help(
        "Runs the real state machines of a cluster in a made-up network, kills its leader again \
         and again, and tries other leases. What is run and what is not is in \
         docs/operations.md.\n\n\
         Examples:\n  tenure simulate --config tenure.toml --html forecast.html\n  \
         ping -c 1000 -i 0.2 other > trips && tenure simulate --rtt @trips --loss 0.5%",
    )
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print the completions of a shell")
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

/// `command` with these settings, and those of every command that reads the file.
fn with_settings(registry: Registry, command: Command, groups: &[&[&'static Spec]]) -> Command {
    let specs = groups.iter().copied().flatten();
    command
        .args(specs.map(|spec| flag(registry, spec)))
        .arg(flag(registry, &CONFIG.spec))
        .args(output())
}

fn flag(registry: Registry, spec: &'static Spec) -> Arg {
    let mut help = registry.help(spec);
    if let Some(variable) = spec.variable() {
        help += &format!(" [env: {variable}]");
    }
    let owners = registry.owners(spec);
    let arg = Arg::new(spec.name).long(spec.name).help(help).help_heading(spec.group);
    let arg = arg.hide(!owners.is_empty() && owners.iter().all(|owner| owner.lacks().is_some()));
    if spec.is_switch() {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(spec.value).value_hint(hint(spec));
    match spec.name {
        "log" => arg.value_parser(AnyOf(parse::LEVELS.to_vec())),
        "protocol" => arg.value_parser(AnyOf(registry.names())),
        _ => arg.value_parser(OsStringValueParser::new()),
    }
}

/// The flags of every command that reads settings.
fn output() -> [Arg; 4] {
    [flag(NERIO, &JSON.spec), flag(NERIO, &SHOW_SETTINGS.spec), flag(NERIO, &LOG.spec), verbose()]
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

/// Offers these words to completions, and takes any text: the refusal is the parser's.
#[derive(Clone)]
struct AnyOf(Vec<&'static str>);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ALL;

    fn tree() -> Command {
        command(Registry(ALL))
    }

    #[test]
    fn the_tree_is_sound() {
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
        // There is nothing to confuse it with.
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

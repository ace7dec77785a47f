//! The command line: which commands exist, and which settings each has.
//!
//! clap only splits it and collects texts. What a text means is the parser's business in
//! [`crate::settings`], because it may as well come from a variable or the file.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, Command, ValueHint};

use crate::exit;
use crate::settings::protocol::{ETCD, owner};
use crate::settings::table::*;
use crate::settings::{Default, Protocol, Spec, demo, parse, simulate};

/// The name of `-v`.
pub const VERBOSE: &str = "verbose";
/// The name of what stands after `--`.
pub const COMMAND: &str = "CMD";
/// The name of the argument of `completions`.
pub const SHELL: &str = "SHELL";

/// What everybody who talks to the cluster must know.
const CLUSTER_SETTINGS: &[&Spec] = &[
    &MEMBERS.spec,
    &CLUSTER.spec,
    &QUORUMS.spec,
    &LEASE_MAX.spec,
    &LEASE.spec,
    &GRACE.spec,
    &KILL_MARGIN.spec,
    &DRIFT.spec,
    &ROUND_TRIP.spec,
    &REFRESH.spec,
    &VERIFY_MAX.spec,
    &LISTEN.spec,
    &EXIT_ON_MISMATCH.spec,
    &INSECURE_ANY_ADDRESS.spec,
];

const PRECEDENCE: &str = "\
Settings: a flag wins over its TENURE_* variable, that over the file of --config, that over the
default. A variable that is set and empty has the empty value. Variables and keys are named
after the flags: --lease-max is TENURE_LEASE_MAX and lease-max = \"10s\". An unknown key and a
misspelt variable are refused; any other unknown TENURE_* variable is only warned about.
--show-settings prints each setting with its value and origin.";

/// The whole command line.
#[must_use]
pub fn command() -> Command {
    Command::new("tenure")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Leader election: run something on exactly one machine, and prove it")
        .after_help(format!("{PRECEDENCE}\n\n{}", exit::HELP))
        .subcommand_required(true)
        .max_term_width(100)
        .subcommands([
            run(),
            node(),
            leader(),
            observe(),
            verify(),
            resign(),
            transfer(),
            demo_command(),
            simulate_command(),
            completions(),
        ])
}

fn run() -> Command {
    let own = [
        &ELECTION.spec,
        &PROTOCOL.spec,
        &ID.spec,
        &VALUE.spec,
        &PRIORITY.spec,
        &ONCE.spec,
        &CONTROL.spec,
    ];
    let about = "Campaign, run CMD while leading, and stop it before the lease ends";
    with_settings(Command::new("run").about(about), &[&own, ETCD, CLUSTER_SETTINGS])
        .arg(
            Arg::new(COMMAND)
                .help("What runs while this process leads, with its arguments")
                .value_parser(OsStringValueParser::new())
                .action(ArgAction::Append)
                .num_args(1..)
                .last(true)
                .value_hint(ValueHint::CommandWithArguments),
        )
        .after_help(format!("{RUN}{}", if cfg!(feature = "etcd") { RUN_ON_ETCD } else { "" }))
}

const RUN: &str = "\
CMD is given TENURE_ELECTION, TENURE_ID, TENURE_FENCE (a number larger than that of every earlier \
leader) and TENURE_UNTIL_FILE (a file that holds the end of the lease). A `tenure run` inside CMD \
does not take the first two for its own.

Ends with CMD's own code; 5 when the leadership is lost under --once; 126 and 127 when CMD cannot \
be executed or does not exist.

Example:
  tenure run --members a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103 \\
      --election billing -- ./bill --all";

const RUN_ON_ETCD: &str = "
  tenure run --protocol etcd --endpoints http://10.0.0.1:2379,http://10.0.0.2:2379 \\
      --election billing -- ./bill --all";

fn node() -> Command {
    let own = [&NAME.spec, &STATE.spec, &NEW.spec, &MEMORY.spec, &CONTROL.spec];
    with_settings(
        Command::new("node").about("Run a node: it grants leases to candidates"),
        &[&own, CLUSTER_SETTINGS],
    )
    .args_conflicts_with_subcommands(true)
    .subcommands([
        with_settings(
            Command::new("status")
                .about("Print what a node of this machine is doing, or a runner by its --control"),
            &[&[&NAME.spec, &CONTROL.spec, &CLUSTER.spec]],
        )
        .after_help(
            "Examples:\n  tenure node status --name a\n  \
             tenure node status --control /run/billing.sock",
        ),
        with_settings(
            Command::new("wait-safe")
                .about("Wait until the next node may be restarted without stopping elections"),
            &[&[&NAME.spec, &WAIT.spec], CLUSTER_SETTINGS],
        )
        .after_help(
            "Safe is when this node grants again and every leader has heard from all nodes \
             since. Without --wait it waits for ever; with it, 4 when the time is over.\n\n\
             Example:\n  tenure node wait-safe --name a --config tenure.toml --wait 1m",
        ),
    ])
    .after_help(
        "Example:\n  tenure node --name a --state /var/lib/tenure --new \\\n      \
         --members a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103",
    )
}

fn leader() -> Command {
    with_settings(
        Command::new("leader").about("Print who leads"),
        &[&[&ELECTION.spec, &PROTOCOL.spec, &WAIT.spec], ETCD, CLUSTER_SETTINGS],
    )
    .after_help(
        "Without --wait the first answer counts. Ends with 0 when there is a leader, 3 when there \
         is none, 4 when no quorum could be asked. With --protocol etcd it tells \
         leaders of etcdctl and of Go's programs too.\n\n\
         Example:\n  tenure leader --config tenure.toml --election billing --wait 10s",
    )
}

fn observe() -> Command {
    with_settings(
        Command::new("observe").about("Print a line for each change of leader, until stopped"),
        &[&[&ELECTION.spec, &PROTOCOL.spec], ETCD, CLUSTER_SETTINGS],
    )
    .after_help("Example:\n  tenure observe --config tenure.toml --election billing --json")
}

fn verify() -> Command {
    with_settings(
        Command::new("verify").about("Ask the leader itself for proof that it leads"),
        &[&[&ELECTION.spec, &PROTOCOL.spec, &WAIT.spec], CLUSTER_SETTINGS],
    )
    // Taken, so that whoever gives them is told what is wrong.
    .args(ETCD.iter().map(|spec| flag(spec).hide(true)))
    .after_help(
        "For recipients that cannot check a fence. Ends with 0 when the leader has promised, 3 \
         when there is none, 4 when it did not answer, 6 when it says that it does not lead, as \
         while it hands over. Without --wait the first answer counts.\n\n\
         Example:\n  tenure verify --config tenure.toml --election billing",
    )
}

fn resign() -> Command {
    with_settings(
        Command::new("resign").about("Tell the leading `tenure run` of this machine to resign"),
        &[TELL],
    )
    .args(of_the_runner())
    .after_help(
        "Ends with 6 when it does not lead, 69 when no runner answers, or its CMD has not ended in \
         90 s.\n\n\
         Example:\n  tenure resign --election billing",
    )
}

fn transfer() -> Command {
    with_settings(
        Command::new("transfer").about("Tell the leading `tenure run` to hand over to another"),
        &[TELL, &[&TO.spec, &WAIT.spec]],
    )
    .args(of_the_runner())
    .after_help(
        "Without --wait it ends when the old leader leads no more, and says until when a \
         verification's promise keeps the other from leading.\n\n\
         Ends with 4 when --wait is over before that, 6 when it does not lead or the other does \
         not wait, 69 when no runner answers.\n\n\
         Example:\n  tenure transfer --election billing --to web-2-815 --wait 10s",
    )
}

/// What names the runner of an election on this machine.
const TELL: &[&Spec] =
    &[&ELECTION.spec, &PROTOCOL.spec, &CONTROL.spec, &CLUSTER.spec, &NAMESPACE.spec];

/// How the runner finds the others, of which whoever only tells it something has no need: taken
/// and not looked at, so that one need not take them away from a line that asks who leads.
fn of_the_runner() -> impl Iterator<Item = Arg> {
    let all = ETCD.iter().chain(CLUSTER_SETTINGS);
    let others = all.filter(|spec| TELL.iter().all(|told| told.name != spec.name));
    others.map(|spec| flag(spec).hide(true))
}

fn demo_command() -> Command {
    Command::new("demo")
        .about("Start a real cluster on this machine, kill its leaders, and check what happened")
        .args([flag(&demo::FOR.spec), flag(&demo::LEASE.spec), flag(&demo::KEEP.spec)])
        .args(output())
        .after_help(
            "Reads no settings file, and of the variables only TENURE_LOG. Ends with 1 when two \
             leaders overlapped, a fence went back or a failover did not happen in time.\n\n\
             Example:\n  tenure demo --for 30s",
        )
}

fn simulate_command() -> Command {
    let timing = [
        &LEASE.spec,
        &LEASE_MAX.spec,
        &DRIFT.spec,
        &GRACE.spec,
        &KILL_MARGIN.spec,
        &ROUND_TRIP.spec,
        &REFRESH.spec,
    ];
    let about = "Tell what settings will give: failover times, availability, messages, and more";
    with_settings(Command::new("simulate").about(about), &[&timing, simulate::ALL]).after_help(
        "Runs the real cores of a cluster in a made-up network, kills its leader again and again, \
         and tries other leases. What is run and what is not is in docs/operations.md.\n\n\
         Examples:\n  tenure simulate --config tenure.toml --html forecast.html\n  \
         ping -c 1000 -i 0.2 other > trips && tenure simulate --rtt @trips --loss 0.5%",
    )
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print the completions of a shell")
        .arg(Arg::new(SHELL).help("The shell").value_parser(AnyOf(&parse::SHELLS)))
        .after_help(
            "Examples:\n  \
             tenure completions bash > ~/.local/share/bash-completion/completions/tenure\n  \
             tenure completions zsh > ~/.zfunc/_tenure     # with ~/.zfunc in $fpath\n  \
             tenure completions fish > ~/.config/fish/completions/tenure.fish",
        )
}

/// `command` with these settings, and those of every command that reads the file.
fn with_settings(command: Command, groups: &[&[&Spec]]) -> Command {
    let specs = || groups.iter().copied().flatten().copied();
    // What is Nerio's is worth a word only where etcd's is offered, too.
    let both = cfg!(feature = "etcd") && specs().any(|spec| owner(spec) == Some(Protocol::Etcd));
    let own = |spec: &Spec| match owner(spec) {
        Some(Protocol::Nerio) if both => described(spec, format!("{} [not with etcd]", spec.help)),
        _ => flag(spec),
    };
    command.args(specs().map(own)).arg(flag(&CONFIG.spec)).args(output())
}

fn flag(spec: &Spec) -> Arg {
    described(spec, spec.help.to_owned())
}

/// The flag with this help, and what is known of it besides.
fn described(spec: &Spec, mut help: String) -> Arg {
    if !spec.is_switch() {
        match spec.default {
            Default::Text(text) if !text.is_empty() => help += &format!(" [default: {text}]"),
            Default::ByProtocol { nerio, etcd } => {
                help += &format!(" [default: {nerio}; with etcd {etcd}]");
            }
            Default::Follows(words) => help += &format!(" [default: {words}]"),
            Default::Text(_) | Default::Nothing => {}
        }
    }
    if let Some(variable) = spec.variable() {
        help += &format!(" [env: {variable}]");
    }
    let arg = Arg::new(spec.name).long(spec.name).help(help).help_heading(spec.group);
    let arg = arg.hide(!cfg!(feature = "etcd") && owner(spec) == Some(Protocol::Etcd));
    if spec.is_switch() {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(spec.value).value_hint(hint(spec));
    match choices(spec) {
        Some(choices) => arg.value_parser(AnyOf(choices)),
        None => arg.value_parser(OsStringValueParser::new()),
    }
}

/// What every command has that reads settings.
fn output() -> [Arg; 4] {
    [flag(&JSON.spec), flag(&SHOW_SETTINGS.spec), flag(&LOG.spec), verbose()]
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

fn choices(spec: &Spec) -> Option<&'static [&'static str]> {
    match spec.name {
        "log" => Some(&parse::LEVELS),
        "protocol" => Some(parse::PROTOCOLS),
        _ => None,
    }
}

/// Offers these words to completions, and takes any text: the refusal is the parser's.
#[derive(Clone)]
struct AnyOf(&'static [&'static str]);

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

    #[test]
    fn the_tree_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_setting_is_a_flag_of_some_command() {
        fn has(command: &Command, name: &str) -> bool {
            command.get_arguments().any(|arg| arg.get_long() == Some(name))
                || command.get_subcommands().any(|below| has(below, name))
        }
        for spec in ALL {
            assert!(has(&command(), spec.name), "{}", spec.name);
        }
    }

    #[test]
    #[cfg(feature = "etcd")]
    fn a_flag_that_etcd_does_not_have_says_so_where_both_are_offered() {
        fn told(command: &Command, name: &str) -> bool {
            let flag = command.get_arguments().find(|arg| arg.get_long() == Some(name));
            let help = flag.and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default();
            help.contains("[not with etcd]")
        }
        let (tree, spec_of) = (command(), |arg: &Arg| arg.get_long().and_then(named));
        for name in ["run", "leader", "observe", "resign", "transfer"] {
            let below = tree.find_subcommand(name).unwrap();
            let shown = below.get_arguments().filter(|arg| !arg.is_hide_set());
            for spec in shown.filter_map(spec_of) {
                let is_nerios = owner(spec) == Some(Protocol::Nerio);
                assert_eq!(told(below, spec.name), is_nerios, "{name} --{}", spec.name);
            }
        }
        // There is nothing to confuse it with.
        assert!(!told(tree.find_subcommand("node").unwrap(), "members"));
    }

    #[test]
    fn every_command_shows_an_example() {
        for below in command().get_subcommands().filter(|below| !below.is_hide_set()) {
            let help = below.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", below.get_name());
        }
    }
}

//! The command lines of Nerio's own commands.

use clap::Command;

use super::{demo, simulate};
use crate::invocation::flag::{flag, output, with_settings};
use crate::invocation::http::OF_HTTP;
use crate::protocol::nerio::{
    CLUSTER_SETTINGS, EXIT_ON_MISMATCH, LEASE_MAX, MEMBER_SETTINGS, MEMBERS, PROTOCOL, REFRESH,
    ROUND_TRIP,
};
use crate::protocol::{ALL, Registry};
use crate::settings::Spec;
use crate::settings::table::{
    self, ALL_LEADERS_STOPPED, APP, CLUSTER, CONTROL, DRIFT, ELECTIONS, EPOCH, FENCE_FLOOR, GRACE,
    KEY_FILE, KILL_MARGIN, LEASE, LOST, NAME, OUT, REMOTE, RIGHTS, STATE, SUPERVISE, WAIT,
};

/// The registry of commands that have no choice of protocols.
static NERIO: Registry = Registry(&[&PROTOCOL]);

pub(in crate::invocation) fn node() -> Command {
    let own = [&NAME.spec, &CONTROL.spec, &SUPERVISE.spec];
    // Leave out this setting: a node goes on even if the members have another configuration.
    let of_nodes = CLUSTER_SETTINGS.iter().copied();
    let of_nodes: Vec<_> =
        of_nodes.filter(|spec| spec.name != EXIT_ON_MISMATCH.spec.name).collect();
    with_settings(
        NERIO,
        Command::new("node").about("Run a node: it grants leases to candidates"),
        &[&own, &OF_HTTP, MEMBER_SETTINGS, &of_nodes],
    )
    .args_conflicts_with_subcommands(true)
    .subcommands([
        with_settings(
            NERIO,
            Command::new("status").about(
                "Print the status of a node on this machine, of a process by --control, or of all \
                 by --remote",
            ),
            &[&[&NAME.spec, &CONTROL.spec, &REMOTE.spec], CLUSTER_SETTINGS],
        )
        .after_help(
            "With --remote the command asks every node over the network for its state, the longest \
             lease that the node grants, and the number of its granted leases. Ends with 4 when \
             fewer nodes serve than a quorum; with --name, ends with 69 when that node does not \
             answer.\n\n\
             Examples:\n  tenure node status --name a\n  \
             tenure node status --control /run/billing.sock\n  \
             tenure node status --remote --config tenure.toml",
        ),
        clear_breach(),
        with_settings(
            NERIO,
            Command::new("recover").about(
                "Repair the state directory of a stopped node after a quorum lost its directories",
            ),
            &[
                &[&NAME.spec, &STATE.spec, &LOST.spec, &ALL_LEADERS_STOPPED.spec],
                &[&FENCE_FLOOR.spec, &EPOCH.spec],
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
            "A restart is safe when all nodes grant leases, and every leader has its latest lease \
             from all nodes. Without --wait the command waits for ever; with --wait it ends with 4 \
             when the time is over. It ends with 1 when a restart will never be safe, and says \
             what to do.\n\n\
             Example:\n  tenure node wait-safe --config tenure.toml --wait 1m",
        ),
    ])
    .after_help(
        "Example:\n  tenure node --name a --state /var/lib/tenure --new \\\n      \
         --members a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103",
    )
}

fn clear_breach() -> Command {
    with_settings(
        NERIO,
        Command::new("clear-breach")
            .about("Make a node or a runner on this machine compare all clocks anew"),
        &[&[&NAME.spec, &CONTROL.spec], CLUSTER_SETTINGS],
    )
    .after_help(
        "A process that takes its own clock to be wrong leads nothing and grants nothing until \
         this command, or until it starts again. Correct the clock first: the process compares \
         at once, and a clock that is still wrong stops it again within seconds. If \
         other processes ignore the grants of a member because its clock was too fast, restart \
         that member, or run this command for each of them, too.\n\n\
         Examples:\n  tenure node clear-breach --name a\n  \
         tenure node clear-breach --control /run/billing.sock",
    )
}

const RECOVER: &str = "\
If the lost members form a quorum, the other members do not know which leases the lost members \
granted, and every election stops. Run this command for each member that still exists. Start with \
the members whose directories are intact; these keep their content. A lost directory is made anew; \
its fences start at --fence-floor. The command prints the command line for the other members, with \
the floor and the epoch that all of them need. Without both, the command refuses a lost directory, \
unless all directories are lost.

If the members were ever changed, name in --lost the members that never come back; the others must \
be too few for a quorum. Run this command for each of the others, and never start a lost member \
with its old directory again. The others become the members of a later epoch, with --quorums if \
given. A lost member comes back with an empty directory, by tenure members add.

The command refuses if starting the nodes is enough, or if a node uses the directory. It refuses \
if --lost names this member although its directory is intact, or leaves this member out although \
its directory is lost. It refuses a directory with a fence above --fence-floor, in another epoch \
than --epoch, or that a later epoch has left out. It refuses a members list with names that are \
not in the epoch of the directory. All steps are in docs/howto/lost-quorum.md.

Example:
  tenure node recover --name c --state /var/lib/tenure/c --config tenure.toml \\
      --lost a,b --all-leaders-stopped";

pub(in crate::invocation) fn keys() -> Command {
    let below = |name, about: &'static str, specs: &[&'static Spec]| {
        with_settings(NERIO, Command::new(name).about(about), &[specs])
    };
    let made = "The key is a secret. Without --out it is printed.";
    Command::new("keys")
        .about("Make keys, and see which process uses which key")
        .subcommand_required(true)
        .subcommands([
            below(
                "new",
                "Make the key of a cluster, for the nodes of the cluster only",
                &[&CLUSTER.spec, &OUT.spec],
            )
            .after_help(format!(
                "{made}\n\nExample:\n  tenure keys new --cluster prod --out prod.key"
            )),
            below(
                "issue",
                "Make the key of an application from the key of its cluster",
                &[&KEY_FILE.spec, &APP.spec, &ELECTIONS.spec, &RIGHTS.spec, &OUT.spec],
            )
            .after_help(format!(
                "{made} The same command makes the same key again. Older versions of tenure \
                 read only keys with the rights contend,ask: upgrade before you give other \
                 rights.\n\n\
                 Examples:\n  tenure keys issue --key-file prod.key --app billing \\\n      \
                 --elections 'billing/*' --out billing.key\n  \
                 tenure keys issue --key-file prod.key --app operator --elections '*' \\\n      \
                 --rights ask,resign --out operator.key"
            )),
            below(
                "status",
                "Print the keys that a node of this machine uses and accepts, with their users",
                &[&NAME.spec, &CONTROL.spec, &CLUSTER.spec, &MEMBERS.spec],
            )
            .after_help("Example:\n  tenure keys status --name a"),
        ])
        .after_help(
            "To change a key without a stop, first put the new key below the old key in the key \
             files of all nodes. Then put the new key alone into the key files of all \
             applications. Then move the new key above the old key in the files of all nodes. Take \
             the old key out when tenure keys status says so.\n\n\
             Examples:\n  tenure keys new --cluster prod --out prod.key\n  \
             tenure keys status --name a",
        )
}

pub(in crate::invocation) fn demo_command() -> Command {
    Command::new("demo")
        .about("Start a real cluster on this machine, kill its leaders, and check what happened")
        .args([&demo::FOR.spec, &demo::LEASE.spec, &demo::KEEP.spec].map(|spec| flag(NERIO, spec)))
        .args(output())
        .after_help(
            "The demo reads no settings file, and no TENURE_* variable but TENURE_LOG; it still \
             refuses a misspelt variable. Ends with 1 when two leaders overlapped, when a fence \
             was lower than an earlier fence, or when a failover did not happen in time.\n\n\
             Example:\n  tenure demo --for 30s",
        )
}

pub(in crate::invocation) fn simulate_command() -> Command {
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
    let about = "Forecast the effect of settings: failover times, availability, messages, and more";
    let command = Command::new("simulate").about(about);
    with_settings(NERIO, command, &[&timing, simulate::ALL]).after_help(
        "Runs the real state machines of a cluster in a made-up network, kills its leader again \
         and again, and tries other leases. docs/explain/performance.md says what is left out.\n\n\
         Examples:\n  tenure simulate --config tenure.toml --html forecast.html\n  \
         ping -c 1000 -i 0.2 other > trips && tenure simulate --rtt @trips --loss 0.5%",
    )
}

/// The remedy for a flag `name` of another protocol, if the command at `path` is a command for
/// nodes.
pub(in crate::invocation) fn foreign(path: &str, name: &str) -> Option<&'static str> {
    let all = Registry(ALL);
    let owners = all.setting(name).map(|spec| all.owners(spec)).unwrap_or_default();
    let has_others = !owners.is_empty() && owners.iter().all(|owner| owner.name != PROTOCOL.name);
    let is_foreign = has_others || name == table::PROTOCOL.spec.name;
    let fix = match name {
        "key" => "the file with the keys of a Nerio cluster is --key-file",
        _ => "remove the flag: only Nerio has nodes",
    };
    (path.starts_with("tenure node") && is_foreign).then_some(fix)
}

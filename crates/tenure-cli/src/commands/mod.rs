//! The commands, one file each; Nerio's own commands are in `nerio/`.
//!
//! `ALL` has a row for each command. The function of the row reads and checks all settings before
//! it returns the [`Work`].

mod client;
mod leader;
mod members;
mod nerio;
mod observe;
mod resign_transfer;
mod role_table;
mod run;
mod signals;
mod starting;
mod status;

pub use nerio::demo::reenter;

use std::ffi::OsString;
use std::future::Future;

use tenure_supervise::ignore_ctrl_z;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::signals::beside_orphans;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{self, Failure, quoted};
use crate::invocation::ask::{
    AskSettings, ChangeCommand, ChangeMembersSettings, TellSettings, TransferSettings,
};
use crate::invocation::nerio::ask::{CandidatesSettings, VerifySettings, elections};
use crate::invocation::nerio::demo::DemoSettings;
use crate::invocation::nerio::keys::{IssueKeySettings, NewKeySettings};
use crate::invocation::nerio::node::{
    HealthSettings, NodeSettings, StatusSettings, WaitSafeSettings,
};
use crate::invocation::nerio::order::{OrderSettings, is_elsewhere};
use crate::invocation::nerio::recover::RecoverSettings;
use crate::invocation::nerio::simulate::SimulateSettings;
use crate::invocation::run::RunSettings;
use crate::invocation::{self, Invocation, Reading, ask};
use crate::protocol::{self, Layers, Registry};
use crate::settings::Context;
use crate::settings::table::REMOTE;
use crate::stderr;

/// The work of a command whose settings are checked.
pub type Work = Box<dyn FnOnce(Context) -> Result<Exit, Failure>>;

struct Command {
    words: &'static str,
    read: fn(&mut Layers<'_>) -> Result<Work, Failure>,
}

/// All commands but `completions`, which prints a text.
static ALL: [Command; 23] = [
    Command {
        words: "run",
        read: |layers| {
            let settings = RunSettings::read(layers)?;
            Ok(Box::new(|context| stay(run::run(settings, context))))
        },
    },
    Command {
        words: "node",
        read: |layers| {
            let settings = NodeSettings::read(layers)?;
            Ok(Box::new(|context| {
                let warning = settings.seat.storage.warning();
                warning.iter().for_each(|warning| failure::warn(warning));
                stay(nerio::node::run(settings, context))
            }))
        },
    },
    Command {
        words: "node status",
        read: |layers| {
            if layers.required(&REMOTE)? {
                let settings = HealthSettings::read(layers)?;
                return Ok(work(|context| nerio::health::run(settings, context)));
            }
            let settings = StatusSettings::read(layers)?;
            Ok(work(|context| status::run(settings, context)))
        },
    },
    Command {
        words: "node wait-safe",
        read: |layers| {
            let settings = WaitSafeSettings::read(layers)?;
            Ok(Box::new(|context| {
                failure::warn_aside();
                block_on(nerio::wait_safe::run(settings, context))
            }))
        },
    },
    Command {
        words: "node recover",
        read: |layers| {
            let settings = RecoverSettings::read(layers)?;
            Ok(Box::new(move |context| nerio::recover::run(&settings, &context)))
        },
    },
    Command {
        words: "leader",
        read: |layers| {
            let settings = AskSettings::read(layers, true)?;
            Ok(work(|context| leader::run(settings, context)))
        },
    },
    Command {
        words: "observe",
        read: |layers| {
            let settings = AskSettings::read(layers, false)?;
            Ok(Box::new(|context| {
                failure::warn_aside();
                block_on(observe::run(settings, context))
            }))
        },
    },
    Command {
        words: "verify",
        read: |layers| {
            let settings = VerifySettings::read(layers)?;
            Ok(work(|context| nerio::verify::run(settings, context)))
        },
    },
    Command {
        words: "elections",
        read: |layers| {
            let grantors = elections(layers)?;
            Ok(work(|context| nerio::lists::elections(grantors, context)))
        },
    },
    Command {
        words: "candidates",
        read: |layers| {
            let settings = CandidatesSettings::read(layers)?;
            Ok(work(|context| nerio::lists::candidates(settings, context)))
        },
    },
    Command { words: "members", read: list_members },
    Command { words: "members show", read: list_members },
    Command { words: "members add", read: |layers| change_members(layers, ChangeCommand::Add) },
    Command {
        words: "members remove",
        read: |layers| change_members(layers, ChangeCommand::Remove),
    },
    Command {
        words: "members replace",
        read: |layers| change_members(layers, ChangeCommand::Replace),
    },
    Command {
        words: "members cancel",
        read: |layers| change_members(layers, ChangeCommand::Cancel),
    },
    Command {
        words: "resign",
        read: |layers| {
            if is_elsewhere(layers)? {
                let settings = OrderSettings::resign(layers)?;
                return Ok(work(|context| nerio::order::run(settings, context)));
            }
            let settings = TellSettings::read(layers)?;
            Ok(work(|context| resign_transfer::resign(settings, context)))
        },
    },
    Command {
        words: "transfer",
        read: |layers| {
            if is_elsewhere(layers)? {
                let settings = OrderSettings::transfer(layers)?;
                return Ok(work(|context| nerio::order::run(settings, context)));
            }
            let settings = TransferSettings::read(layers)?;
            Ok(work(|context| resign_transfer::transfer(settings, context)))
        },
    },
    Command {
        words: "keys new",
        read: |layers| {
            let settings = NewKeySettings::read(layers)?;
            Ok(Box::new(move |context| nerio::keys::new(&settings, &context)))
        },
    },
    Command {
        words: "keys issue",
        read: |layers| {
            let settings = IssueKeySettings::read(layers)?;
            Ok(Box::new(move |context| nerio::keys::issue(&settings, &context)))
        },
    },
    Command {
        words: "keys status",
        read: |layers| {
            let settings = StatusSettings::read(layers)?;
            Ok(work(|context| nerio::keys::status(settings, context)))
        },
    },
    Command {
        words: "demo",
        read: |layers| {
            let settings = DemoSettings::read(layers)?;
            Ok(work(|context| nerio::demo::run(settings, context)))
        },
    },
    Command {
        words: "simulate",
        read: |layers| {
            let settings = SimulateSettings::read(layers)?;
            Ok(Box::new(move |context| nerio::simulate::run(&settings, &context)))
        },
    },
];

fn list_members(layers: &mut Layers<'_>) -> Result<Work, Failure> {
    let backend = ask::members(layers)?;
    Ok(work(|context| members::run(backend, context)))
}

fn change_members(layers: &mut Layers<'_>, command: ChangeCommand) -> Result<Work, Failure> {
    let settings = ChangeMembersSettings::read(layers, command)?;
    Ok(work(|context| members::change(settings, context)))
}

/// Makes the work of a command that ends by itself.
fn work<F>(command: impl FnOnce(Context) -> F + 'static) -> Work
where
    F: Future<Output = Result<Exit, Failure>> + 'static,
{
    Box::new(|context| block_on(command(context)))
}

/// Runs a command that lasts until it is stopped. The process has no other thread yet.
fn stay(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    ignore_ctrl_z();
    failure::warn_aside();
    block_on(beside_orphans(command))
}

/// Reads the arguments; see [`invocation::read`].
pub fn read(
    registry: Registry,
    arguments: &[OsString],
    environment: &Environment,
    warn: impl FnMut(&str),
) -> Result<Reading<Work>, Failure> {
    invocation::read(registry, arguments, environment, warn, |words, layers| {
        let Some(command) = ALL.iter().find(|command| command.words == words) else {
            let what = format!("the command {} is listed and has no settings", quoted(words));
            return Err(Failure::new(Exit::Bug, what, "report it"));
        };
        (command.read)(layers)
    })
}

pub fn carry_out(invocation: Invocation<Work>) -> Result<Exit, Failure> {
    log(invocation.log);
    (invocation.work)(invocation.context)
}

fn block_on(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        let what = format!("the runtime cannot be made: {error}");
        Failure::new(Exit::System, what, "check the limits of this process")
    })?;
    let ended = runtime.block_on(command);
    // An unanswered look-up of a name does not delay the end.
    runtime.shutdown_background();
    ended
}

fn log(level: LevelFilter) {
    // Libraries log each frame of a connection, which would bury the rest.
    let others = match level {
        LevelFilter::TRACE => LevelFilter::DEBUG,
        level => level.min(LevelFilter::WARN),
    };
    // The commands report these events themselves.
    let events = if level < LevelFilter::DEBUG { LevelFilter::OFF } else { level };
    let quiet = protocol::ALL.iter().flat_map(|protocol| protocol.quiet);
    let targets = Targets::new()
        .with_default(others)
        .with_target("tenure", level)
        .with_targets(quiet.map(|target| (*target, others.min(events))))
        .with_target(tenure::driver::LOG, events)
        // The commands report all notices.
        .with_target(tenure::driver::NOTICES, LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| stderr::Lines).with_ansi(false);
    // Tests start several commands in one process; later calls change nothing.
    let _ = tracing_subscriber::registry().with(lines.with_filter(targets)).try_init();
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use crate::args;
    use crate::protocol::{self, Registry};

    #[test]
    fn every_command_has_a_row() {
        fn check(command: &clap::Command, above: &str) -> usize {
            let below = command.get_subcommands().map(|below| {
                let words = format!("{above}{}", below.get_name());
                let works = !below.is_subcommand_required_set() && words != "completions";
                assert_eq!(works, ALL.iter().any(|row| row.words == words), "{words}");
                usize::from(works) + check(below, &format!("{words} "))
            });
            below.sum()
        }
        assert_eq!(check(&args::command(Registry(protocol::ALL)), ""), ALL.len());
    }
}

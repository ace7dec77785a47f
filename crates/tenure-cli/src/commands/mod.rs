//! The commands, one file each; Nerio's own commands are in `nerio/`.
//!
//! `ALL` has a row for each command. The function of the row reads and checks all settings before
//! it returns the [`Work`].

mod client;
mod doctor;
mod election;
mod http;
mod leader;
mod members;
mod nerio;
mod observe;
mod observe_weak;
mod resign_transfer;
mod role_table;
mod roles;
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
    AskSettings, ChangeCommand, ChangeMembersSettings, RoleCommand, RolesSettings,
    StartElectionSettings, TellSettings, TransferSettings,
};
use crate::invocation::doctor::DoctorSettings;
use crate::invocation::nerio::ask::{CandidatesSettings, VerifySettings, elections};
use crate::invocation::nerio::demo::DemoSettings;
use crate::invocation::nerio::edict::{CheckSettings, CreateSettings};
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
use crate::settings::table::{REMOTE, WEAK};
use crate::stderr;

/// The work of a command whose settings are checked.
pub type Work = Box<dyn FnOnce(Context) -> Result<Exit, Failure>>;

struct Command {
    words: &'static str,
    read: fn(&mut Layers<'_>) -> Result<Work, Failure>,
}

const fn row(words: &'static str, read: fn(&mut Layers<'_>) -> Result<Work, Failure>) -> Command {
    Command { words, read }
}

/// All commands but `completions`, `explain` and `man`, which only print texts.
static ALL: [Command; 31] = [
    row("run", |layers| work(RunSettings::read(layers)?, run::run, stay)),
    row("node", |layers| {
        let settings = NodeSettings::read(layers)?;
        Ok(Box::new(|context| {
            let warning = settings.seat.storage.warning();
            warning.iter().for_each(|warning| failure::warn(warning));
            stay(nerio::node::run(settings, context))
        }))
    }),
    row("node status", |layers| {
        if layers.required(&REMOTE)? {
            work(HealthSettings::read(layers)?, nerio::health::run, block_on)
        } else {
            work(StatusSettings::read(layers)?, status::run, block_on)
        }
    }),
    row("node clear-breach", |layers| {
        work(StatusSettings::read(layers)?, nerio::clear_breach::run, block_on)
    }),
    row("node wait-safe", |layers| {
        work(WaitSafeSettings::read(layers)?, nerio::wait_safe::run, aside)
    }),
    row("node recover", |layers| at_once(RecoverSettings::read(layers)?, nerio::recover::run)),
    row("leader", |layers| work(AskSettings::read(layers, true)?, leader::run, block_on)),
    row("observe", |layers| {
        if layers.required(&WEAK)? {
            work(ask::weak(layers)?, observe_weak::run, aside)
        } else {
            work(AskSettings::read(layers, false)?, observe::run, aside)
        }
    }),
    row("verify", |layers| work(VerifySettings::read(layers)?, nerio::verify::run, block_on)),
    row("elections", |layers| work(elections(layers)?, nerio::lists::elections, block_on)),
    row("candidates", |layers| {
        work(CandidatesSettings::read(layers)?, nerio::lists::candidates, block_on)
    }),
    row("election start", |layers| {
        work(StartElectionSettings::read(layers)?, election::start, block_on)
    }),
    row("members", |layers| work(ask::members(layers)?, members::run, block_on)),
    row("members show", |layers| work(ask::members(layers)?, members::run, block_on)),
    row("members add", |layers| change_members(layers, ChangeCommand::Add)),
    row("members remove", |layers| change_members(layers, ChangeCommand::Remove)),
    row("members replace", |layers| change_members(layers, ChangeCommand::Replace)),
    row("members cancel", |layers| change_members(layers, ChangeCommand::Cancel)),
    row("resign", |layers| {
        if is_elsewhere(layers)? {
            work(OrderSettings::resign(layers)?, nerio::order::run, block_on)
        } else {
            work(TellSettings::read(layers)?, resign_transfer::resign, block_on)
        }
    }),
    row("transfer", |layers| {
        if is_elsewhere(layers)? {
            work(OrderSettings::transfer(layers)?, nerio::order::run, block_on)
        } else {
            work(TransferSettings::read(layers)?, resign_transfer::transfer, block_on)
        }
    }),
    row("roles show", |layers| change_roles(layers, RoleCommand::Show)),
    row("roles add", |layers| change_roles(layers, RoleCommand::Add)),
    row("roles remove", |layers| change_roles(layers, RoleCommand::Remove)),
    row("edict create", |layers| {
        work(CreateSettings::read(layers)?, nerio::edict::create, block_on)
    }),
    row("edict check", |layers| work(CheckSettings::read(layers)?, nerio::edict::check, block_on)),
    row("keys new", |layers| at_once(NewKeySettings::read(layers)?, nerio::keys::new)),
    row("keys issue", |layers| at_once(IssueKeySettings::read(layers)?, nerio::keys::issue)),
    row("keys status", |layers| work(StatusSettings::read(layers)?, nerio::keys::status, block_on)),
    row("doctor", |layers| work(DoctorSettings::read(layers)?, doctor::run, block_on)),
    row("demo", |layers| work(DemoSettings::read(layers)?, nerio::demo::run, block_on)),
    row("simulate", |layers| at_once(SimulateSettings::read(layers)?, nerio::simulate::run)),
];

fn change_members(layers: &mut Layers<'_>, command: ChangeCommand) -> Result<Work, Failure> {
    work(ChangeMembersSettings::read(layers, command)?, members::change, block_on)
}

fn change_roles(layers: &mut Layers<'_>, command: RoleCommand) -> Result<Work, Failure> {
    work(RolesSettings::read(layers, command)?, roles::run, block_on)
}

/// The work of an asynchronous command; `carry_out` runs its future.
fn work<S: 'static, F: 'static>(
    settings: S,
    command: fn(S, Context) -> F,
    carry_out: fn(F) -> Result<Exit, Failure>,
) -> Result<Work, Failure> {
    Ok(Box::new(move |context| carry_out(command(settings, context))))
}

/// The work of a command that waits for nothing.
fn at_once<S: 'static>(
    settings: S,
    command: fn(&S, &Context) -> Result<Exit, Failure>,
) -> Result<Work, Failure> {
    Ok(Box::new(move |context| command(&settings, &context)))
}

/// Runs a command that lasts until it is stopped. The process has no other thread yet.
fn stay(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    ignore_ctrl_z();
    aside(beside_orphans(command))
}

/// Runs a command that never waits for the reader of its warnings.
fn aside(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    failure::warn_aside();
    block_on(command)
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
        Failure::new(Exit::System, what, "check the limits of this process (ulimit -a)")
    })?;
    let ended = runtime.block_on(command);
    // Do not wait for a name server that does not answer.
    runtime.shutdown_background();
    ended
}

fn log(level: LevelFilter) {
    // Libraries log each frame of a connection. Such lines would bury all others.
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
                let works = !below.is_subcommand_required_set()
                    && !["completions", "explain", "man"].contains(&&*words);
                assert_eq!(works, ALL.iter().any(|row| row.words == words), "{words}");
                usize::from(works) + check(below, &format!("{words} "))
            });
            below.sum()
        }
        assert_eq!(check(&args::command(Registry(protocol::ALL)), ""), ALL.len());
    }
}

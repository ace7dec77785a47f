//! What the commands do, one file each; those that only Nerio has are in `nerio/`.
//!
//! A command is `run(its settings) -> Result<Exit, Failure>`: everything that can be wrong with
//! the settings alone has been refused before it begins.

mod client;
pub mod completions;
mod leader;
mod lists;
mod members;
mod nerio;
mod observe;
mod order;
mod run;
mod signals;
mod starting;
mod status;
mod table;
mod tell;
mod verify;

pub use nerio::demo::reenter;

use std::future::Future;

use tenure_supervise::ignore_ctrl_z;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::signals::beside_orphans;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::nerio::node::NodeStatusSettings;
use crate::invocation::order::{HandOverSettings, ResignSettings};
use crate::invocation::{Command, Invocation};
use crate::protocol::{self, Registry};
use crate::stderr;

/// Carries out one command.
pub fn dispatch(invocation: Invocation, registry: Registry) -> Result<Exit, Failure> {
    log(invocation.log);
    let context = invocation.context;
    match invocation.command {
        Command::Run(_) | Command::Node(_) => {
            // Before any thread.
            ignore_ctrl_z();
            failure::warn_aside();
        }
        Command::Observe(_) | Command::NodeWaitSafe(_) => failure::warn_aside(),
        _ => {}
    }
    match invocation.command {
        Command::Run(settings) => block_on(beside_orphans(run::run(settings, context))),
        Command::Node(settings) => block_on(beside_orphans(nerio::node::run(settings, context))),
        Command::NodeStatus(NodeStatusSettings::Here(settings)) => {
            block_on(status::run(settings, context))
        }
        Command::NodeStatus(NodeStatusSettings::Elsewhere(settings)) => {
            block_on(nerio::health::run(settings, context))
        }
        Command::NodeWaitSafe(settings) => block_on(nerio::wait_safe::run(settings, context)),
        Command::NodeRecover(settings) => nerio::recover::run(&settings, &context),
        Command::Leader(settings) => block_on(leader::run(settings, context)),
        Command::Observe(settings) => block_on(observe::run(settings, context)),
        Command::Verify(settings) => block_on(verify::run(settings, context)),
        Command::Elections(settings) => block_on(lists::elections(settings, context)),
        Command::Candidates(settings) => block_on(lists::candidates(settings, context)),
        Command::Members(settings) => block_on(members::run(settings, context)),
        Command::ChangeMembers(settings) => block_on(members::change(settings, context)),
        Command::Resign(ResignSettings::Here(settings)) => {
            block_on(tell::resign(settings, context))
        }
        Command::Transfer(HandOverSettings::Here(settings)) => {
            block_on(tell::transfer(settings, context))
        }
        Command::Resign(ResignSettings::Elsewhere(settings))
        | Command::Transfer(HandOverSettings::Elsewhere(settings)) => {
            block_on(order::run(settings, context))
        }
        Command::Completions(shell) => completions::run(shell, registry),
        Command::KeysNew(settings) => nerio::keys::new(&settings, &context),
        Command::KeysIssue(settings) => nerio::keys::issue(&settings, &context),
        Command::KeysStatus(settings) => block_on(nerio::keys::status(settings, context)),
        Command::Demo(settings) => block_on(nerio::demo::run(settings, context)),
        Command::Simulate(settings) => nerio::simulate::run(&settings, &context),
    }
}

fn block_on(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        let what = format!("the runtime cannot be made: {error}");
        Failure::new(Exit::System, what, "look at the limits of this process")
    })?;
    let ended = runtime.block_on(command);
    // A look-up that a name server leaves unanswered keeps nobody waiting.
    runtime.shutdown_background();
    ended
}

fn log(level: LevelFilter) {
    // What libraries have to say of each frame on a connection would bury the rest.
    let others = match level {
        LevelFilter::TRACE => LevelFilter::DEBUG,
        level => level.min(LevelFilter::WARN),
    };
    // The commands say this themselves.
    let events = if level < LevelFilter::DEBUG { LevelFilter::OFF } else { level };
    let targets = Targets::new().with_default(others).with_target("tenure", level);
    let quiet = protocol::ALL.iter().flat_map(|protocol| protocol.quiet());
    let targets = targets.with_targets(quiet.map(|target| (*target, others.min(events))));
    let targets = targets.with_target(tenure::driver::LOG, events);
    // These in full.
    let targets = targets.with_target(tenure::driver::NOTICES, LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| stderr::Lines).with_ansi(false);
    // A second one in the same process, as in tests, changes nothing.
    let _ = tracing_subscriber::registry().with(lines.with_filter(targets)).try_init();
}

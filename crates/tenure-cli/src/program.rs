//! From the arguments of a process to its exit code.

use std::process::ExitCode;

use crate::environment::Environment;
use crate::invocation::{self, Reading};
use crate::protocol::{Protocol, Registry};
use crate::{Exit, commands, failure, output, stderr};

/// The command `tenure` with these protocols, [`ALL`](crate::protocol::ALL) in the one that is
/// shipped. To be called first in `main`: the guard of a CMD is the same program.
#[must_use]
pub fn main(protocols: &'static [&'static dyn Protocol]) -> ExitCode {
    if let Some(code) = tenure_supervise::reenter() {
        return code;
    }
    // Before the first line is written.
    tenure_supervise::take_signals();
    if let Some(code) = commands::reenter() {
        return code;
    }
    let (registry, arguments) = (Registry(protocols), std::env::args_os().collect::<Vec<_>>());
    let environment = Environment::of_this_process();
    let reading = invocation::read(registry, &arguments, &environment, failure::warn);
    let ended = reading.and_then(|reading| match reading {
        Reading::Text(text) => output::print(&text).map(|()| Exit::Done),
        Reading::Invocation(invocation) => commands::dispatch(*invocation, registry),
    });
    let exit = ended.unwrap_or_else(|failure| {
        failure::report(&failure);
        failure.exit
    });
    stderr::finish();
    ExitCode::from(exit.code())
}

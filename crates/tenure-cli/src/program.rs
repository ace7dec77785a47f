//! The program: takes the arguments of a process, and returns its exit code.

use std::process::ExitCode;

use crate::environment::Environment;
use crate::invocation::Reading;
use crate::protocol::{Protocol, Registry};
use crate::{Exit, commands, failure, manual, output, stderr};

/// Runs the command `tenure` with these protocols; the shipped program passes
/// [`ALL`](crate::protocol::ALL). `main` must call this function first, because the guard of a CMD
/// is this program, too.
#[must_use]
pub fn main(protocols: &'static [&'static Protocol]) -> ExitCode {
    if let Some(code) = tenure_supervise::reenter() {
        return code;
    }
    // Signals must be handled before the first line is written.
    tenure_supervise::take_signals();
    if let Some(code) = commands::reenter() {
        return code;
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    let environment = Environment::of_this_process();
    let reading = commands::read(Registry(protocols), &arguments, &environment, failure::warn);
    let ended = reading.and_then(|reading| match reading {
        Reading::Text(text) => output::print(&text).map(|()| Exit::Done),
        Reading::Invocation(invocation) => commands::carry_out(invocation),
        Reading::Manual(folder, registry) => manual::write(&folder, registry),
    });
    let exit = ended.unwrap_or_else(|failure| {
        failure::report(&failure);
        failure.exit
    });
    stderr::finish();
    ExitCode::from(exit.code())
}

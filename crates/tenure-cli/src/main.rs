//! The command `tenure`.

use std::process::ExitCode;

use tenure_cli::environment::Environment;
use tenure_cli::invocation::{self, Reading};
use tenure_cli::{Exit, commands, failure, output};

fn main() -> ExitCode {
    if let Some(code) = tenure::supervise::reenter() {
        return code;
    }
    if let Some(code) = commands::reenter() {
        return code;
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    let reading = invocation::read(&arguments, &Environment::of_this_process(), failure::warn);
    let ended = reading.and_then(|reading| match reading {
        Reading::Text(text) => output::print(&text).map(|()| Exit::Done),
        Reading::Invocation(invocation) => commands::dispatch(*invocation),
    });
    let exit = ended.unwrap_or_else(|failure| {
        failure::report(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

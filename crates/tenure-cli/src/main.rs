//! The command `tenure`.

use std::process::ExitCode;

use tenure_cli::environment::Environment;
use tenure_cli::invocation::{self, Reading};
use tenure_cli::{Exit, Failure, commands, failure, output};

fn main() -> ExitCode {
    let arguments = std::env::args_os().collect();
    let ended = match invocation::read(arguments, &Environment::of_this_process()) {
        Ok(Reading::Text(text)) => output::print(&text).map(|()| Exit::Done),
        Ok(Reading::Invocation(invocation)) => begin(*invocation),
        Err(failure) => Err(failure),
    };
    let exit = ended.unwrap_or_else(|failure| {
        failure::report(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn begin(invocation: invocation::Invocation) -> Result<Exit, Failure> {
    for warning in &invocation.warnings {
        failure::warn(warning);
    }
    commands::dispatch(invocation)
}

//! What the commands do, one file each.
//!
//! A command is `run(its settings) -> Result<Exit, Failure>`: everything that can be wrong with
//! the settings alone has been refused before it begins.

pub mod completions;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::{Command, Invocation};

/// Carries out one command.
pub fn dispatch(invocation: Invocation) -> Result<Exit, Failure> {
    match invocation.command {
        Command::Completions(shell) => completions::run(shell),
        Command::Run(_)
        | Command::Node(_)
        | Command::NodeStatus(_)
        | Command::NodeWaitSafe(_)
        | Command::Leader(_)
        | Command::Observe(_)
        | Command::Verify(_)
        | Command::Resign(_)
        | Command::Transfer(_)
        | Command::Demo(_) => Err(Failure::new(
            Exit::Bug,
            "this build checks the settings of the command and cannot carry it out",
            "use a build that can; --show-settings prints what was understood",
        )),
    }
}

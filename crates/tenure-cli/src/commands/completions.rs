//! `tenure completions`.

use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::Registry;
use crate::{args, output};

/// Prints the completions of `shell`.
pub fn run(shell: Shell, registry: Registry) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(registry), "tenure", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

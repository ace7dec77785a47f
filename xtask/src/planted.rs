//! Builds of a core whose rules can be broken one at a time, in a target directory of their own.

use crate::command::Cmd;
use crate::workspace::Workspace;

const FLAGS: &str = "--cfg tenure_planted";

/// `cargo` with these arguments, for such a build.
pub(crate) fn planted(arguments: &str, workspace: &Workspace) -> Cmd {
    Cmd::cargo(arguments)
        .arg("--target-dir")
        .arg(workspace.target.join("planted").display().to_string())
        .env("RUSTFLAGS", FLAGS)
}

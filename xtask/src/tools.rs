//! Tools the checks need beyond `cargo` itself: fetched when missing, never upgraded.

use std::path::Path;

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// The bare-metal target that proves the core free of `std`: 32 bits, no system, no atomics
/// wider than a word.
pub(crate) const BARE_METAL: &str = "thumbv7m-none-eabi";

/// Built once, without optimization, when no `cargo-deny` is installed.
const CARGO_DENY: &str = "0.20.2";

/// As `cargo-deny`. What it packs is compressed by `xz`, which every Debian has.
const CARGO_DEB: &str = "3.8.0 --no-default-features";

/// Makes sure that a component of the toolchain (`rustfmt`, `clippy`) is there.
pub(crate) fn component(workspace: &Workspace, name: &str) -> Result<(), Error> {
    let subcommand = if name == "rustfmt" { "fmt" } else { name };
    if Cmd::cargo(&format!("{subcommand} --version")).ask(workspace).is_some() {
        return Ok(());
    }
    rustup(workspace, &format!("component add {name}"))
}

/// Makes sure that the standard library parts for [`BARE_METAL`] are there.
pub(crate) fn bare_metal(workspace: &Workspace) -> Result<(), Error> {
    let sysroot = Cmd::new("rustc", "--print sysroot").ask(workspace).unwrap_or_default();
    if Path::new(&sysroot).join("lib/rustlib").join(BARE_METAL).join("lib").is_dir() {
        return Ok(());
    }
    rustup(workspace, &format!("target add {BARE_METAL}"))
}

/// The path of `cargo-deny`.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<String, Error> {
    tool(workspace, "cargo-deny", CARGO_DENY)
}

/// The path of `cargo-deb`.
pub(crate) fn cargo_deb(workspace: &Workspace) -> Result<String, Error> {
    tool(workspace, "cargo-deb", CARGO_DEB)
}

/// The path of `program`: an installed one, or one built into the build folder as `version` says.
fn tool(workspace: &Workspace, program: &str, version: &str) -> Result<String, Error> {
    if Cmd::new(program, "--version").ask(workspace).is_some() {
        return Ok(program.to_owned());
    }
    let tools = workspace.target.join("tools");
    let ours = tools.join("bin").join(program).display().to_string();
    if Cmd::new(&ours, "--version").ask(workspace).is_none() {
        Cmd::cargo(&format!("install {program} --version {version} --locked --debug --root"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .arg(tools.display().to_string())
            .run(workspace)?;
    }
    Ok(ours)
}

fn rustup(workspace: &Workspace, arguments: &str) -> Result<(), Error> {
    if Cmd::new("rustup", "--version").ask(workspace).is_none() {
        return Err(Error::Missing {
            what: format!("`rustup {arguments}` is needed, and there is no rustup"),
            remedy: "Install Rust from https://rustup.rs, or add the same by other means.".into(),
        });
    }
    Cmd::new("rustup", arguments).run(workspace)
}

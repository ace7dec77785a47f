//! Tools the checks need beyond `cargo` itself: fetched when missing, never upgraded.

use std::path::Path;

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// The bare-metal target that proves the core free of `std`: 32 bits, no system, no atomics
/// wider than a word.
pub(crate) const BARE_METAL: &str = "thumbv7m-none-eabi";

/// A subcommand of `cargo` that comes from crates.io.
pub(crate) struct Tool {
    /// As in `cargo NAME`.
    name: &'static str,
    /// Version and features for `cargo install`.
    version: &'static str,
}

pub(crate) const DENY: Tool = Tool { name: "deny", version: "0.20.2" };

/// Without the part that replaces itself by newer versions.
pub(crate) const NEXTEST: Tool =
    Tool { name: "nextest", version: "0.9.148 --no-default-features --features default-no-update" };

/// `xz`, which every Debian has, compresses packages.
pub(crate) const DEB: Tool = Tool { name: "deb", version: "3.8.0 --no-default-features" };

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

impl Tool {
    /// Makes sure that the subcommand is there: `cargo install`, without optimization, unless some
    /// version is installed. Another one than that is left as it is, and told.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<(), Error> {
        let Self { name, version } = self;
        if let Some(said) = Cmd::cargo(&format!("{name} --version")).ask(workspace) {
            if let Some(other) = self.other(&said) {
                println!("warning: {other}");
            }
            return Ok(());
        }
        let install = format!("install cargo-{name} --version {version} --locked --debug");
        Cmd::cargo(&install).env("CARGO_PROFILE_DEV_DEBUG", "0").run(workspace)
    }

    /// What to say of a tool that `said` its version, if it is another one.
    fn other(&self, said: &str) -> Option<String> {
        let Self { name, version } = self;
        let version = version.split(' ').next().unwrap_or_default();
        let there = said.lines().next().unwrap_or_default();
        (!there.split(' ').any(|word| word == version)).then(|| {
            format!("cargo {name} here is \"{there}\", and these checks are made for {version}")
        })
    }
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

#[cfg(test)]
mod tests_of_tools {
    use super::*;

    #[test]
    fn another_version_is_told() {
        assert_eq!(NEXTEST.other("cargo-nextest 0.9.148 (2f0 2026-10-07)\nrelease: 0.9.148"), None);
        assert_eq!(DEB.other("3.8.0"), None);
        let told = DENY.other("cargo-deny 0.20.21").unwrap();
        assert!(told.contains("\"cargo-deny 0.20.21\"") && told.contains("for 0.20.2"), "{told}");
    }
}

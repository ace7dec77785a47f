//! Tools that the checks need beyond `cargo` itself: installed if missing, never upgraded.

use std::path::Path;

use crate::command::Cmd;
use crate::error::Error;

/// The bare-metal target on which the core must compile without `std`: 32 bits, no system, no
/// atomics wider than a word.
pub(crate) const BARE_METAL: &str = "thumbv7m-none-eabi";

/// A subcommand of `cargo` that comes from crates.io.
pub(crate) struct Tool {
    /// Name, as in `cargo NAME`.
    name: &'static str,
    /// Version and features for `cargo install`.
    version: &'static str,
}

pub(crate) const DENY: Tool = Tool { name: "deny", version: "0.20.2" };

/// Nextest without its part that updates the program.
pub(crate) const NEXTEST: Tool =
    Tool { name: "nextest", version: "0.9.148 --no-default-features --features default-no-update" };

pub(crate) const MUTANTS: Tool = Tool { name: "mutants", version: "27.1.0" };

/// `cargo-deb` without its own compressor: every Debian has `xz`.
pub(crate) const DEB: Tool = Tool { name: "deb", version: "3.8.0 --no-default-features" };

impl Tool {
    /// Installs the subcommand, unless some version of the subcommand is there.
    pub(crate) fn ensure(&self) -> Result<(), Error> {
        let Self { name, version } = self;
        if Cmd::cargo(&format!("{name} --version")).ask().is_some() {
            return Ok(());
        }
        let install = format!("install cargo-{name} --version {version} --locked --debug");
        Cmd::cargo(&install).env("CARGO_PROFILE_DEV_DEBUG", "0").run()
    }
}

/// Version of `mdbook` for `cargo install`: without its server, which would follow the files.
const MDBOOK: &str = "install mdbook --version 0.5.4 --no-default-features --features search";

/// Installs `mdbook`, which is no subcommand of `cargo`, unless some version of `mdbook` is there.
pub(crate) fn mdbook() -> Result<(), Error> {
    if Cmd::new("mdbook", "--version").ask().is_some() {
        return Ok(());
    }
    Cmd::cargo(MDBOOK).args("--locked --debug").env("CARGO_PROFILE_DEV_DEBUG", "0").run()
}

/// Installs a component of the toolchain (`rustfmt`, `clippy`) unless it is there.
pub(crate) fn component(name: &str) -> Result<(), Error> {
    let subcommand = if name == "rustfmt" { "fmt" } else { name };
    if Cmd::cargo(&format!("{subcommand} --version")).ask().is_some() {
        return Ok(());
    }
    Cmd::new("rustup", &format!("component add {name}")).run()
}

/// Installs the standard library for [`BARE_METAL`] unless it is there.
pub(crate) fn bare_metal() -> Result<(), Error> {
    add_target(BARE_METAL)
}

/// Installs the standard library for a target unless it is there.
pub(crate) fn add_target(triple: &str) -> Result<(), Error> {
    let libraries = Cmd::new("rustc", "--print target-libdir --target").arg(triple).ask();
    if libraries.is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(());
    }
    Cmd::new("rustup", "target add").arg(triple).run()
}

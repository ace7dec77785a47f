//! The Debian package: the command with everything in it, and the files beside it. The manifest of
//! `tenure-cli` says what is installed where.

use std::fs;

use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::tools;
use crate::workspace::target;

/// A single build of both, so that they share all that they depend on.
const BUILD: &str = "build --release --locked --package tenure-cli --package tenure-package \
                     --features tenure-cli/full,tenure-package/program";

/// Builds it. `cargo-deb` prints its path.
pub(crate) fn run() -> Result<(), Error> {
    build_tools()?;
    tools::DEB.ensure()?;
    Cmd::cargo(BUILD).run()?;
    let within = |path: &str| target().join(path).display().to_string();
    // The manifest takes all files from this folder: remove those of an earlier build first.
    let beside = target().join("release/package");
    if beside.exists() {
        fs::remove_dir_all(&beside).map_err(|source| Error::Read { path: beside, source })?;
    }
    Cmd::new(within("release/tenure-package"), "").arg(within("release/package")).run()?;
    // `cargo-deb` leaves alone what comes from the build folder.
    Cmd::new("gzip", "-9nr").arg(within("release/package/man")).run()?;
    let deb = "deb --package tenure-cli --no-build --strip --locked --output";
    Cmd::cargo(deb).arg(within("debian")).run()
}

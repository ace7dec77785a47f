//! The Debian package: the command with all features, and its files. The manifest of `tenure-cli`
//! lists the installed files.

use std::fs;

use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::tools;
use crate::workspace::target;

/// A single build of the command and of the generator of its files, so that both share their
/// dependencies.
const BUILD: &str = "build --release --locked --package tenure-cli --package tenure-package \
                     --features tenure-cli/full,tenure-package/program";

/// Builds the package. `cargo-deb` prints its path.
pub(crate) fn run() -> Result<(), Error> {
    build_tools()?;
    tools::DEB.ensure()?;
    Cmd::cargo(BUILD).run()?;
    let within = |path: &str| target().join(path).display().to_string();
    // The manifest takes all files from this folder, so files of an earlier build must go first.
    let beside = target().join("release/package");
    if beside.exists() {
        fs::remove_dir_all(&beside).map_err(|source| Error::Read { path: beside, source })?;
    }
    Cmd::new(within("release/tenure-package"), "").arg(within("release/package")).run()?;
    // `cargo-deb` compresses no files from the build folder.
    Cmd::new("gzip", "-9nr").arg(within("release/package/man")).run()?;
    let deb = "deb --package tenure-cli --no-build --strip --locked --output";
    Cmd::cargo(deb).arg(within("debian")).run()
}

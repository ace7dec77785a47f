//! The Debian package: the command with everything in it, and what comes beside it. What is
//! installed where is in the manifest of `tenure-cli`.

use std::fs;

use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::tools;
use crate::workspace::Workspace;

/// One build of both, so that they share all that they depend on.
const BUILD: &str = "build --release --locked --package tenure-cli --package tenure-package \
                     --features tenure-cli/full,tenure-package/program";

/// The manifest takes it from `target/release/package`.
const BESIDE: &str = "release/package";

/// Builds it. `cargo-deb` prints its path.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    build_tools()?;
    tools::DEB.ensure(workspace)?;
    Cmd::cargo(BUILD).run(workspace)?;
    let writer = workspace.target.join("release/tenure-package");
    let beside = workspace.target.join(BESIDE);
    // What the command no longer has would be packaged with the rest.
    if beside.exists() {
        fs::remove_dir_all(&beside)
            .map_err(|source| Error::Read { path: beside.clone(), source })?;
    }
    Cmd::new(writer.display().to_string(), "").arg(beside.display().to_string()).run(workspace)?;
    // `cargo-deb` leaves alone what comes from the build folder.
    Cmd::new("gzip", "-9nr").arg(beside.join("man").display().to_string()).run(workspace)?;
    Cmd::cargo("deb --package tenure-cli --no-build --strip --locked --output")
        .arg(workspace.target.join("debian").display().to_string())
        .run(workspace)
}

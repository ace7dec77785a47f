//! `protoc` and the definitions that come with it: `etcd-client` needs both when it is built.

use std::fs;
use std::process::Command;

use crate::debian;
use crate::error::Error;
use crate::place::file_error;
use crate::tool;

const PACKAGES: [&str; 2] = ["protobuf-compiler", "libprotobuf-dev"];

/// A file that needs the definitions as well as the program.
const PROBE: &str = "syntax = \"proto3\"; import \"google/protobuf/descriptor.proto\";";

/// Makes sure that a build finds `protoc`: the one in `PROTOC` or on `PATH`; if it is missing
/// and we are root, Debian's packages are installed.
///
/// # Errors
///
/// When there is none and it cannot be installed; the error says what to do.
pub(super) fn ensure() -> Result<(), Error> {
    debian::ensure(works, &PACKAGES, missing)
}

/// Whether the `protoc` that a build would use compiles something that imports a definition.
fn works() -> Result<bool, Error> {
    let folder = tempfile::tempdir().map_err(file_error(&std::env::temp_dir()))?;
    let probe = folder.path().join("probe.proto");
    fs::write(&probe, PROBE).map_err(file_error(&probe))?;
    let protoc = std::env::var_os("PROTOC").unwrap_or_else(|| "protoc".into());
    let mut command = Command::new(protoc);
    command.arg("-I").arg(folder.path());
    if let Some(include) = std::env::var_os("PROTOC_INCLUDE") {
        command.arg("-I").arg(include);
    }
    let set = folder.path().join("probe.bin");
    command.arg("--descriptor_set_out").arg(set).arg(&probe);
    Ok(tool::says(&mut command)?.is_some())
}

fn missing() -> Error {
    Error::Missing {
        what: "etcd-client is built with `protoc` and Google's definitions; they are missing"
            .into(),
        remedy: format!(
            "As root: `apt-get install {}`. Or set PROTOC and PROTOC_INCLUDE.",
            PACKAGES.join(" ")
        ),
    }
}

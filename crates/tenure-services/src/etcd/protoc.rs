//! `protoc` and its definitions, which the build of `etcd-client` needs.

use std::env;
use std::process::Command;

use crate::error::Error;
use crate::{debian, tool};

const PACKAGES: [&str; 2] = ["protobuf-compiler", "libprotobuf-dev"];

const MISSING: &str = "etcd-client is built with `protoc` and Google's definitions, which PROTOC \
                       and PROTOC_INCLUDE may name; they are missing";

/// Makes sure that a build finds `protoc`: in `PROTOC` or on `PATH`; if it is missing, root
/// installs Debian's packages.
pub(super) fn ensure() -> Result<(), Error> {
    debian::ensure(works, &PACKAGES, MISSING)
}

/// Whether the `protoc` that a build would use compiles one of the definitions.
fn works() -> bool {
    let mut command = Command::new(env::var_os("PROTOC").unwrap_or_else(|| "protoc".into()));
    if let Some(include) = env::var_os("PROTOC_INCLUDE") {
        command.arg("-I").arg(include);
    }
    command.args(["--descriptor_set_out=/dev/null", "google/protobuf/descriptor.proto"]);
    tool::says(&mut command).is_some()
}

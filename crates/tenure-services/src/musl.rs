//! The C compiler of static programs, for the C sources of a program that Rust links with musl.

use std::process::Command;

use crate::error::Error;
use crate::{debian, tool};

/// Makes sure that `musl-gcc` exists; if it is missing, root installs Debian's package.
pub fn musl_tools() -> Result<(), Error> {
    let works = || tool::says(Command::new("musl-gcc").arg("--version")).is_some();
    debian::ensure(works, &["musl-tools"], "a static program needs musl-gcc, which is missing")
}

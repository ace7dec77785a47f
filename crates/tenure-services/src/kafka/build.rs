//! What `rdkafka` is built with: make, C and C++ compilers, and OpenSSL's headers.

use std::ffi::OsString;
use std::process::Command;

use crate::debian;
use crate::error::Error;
use crate::tool;

const PACKAGES: [&str; 4] = ["g++", "libssl-dev", "make", "pkg-config"];

/// Makes sure of all of them; if one is missing and we are root, Debian's packages are installed.
///
/// # Errors
///
/// When one is missing and cannot be installed; the error says what to do.
pub(super) fn ensure() -> Result<(), Error> {
    debian::ensure(works, &PACKAGES, missing)
}

fn works() -> Result<bool, Error> {
    let compiler = |variable, or: &str| std::env::var_os(variable).unwrap_or_else(|| or.into());
    let there = |program: OsString, arguments: &[&str]| {
        let said = tool::says(Command::new(program).args(arguments))?;
        Ok::<_, Error>(said.is_some())
    };
    Ok(there("make".into(), &["--version"])?
        && there(compiler("CC", "cc"), &["--version"])?
        && there(compiler("CXX", "c++"), &["--version"])?
        && there("pkg-config".into(), &["--exists", "openssl"])?)
}

fn missing() -> Error {
    Error::Missing {
        what: "rdkafka is built with make, a C and a C++ compiler, and OpenSSL; one is missing"
            .into(),
        remedy: format!("As root: `apt-get install {}`.", PACKAGES.join(" ")),
    }
}

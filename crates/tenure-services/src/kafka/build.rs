//! Build tools of `rdkafka`: make, C and C++ compilers, and OpenSSL's headers.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use crate::error::Error;
use crate::{debian, tool};

const PACKAGES: [&str; 4] = ["g++", "libssl-dev", "make", "pkg-config"];

const MISSING: &str =
    "rdkafka is built with make, a C and a C++ compiler, and OpenSSL; one is missing";

/// Makes sure that all these tools exist; if one is missing, root installs Debian's packages.
pub(super) fn ensure() -> Result<(), Error> {
    debian::ensure(works, &PACKAGES, MISSING)
}

fn works() -> bool {
    let compiler = |variable, or: &str| env::var_os(variable).unwrap_or_else(|| or.into());
    let there = |program: OsString, arguments: &[&str]| {
        tool::says(Command::new(program).args(arguments)).is_some()
    };
    there("make".into(), &["--version"])
        && there(compiler("CC", "cc"), &["--version"])
        && there(compiler("CXX", "c++"), &["--version"])
        && there("pkg-config".into(), &["--exists", "openssl"])
}

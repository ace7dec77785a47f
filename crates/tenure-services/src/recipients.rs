//! Recipients of work that compare fences: Postgres and Redis of Debian.

use std::fs;
use std::path::PathBuf;

use crate::debian;
use crate::error::Error;

const POSTGRES: &str = "/usr/lib/postgresql";
const REDIS: &str = "/usr/bin/redis-server";

/// Makes sure that Postgres, Redis and their clients are installed, and returns the folder of
/// Postgres's programs. Root installs missing packages.
pub fn recipients() -> Result<PathBuf, Error> {
    let installed = || postgres().filter(|_| fs::exists(REDIS).unwrap_or(false));
    let packages = ["postgresql", "redis-server"];
    let missing = "Postgres and Redis are not installed";
    debian::ensure(|| installed().is_some(), &packages, missing)?;
    installed().ok_or_else(|| Error::Missing { what: missing.into(), remedy: String::new() })
}

/// The folder of the programs of some version of Postgres.
fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir(POSTGRES).ok()?.flatten();
    let mut folders = versions.map(|version| version.path().join("bin"));
    folders.find(|folder| folder.join("initdb").exists())
}

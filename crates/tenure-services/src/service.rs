//! Interface of a service to `cargo xtask`.

use std::any::Any;
use std::path::PathBuf;
use std::{env, fmt};

use crate::error::Error;

/// A version of a service that tests run against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// The oldest version on which elections are promised to work, or the version in Debian 12.
    Oldest,
    Newest,
}

impl Version {
    pub const ALL: [Self; 2] = [Self::Oldest, Self::Newest];
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Oldest => "the oldest",
            Self::Newest => "the newest",
        })
    }
}

/// Makes tests of each function that takes a [`Version`], for each version.
#[macro_export]
macro_rules! on_each_version {
    ($($name:ident),+) => {
        $(mod $name {
            #[test]
            fn on_the_oldest() {
                super::$name($crate::Version::Oldest);
            }

            #[test]
            fn on_the_newest() {
                super::$name($crate::Version::Newest);
            }
        })+
    };
}

/// A service that tests run against.
pub struct Service {
    pub name: &'static str,
    /// The versions on the command line, the oldest first and the newest last.
    pub versions: &'static [&'static str],
    /// The newest version. Before you change this version, try a newer version: `cargo xtask facts
    /// NAME --newest latest`.
    pub newest: &'static str,
    /// The variable that replaces the newest version by another version.
    pub newest_variable: &'static str,
    pub takes: &'static str,
    /// The prefix of the variables from which the service's programs take settings: tests remove
    /// these variables of the caller.
    pub variables: &'static str,
    /// Gets a version, by its place in the list, and returns the path of its program.
    pub install: fn(usize) -> Result<PathBuf, Error>,
    pub start: fn(usize, usize) -> Result<Started, Error>,
    /// The newest version that exists.
    pub latest: fn() -> Result<String, Error>,
    /// Makes sure that the build tools of the service's client library exist.
    pub build_tools: fn() -> Result<(), Error>,
}

impl Service {
    /// The number of a version: `3.4` or `3.7.3`.
    pub fn number(&self, version: Version) -> String {
        let newest = || env::var(self.newest_variable).unwrap_or_else(|_| self.newest.to_owned());
        match version {
            Version::Oldest => self.versions[0].to_owned(),
            Version::Newest => newest().trim_start_matches('v').to_owned(),
        }
    }

    pub fn numbers(&self) -> [String; 2] {
        Version::ALL.map(|version| self.number(version))
    }
}

/// A running service. A drop ends the service.
pub struct Started {
    /// The text for the user who has started the service: addresses, processes, commands.
    pub said: String,
    pub folder: PathBuf,
    pub running: Box<dyn Any>,
}

/// Makes sure that the build tools of all client libraries exist. The error says which tool is
/// missing and cannot be installed.
pub fn build_tools() -> Result<(), Error> {
    crate::ALL.iter().try_for_each(|service| (service.build_tools)())
}

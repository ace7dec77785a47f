//! Interface of a service to `cargo xtask`.

use std::any::Any;
use std::path::PathBuf;
use std::{env, fmt};

use crate::error::Error;

/// A version of a service that tests run against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// The oldest that is in wide use, or that elections are promised to work on.
    Oldest,
    Newest,
}

impl Version {
    /// Both.
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

/// Makes a test of each function that takes a [`Version`], on each.
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
    /// Its versions, the oldest first and the newest last, as the command line has them.
    pub versions: &'static [&'static str],
    /// The newest version. `cargo xtask facts NAME --newest latest` looks at a newer one, before
    /// this is changed.
    pub newest: &'static str,
    /// The variable that puts another version in the place of the newest.
    pub newest_variable: &'static str,
    pub takes: &'static str,
    /// Prefix of the variables from which its programs take settings: those of the caller are not
    /// for the programs of a test.
    pub variables: &'static str,
    /// Gets one of its versions, by its place in the list, and says where its program is.
    pub install: fn(usize) -> Result<PathBuf, Error>,
    pub start: fn(usize, usize) -> Result<Started, Error>,
    /// The newest version that can be had.
    pub latest: fn() -> Result<String, Error>,
    /// Makes sure of what else its client library is built with.
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

    /// The numbers of both.
    pub fn numbers(&self) -> [String; 2] {
        Version::ALL.map(|version| self.number(version))
    }
}

/// A running service. Dropping it ends it.
pub struct Started {
    /// Text for the person who started it: addresses, processes, how to reach it.
    pub said: String,
    pub folder: PathBuf,
    pub running: Box<dyn Any>,
}

/// Makes sure of all that the client libraries of services are built with: the error says what is
/// missing and cannot be installed.
pub fn build_tools() -> Result<(), Error> {
    crate::ALL.iter().try_for_each(|service| (service.build_tools)())
}

//! What `cargo xtask` needs of a service, whichever it is.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;

use crate::error::Error;

/// A service that tests run against.
pub struct Service {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Its versions, the oldest first and the newest last, as the command line has them.
    pub versions: &'static [&'static str],
    /// How long getting one takes.
    pub takes: &'static str,
    /// The variable that puts another version in the place of the newest.
    pub newest_variable: &'static str,
    /// What the variables begin with that its programs take settings from: those of the caller are
    /// not for the programs of a test.
    pub variables: &'static str,
    /// Gets one of its versions, by its place in the list, and says where its program is.
    pub install: fn(usize) -> Result<PathBuf, Error>,
    /// Starts so many of one version.
    pub start: fn(usize, usize) -> Result<Started, Error>,
    /// The newest version that can be had.
    pub latest: fn() -> Result<String, Error>,
    /// Makes sure of what else its client library is built with.
    pub build_tools: fn() -> Result<(), Error>,
}

/// A running service. Dropping it ends it.
pub struct Started {
    /// What to tell the person who started it: addresses, processes, how to reach it.
    pub said: String,
    /// Where its data and logs are.
    pub folder: PathBuf,
    /// What ends it.
    pub running: Box<dyn Any>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Makes sure of all that the client libraries of services are built with.
///
/// # Errors
///
/// When something is missing and cannot be installed; the error says what to do.
pub fn build_tools() -> Result<(), Error> {
    crate::ALL.iter().try_for_each(|service| (service.build_tools)())
}

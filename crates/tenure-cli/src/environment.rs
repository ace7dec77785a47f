//! The variables of this process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::control::RUNTIME_DIRECTORY;

/// The settings that `tenure run` passes to its CMD as variables, and the name of a member, which
/// only one process may have. A `tenure run` inside CMD ignores these variables; otherwise two
/// candidates would have one name.
pub(crate) const HANDED_DOWN: [&str; 4] = ["election", "id", "role", "name"];

#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::new(std::env::vars_os())
    }

    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect() }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of a variable. A variable that is set and empty has the empty value.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The runtime directory of this user, `$XDG_RUNTIME_DIR`, if the variable is set.
    #[must_use]
    pub fn runtime_directory(&self) -> Option<&OsStr> {
        self.variable(RUNTIME_DIRECTORY)
    }

    /// Whether this process was started by a CMD of `tenure run`.
    #[must_use]
    pub fn is_inside_command(&self) -> bool {
        self.variable("TENURE_INSIDE").is_some()
    }
}

//! The flags on the command line, and all flags of the command.

use std::collections::BTreeSet;

use clap::{ArgMatches, Command};

/// The flags of the command that was given.
#[derive(Debug)]
pub struct Flags<'a> {
    /// The flags that were given.
    pub given: &'a ArgMatches,
    /// All that the command has: what was given knows that in debug builds only.
    known: BTreeSet<String>,
}

impl<'a> Flags<'a> {
    /// The flags of `command`.
    #[must_use]
    pub fn new(command: &Command, given: &'a ArgMatches) -> Self {
        let known = command.get_arguments().map(|flag| flag.get_id().to_string()).collect();
        Self { given, known }
    }

    /// Whether the command has it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.known.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn command_knows_all_its_flags() {
        let mut command = Command::new("ask").args([Arg::new("role"), Arg::new("group")]);
        let given = command.try_get_matches_from_mut(["ask", "3"]).unwrap();
        let flags = Flags::new(&command, &given);
        assert!(flags.has("role") && flags.has("group"));
        assert!(!flags.has("new"));
    }
}

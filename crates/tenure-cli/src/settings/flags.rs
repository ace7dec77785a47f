//! The flags on the command line, and all flags of the command.

use std::collections::BTreeSet;

use clap::{ArgMatches, Command};

#[derive(Debug)]
pub struct Flags<'a> {
    pub given: &'a ArgMatches,
    /// All flags of the command; `ArgMatches` lists all flags only in debug builds.
    known: BTreeSet<String>,
}

impl<'a> Flags<'a> {
    #[must_use]
    pub fn new(command: &Command, given: &'a ArgMatches) -> Self {
        let known = command.get_arguments().map(|flag| flag.get_id().to_string()).collect();
        Self { given, known }
    }

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

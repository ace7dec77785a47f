//! The origin of a value.

use std::fmt;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A flag as the user wrote it: `--lease`.
    Flag(String),
    /// An argument without a flag, by its name in the help: `SHELL`.
    Argument(&'static str),
    Variable(String),
    /// A key of the file.
    File {
        /// File name as the user gave it.
        path: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        key: String,
    },
    Default,
    /// A default that follows from other settings, as these words say.
    Follows(&'static str),
    /// An origin whose value the protocol of this name does not use.
    Unused(Box<Self>, &'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Argument(name) => write!(f, "argument {name}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::File { path, line, column, key } => {
                write!(f, "file {path}:{line}:{column}, key {key}")
            }
            Self::Default => f.write_str("default"),
            Self::Follows(words) => write!(f, "default: {words}"),
            Self::Unused(origin, protocol) => write!(f, "{origin}; not used with {protocol}"),
        }
    }
}

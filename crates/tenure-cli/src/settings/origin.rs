//! Where a value came from.

use std::fmt;

/// Where a value came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A flag, as it is written: `--lease`.
    Flag(String),
    /// An argument without a flag, as the help calls it: `SHELL`.
    Argument(&'static str),
    /// A variable.
    Variable(String),
    /// A key of the file.
    File {
        /// The file, as it was named.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The key.
        key: String,
    },
    /// No layer set it.
    Default,
    /// No layer set it, and it follows from others, in these words.
    Follows(&'static str),
    /// There it is set, and the protocol of this name has no such setting.
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

//! Settings: each is declared once, with its name, kind, default, help and parser.
//!
//! [`table`] has those of commands and those that several protocols share; every protocol declares
//! its own. Layers above this module find the text of a setting, a flag before a variable before
//! the [file](mod@file) before the default, with its [`Origin`]. Every text goes through the same
//! parser, so that a mistake reads the same wherever it was made.

pub mod file;
pub mod flags;
pub mod hidden;
pub mod origin;
pub mod origins;
pub mod parse;
pub mod table;
pub mod timing;

pub use origin::Origin;
pub use origins::Origins;
pub use parse::Refusal;

/// Declares settings, and `ALL` of them as a list. Each is a static [`Setting`].
#[macro_export]
macro_rules! settings {
    ($($id:ident: $type:ty =
        $name:literal $value:literal $shape:ident, $reach:expr, $default:expr, $group:expr,
        $parse:expr, $show:expr, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $id: $crate::settings::Setting<$type> = $crate::settings::Setting {
                spec: $crate::settings::Spec {
                    name: $name,
                    value: $value,
                    shape: $crate::settings::Shape::$shape,
                    reach: $reach,
                    default: $default,
                    group: $group,
                    help: $help,
                    check: |text| ($parse)(text).map(|value| ($show)(&value)),
                },
                parse: $parse,
                show: $show,
            };
        )*

        /// All settings of this list.
        pub static ALL: &[&$crate::settings::Spec] = &[$(&$id.spec),*];
    };
}

use std::fmt;

/// The settings of every command.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// Whether to answer in JSON.
    pub json: bool,
    /// Every setting with its origin.
    pub origins: Origins,
}

/// A setting of type `T`.
pub struct Setting<T: 'static> {
    /// The part that does not depend on `T`.
    pub spec: Spec,
    /// Reads it.
    pub parse: fn(&str) -> Result<T, Refusal>,
    /// Writes it as [`parse`](Self::parse) reads it.
    pub show: fn(&T) -> String,
}

/// How a setting is called, where it may be set, and its help.
pub struct Spec {
    /// Its name: the flag without `--`, and the key in the file.
    pub name: &'static str,
    /// The name of its value in the help; empty for a switch.
    pub value: &'static str,
    /// Which types it may have in the file.
    pub shape: Shape,
    /// Where it may be set.
    pub reach: Reach,
    /// The value while it is not set.
    pub default: Default,
    /// The heading in the help.
    pub group: &'static str,
    /// Its meaning, a sentence for users.
    pub help: &'static str,
    /// Reads it and writes it again.
    pub check: fn(&str) -> Result<String, Refusal>,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Which types a setting may have in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A string.
    Text,
    /// A string with commas, or an array of strings.
    List,
    /// A number, or a string that holds one.
    Number,
    /// `true` or `false`.
    Switch,
    /// A string, or a table from names to addresses.
    Members,
}

/// Where a setting may be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Flag, variable and file: what describes an installation.
    Everywhere,
    /// Flag and variable.
    Process,
    /// Only as a flag: what is meant for this one invocation, for the reason given.
    Flag(&'static str),
}

/// The value of a setting that is not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Default {
    /// Nothing: it is required, or its absence has a meaning.
    Nothing,
    /// The default is this text.
    Text(&'static str),
    /// The default of the protocol.
    ByProtocol,
    /// The value follows from other settings, in these words.
    Follows(&'static str),
}

impl Spec {
    /// The variable that sets it: `lease-max` is `TENURE_LEASE_MAX`.
    #[must_use]
    pub fn variable(&self) -> Option<String> {
        match self.reach {
            Reach::Everywhere | Reach::Process => {
                Some(format!("TENURE_{}", self.name.to_uppercase().replace('-', "_")))
            }
            Reach::Flag(_) => None,
        }
    }

    /// Whether the file may set it.
    #[must_use]
    pub fn in_file(&self) -> bool {
        self.reach == Reach::Everywhere
    }

    /// Whether it is on or off and takes no value.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.shape == Shape::Switch
    }
}

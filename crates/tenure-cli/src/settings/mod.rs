//! Settings: each is declared once, with its name, kind, default, help and parser.
//!
//! [`table`] has the settings of commands, and settings that several protocols share; every
//! protocol declares its own. Layers above this module find the text of a setting with its
//! [`Origin`]. A flag comes before a variable, then the [file](mod@file), then the default. Every
//! text goes through the same parser, so that a mistake gets the same error in every layer.

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

/// Declares settings, each as a static [`Setting`], and the list `ALL` of them.
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

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    pub json: bool,
    pub origins: Origins,
}

pub struct Setting<T: 'static> {
    /// Parts that do not depend on `T`.
    pub spec: Spec,
    pub parse: fn(&str) -> Result<T, Refusal>,
    /// Writes a value in the form that [`parse`](Self::parse) reads.
    pub show: fn(&T) -> String,
}

/// The name, help and reach of a setting.
pub struct Spec {
    /// Name: the flag without `--`, and the key in the file.
    pub name: &'static str,
    /// Name of the value in the help; empty for a switch.
    pub value: &'static str,
    /// Types in the file.
    pub shape: Shape,
    pub reach: Reach,
    /// Value while the setting is not set.
    pub default: Default,
    /// Heading in the help.
    pub group: &'static str,
    /// Meaning, a sentence for users.
    pub help: &'static str,
    /// Parses a text, and writes the value again.
    pub check: fn(&str) -> Result<String, Refusal>,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The types of a setting in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Text,
    /// A string with commas, or an array of strings.
    List,
    /// A number, or a string with a number.
    Number,
    Switch,
    /// A string, or a table from names to addresses.
    Members,
}

/// The layers that may hold a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Flag, variable and file, for settings of an installation.
    Everywhere,
    /// Flag and variable.
    Process,
    /// A flag alone, for the given reason.
    Flag(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Default {
    /// No default: the setting is required, or its absence has a meaning.
    Nothing,
    Text(&'static str),
    ByProtocol,
    /// The value follows from other settings, in these words.
    Follows(&'static str),
}

impl Spec {
    /// The setting's variable: `TENURE_LEASE_MAX` for `lease-max`.
    #[must_use]
    pub fn variable(&self) -> Option<String> {
        match self.reach {
            Reach::Everywhere | Reach::Process => {
                Some(format!("TENURE_{}", self.name.to_uppercase().replace('-', "_")))
            }
            Reach::Flag(_) => None,
        }
    }

    /// Whether the file may hold the setting.
    #[must_use]
    pub fn in_file(&self) -> bool {
        self.reach == Reach::Everywhere
    }

    /// Whether the setting takes no value.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.shape == Shape::Switch
    }
}

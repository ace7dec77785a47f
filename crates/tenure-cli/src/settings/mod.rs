//! Settings: one table, three layers, and what each command makes of them.
//!
//! [`table`] says once for each setting how it is called, what it means and how it is read.
//! [`Layers`] finds its text, a flag before a variable before the file before the default, with
//! its [`Origin`]; every text goes through the same parser, so that a mistake reads the same
//! wherever it was made. The other files hold the checked settings of the commands.

pub mod ask;
pub mod cluster;
mod combination;
pub mod demo;
pub mod endpoints;
pub mod etcd;
pub mod file;
mod id;
pub mod layers;
pub mod ledger;
pub mod node;
pub mod origin;
pub mod parse;
pub mod protocol;
pub mod run;
pub mod simulate;
pub mod table;
mod timing;
pub mod with;

pub use cluster::Cluster;
pub use layers::Layers;
pub use ledger::Ledger;
pub use origin::Origin;
pub use parse::Refusal;
pub use protocol::Protocol;
pub use with::With;

/// A setting of type `T`.
pub struct Setting<T: 'static> {
    /// What does not depend on `T`.
    pub spec: Spec,
    /// Reads it.
    pub parse: fn(&str) -> Result<T, Refusal>,
    /// Writes it as [`parse`](Self::parse) reads it.
    pub show: fn(&T) -> String,
}

/// How a setting is called, where it may be set, and what people are told about it.
pub struct Spec {
    /// Its name: the flag without `--`, and the key in the file.
    pub name: &'static str,
    /// What its value is called in the help; empty for a switch.
    pub value: &'static str,
    /// Which types it may have in the file.
    pub shape: Shape,
    /// Where it may be set.
    pub reach: Reach,
    /// What holds when it is not set.
    pub default: Default,
    /// The heading in the help.
    pub group: &'static str,
    /// What it means.
    pub help: &'static str,
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

/// What holds when a setting is not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Default {
    /// Nothing: it is required, or its absence has a meaning.
    Nothing,
    /// This text.
    Text(&'static str),
    /// One of these texts.
    ByProtocol {
        /// With Nerio, and wherever there is no choice.
        nerio: &'static str,
        /// With etcd.
        etcd: &'static str,
    },
    /// What follows from other settings, in words.
    Follows(&'static str),
}

impl Default {
    /// The text that holds with this protocol, if a text does.
    #[must_use]
    pub fn text(self, protocol: Protocol) -> Option<&'static str> {
        match (self, protocol) {
            (Self::Text(text), _) => Some(text),
            (Self::ByProtocol { nerio, .. }, Protocol::Nerio) => Some(nerio),
            (Self::ByProtocol { etcd, .. }, Protocol::Etcd) => Some(etcd),
            (Self::Nothing | Self::Follows(_), _) => None,
        }
    }
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

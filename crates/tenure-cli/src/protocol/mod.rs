//! What a protocol is to the command: one module, and one row in [`ALL`].
//!
//! A [`Protocol`] says what its leaders and candidates can, which settings it has with which
//! defaults, and its words; [`Protocol::backend`] makes a [`Backend`] of checked settings, which
//! starts [`Participant`]s. Nothing else of the command knows which protocols there are: help,
//! completions, errors and `docs/operations.md` are made from, or compared with, what the modules
//! say. [`crate::main`] takes the list, so that a program of another crate can add one of its own.
//!
//! To write one, as `examples/beacon` does:
//!
//! 1. Declare the settings that no other protocol has with [`settings!`](crate::settings!), and
//!    list them with those that it shares (`lease`, `grace`, `cacert` … of
//!    [`table`](crate::settings::table)).
//! 2. Read them in [`Protocol::backend`] with [`Layers`]: `required`, `optional`, `or_follows`.
//!    What is wrong with them alone is refused there, with [`Origins::explain`](crate::settings::Origins::explain).
//! 3. Start a node of the library in [`Backend::candidate`] and [`Backend::asker`], and hand out
//!    its elections as [`AnyElection`].

pub mod allcall;
mod backend;
pub mod etcd;
mod later;
pub mod lists;
mod members;
pub mod nele;
pub mod nerio;
pub mod orders;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod outage;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod pem;
mod registry;
mod requests;
mod roles;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod start;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod troubles;
pub mod urls;
pub mod voter;

use std::fmt::Debug;

use tenure_core::{ElectionName, NodeName};

pub(crate) use self::backend::Class;
pub use self::backend::{AnyElection, Asks, Backend, Participant, Rank, Started, refused};
pub use self::later::{Later, at_once};
pub use self::members::{Member, MemberChange, Members};
pub use self::registry::Registry;
#[cfg(test)]
use self::registry::expect_defaults;
pub(crate) use self::registry::{default, has};
pub use self::requests::{LeaderRequests, MemberRequests, Verified};
pub use self::roles::{Owner, Part, RoleHolder, RoleSettings, Row, Table};
use crate::control::Realm;
use crate::failure::Failure;
use crate::settings::{Default, Layers, Setting, Spec};

/// The protocols of this command.
pub static ALL: &[&dyn Protocol] =
    &[&nerio::Nerio, &etcd::Etcd, &allcall::Allcall, &voter::Voter, &nele::Nele];

/// How a leader is found.
pub trait Protocol: Debug + Sync {
    /// What `--protocol` takes.
    fn name(&self) -> &'static str;

    /// What it is, in a line of the help.
    fn about(&self) -> &'static str;

    /// What its leaders and candidates can.
    fn can(&self) -> Capabilities;

    /// The settings that `run`, `leader` and `observe` have with it, besides those of every
    /// protocol.
    fn settings(&self) -> &'static [&'static Spec];

    /// The settings that `run` has with it beside those, as only candidates need them.
    fn of_candidates(&self) -> &'static [&'static Spec] {
        &[]
    }

    /// Those of its settings whose values may be secrets: CMD is not given their variables.
    fn secrets(&self) -> &'static [&'static Spec] {
        &[]
    }

    /// What it says of settings that it shares.
    fn says(&self) -> &'static [About] {
        &[]
    }

    /// The setting that says where the others are. Who sets that of another protocol alone has
    /// forgotten `--protocol`.
    fn whereabouts(&self) -> &'static Spec;

    /// The setting that keeps apart elections of one name: it names, with the election, the
    /// control sockets of runners.
    fn realm(&self) -> &'static Spec;

    /// The setting that all of a realm have alike, where there is one: two realms of one name
    /// are told apart by it.
    fn roster(&self) -> Option<&'static Spec> {
        None
    }

    /// What to do instead of giving a setting of another protocol.
    fn instead(&self, _setting: &str) -> Option<&'static str> {
        None
    }

    /// What its client library logs as, if that calls errors of what the commands say more: how a
    /// connection ends.
    fn quiet(&self) -> &'static [&'static str] {
        &[]
    }

    /// The setting that says which of an election's roles is meant, where elections have roles:
    /// that of role 3 is the election `NAME/3`.
    fn role(&self) -> Option<&'static Setting<u32>> {
        None
    }

    /// How a leader gives way to another one, where it cannot hand over by name.
    fn gives_way(&self) -> &'static str {
        "let the leader step down instead: tenure resign"
    }

    /// The setting that names a candidate as well as `id` does.
    fn own_id(&self) -> Option<&'static Setting<NodeName>> {
        None
    }

    /// What is said when it is not known who leads.
    fn unknown(&self) -> &'static str;

    /// What others see of a candidate without `--value`.
    fn value<'a>(&self, _id: &'a NodeName) -> &'a str {
        ""
    }

    /// The arguments of an example of `tenure run` that find the others.
    fn example(&self) -> &'static str;

    /// The feature of this crate that it needs and this build lacks.
    fn lacks(&self) -> Option<&'static str> {
        None
    }

    /// Reads its settings for this purpose; those [of candidates](Self::of_candidates) only to
    /// campaign.
    fn backend(
        &self,
        layers: &mut Layers<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Box<dyn Backend>, Failure>;
}

/// What settings are read for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose<'a> {
    /// To campaign in this election.
    Campaign(&'a ElectionName),
    /// To ask about this election.
    Ask(&'a ElectionName),
    /// To ask the members how they do, of this election where it has members of its own.
    Members(Option<&'a ElectionName>),
    /// To have whoever leads this election step down.
    Order(&'a ElectionName),
    /// To ask which elections there are, of those that may be asked about.
    Elections,
}

impl<'a> Purpose<'a> {
    /// The election that it is about, where it is about one.
    #[must_use]
    pub const fn election(self) -> Option<&'a ElectionName> {
        match self {
            Self::Campaign(election) | Self::Ask(election) | Self::Order(election) => {
                Some(election)
            }
            Self::Members(_) | Self::Elections => None,
        }
    }
}

/// What a protocol says of a setting that it shares with others.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub setting: &'static str,
    /// What holds with this protocol when it is not set.
    pub default: Option<&'static str>,
    /// What the help adds.
    pub note: &'static str,
}

/// What the leaders and candidates of a protocol can: by default nothing of this.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// Leaders are ordered by fences, and CMD is given its own.
    pub fence: bool,
    /// Candidates have a priority; the higher one goes first.
    pub priority: bool,
    /// A leader can hand over to a candidate by name.
    pub transfer: bool,
    /// A leader can be asked to promise that it leads.
    pub verify: bool,
    /// Several may lead at once.
    pub several_leaders: bool,
    /// There is a list of members, which can be asked how they do.
    pub members: bool,
    /// Members can be added and removed.
    pub change_members: bool,
    /// Elections can be listed, and those who want one.
    pub elections: bool,
    /// A leader can be told from elsewhere to resign or to hand over.
    pub orders: bool,
}

impl Capabilities {
    /// Each of them with its name.
    #[must_use]
    pub const fn named(self) -> [(&'static str, bool); 9] {
        [
            ("fence", self.fence),
            ("priority", self.priority),
            ("transfer", self.transfer),
            ("verify", self.verify),
            ("several leaders", self.several_leaders),
            ("members", self.members),
            ("change members", self.change_members),
            ("elections", self.elections),
            ("orders from elsewhere", self.orders),
        ]
    }
}

/// The election that has the roles: `NAME/3` and 3 together name role 3 of NAME, as CMD is told
/// both, and what it starts may take both.
pub(crate) fn whole(election: &ElectionName, role: Option<u32>) -> ElectionName {
    let end = role.map(|role| format!("/{role}"));
    let name = end.and_then(|end| election.as_str().strip_suffix(&*end));
    let name = name.and_then(|name| ElectionName::new(name).ok());
    name.unwrap_or_else(|| election.clone())
}

impl Realm {
    /// Reads the settings of `protocol` that say it. Where nothing else says it, the name of the
    /// election, without a role, does.
    pub fn read(
        layers: &mut Layers<'_>,
        protocol: &dyn Protocol,
        election: &ElectionName,
    ) -> Result<Self, Failure> {
        let spec = protocol.realm();
        let name = match spec.default {
            Default::Follows(_) => {
                layers.text_if_set(spec)?.unwrap_or_else(|| election.to_string())
            }
            _ => layers.text_of(spec)?,
        };
        let roster = match protocol.roster() {
            Some(spec) => layers.text_if_set(spec)?.map(|text| (spec.name, text)),
            None => None,
        };
        Ok(Self { protocol: protocol.name(), setting: spec.name, name, roster })
    }
}

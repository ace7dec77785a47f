//! The protocols of the command: each has one module, and one row in [`ALL`].
//!
//! A [`Protocol`] lists its capabilities, its settings with their defaults, and its words.
//! [`Protocol::backend`] makes a [`Backend`] of checked settings, which starts [`Participant`]s. No
//! other module of the command names a protocol: help, completions and errors are made from these
//! rows, and a test compares `docs/start/choose.md` with them. [`crate::main`] takes the list, so
//! that a program of another crate can add a protocol.
//!
//! To write a protocol, as `examples/beacon` does:
//!
//! 1. Declare the settings that no other protocol has with [`settings!`](crate::settings!), and
//!    list them with the shared ones (`lease`, `grace`, `cacert` … of
//!    [`table`](crate::settings::table)).
//! 2. Read them in the function of [`Support::Built`] with [`Layers`]: `required`, `optional`,
//!    `or_follows`. Refuse wrong combinations there, with
//!    [`Origins::usage`](crate::settings::Origins::usage).
//! 3. Start a node of the library in [`Backend::candidate`] and [`Backend::asker`], and return
//!    its elections as [`AnyElection`].

pub mod allcall;
mod backend;
pub mod etcd;
pub(crate) mod id;
mod later;
pub mod layers;
mod members;
pub mod nele;
pub mod nerio;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod outage;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod pem;
mod registry;
pub mod role_range;
mod roles;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod start;
pub mod tls;
#[cfg(any(feature = "etcd", feature = "kafka", feature = "nats", feature = "voter"))]
mod troubles;
pub mod urls;
pub mod voter;
mod weak;

use std::fmt::{self, Debug};

use tenure_core::{ElectionName, NodeName};

pub(crate) use self::backend::Class;
pub use self::backend::{
    AnnouncedWork, AnyElection, AskMode, AskedElection, Backend, Participant, Rank,
    StartedParticipant, Transport, refused,
};
pub use self::later::{Later, at_once};
pub use self::layers::{Layers, Realms};
pub use self::members::{
    Advice, MadeChange, Member, MemberChange, Members, MembersEpoch, NewMember,
};
pub use self::registry::Registry;
pub(crate) use self::registry::default;
#[cfg(test)]
use self::registry::{expect_defaults, expect_origins};
pub use self::roles::{Owner, Part, RoleHolder, Row, Table};
pub use self::weak::{WeakObserver, WeakView};
use crate::control::Realm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{Default, Setting, Spec};

pub static ALL: &[&Protocol] =
    &[&nerio::PROTOCOL, &etcd::PROTOCOL, &allcall::PROTOCOL, &voter::PROTOCOL, &nele::PROTOCOL];

/// A protocol, as the command sees it. Every protocol sets all fields, so that no field is
/// forgotten.
pub struct Protocol {
    pub name: &'static str,
    /// Another name by which users choose the protocol: the name of its service.
    pub alias: Option<&'static str>,
    /// A line of the help.
    pub about: &'static str,
    /// The word for the service or transport, if users may take this word for the protocol's name.
    pub service: Option<&'static str>,
    pub can: Capabilities,
    /// Settings of `run`, `leader` and `observe`, in addition to the settings of every protocol.
    pub settings: &'static [&'static Spec],
    /// Further settings of `run`, for candidates only.
    pub of_candidates: &'static [&'static Spec],
    /// Settings whose values may be secrets; CMD does not inherit their variables.
    pub secrets: &'static [&'static Spec],
    /// Defaults and notes of shared settings.
    pub says: &'static [About],
    /// The setting with the addresses of the peers. A user who sets only the addresses for another
    /// protocol has forgotten `--protocol`.
    pub whereabouts: &'static Spec,
    /// The setting that separates elections of one name; with the election it names the control
    /// sockets of runners.
    pub realm: &'static Spec,
    /// The setting whose value all processes of a realm share, if the protocol has such a setting.
    /// The setting distinguishes two realms of one name.
    pub roster: Option<&'static Spec>,
    /// Advice for users who give settings of other protocols.
    pub instead: &'static [Replacement],
    /// Log targets of the protocol's client library that stay silent, because the commands report
    /// these events better.
    pub quiet: &'static [&'static str],
    /// The setting that picks a role, if elections have roles: role 3 is the election `NAME/3`.
    pub role: Option<&'static Setting<u32>>,
    /// The advice in place of `tenure transfer` in a protocol without it; `None`: `tenure resign`.
    pub gives_way: Option<&'static str>,
    /// The protocol's own setting for the name of a candidate, beside `id`.
    pub own_id: Option<&'static Setting<NodeName>>,
    /// The text of an answer if the leader is unknown.
    pub unknown: &'static str,
    /// Whether a candidate without `--value` shows its id, because observers see no other name.
    pub shows_id: bool,
    /// The arguments of an example of `tenure run` that find the peers.
    pub example: &'static str,
    pub support: Support,
}

pub type ReadSettings = fn(&mut Layers<'_>, Purpose<'_>) -> Result<Box<dyn Backend>, Failure>;

/// Whether this build has the code of a protocol.
#[derive(Clone, Copy)]
pub enum Support {
    /// The function that reads the protocol's settings for a purpose. For a campaign the function
    /// also reads the settings [of candidates](Protocol::of_candidates).
    Built(ReadSettings),
    Lacks(&'static str),
}

/// Advice for users who give settings of other protocols.
#[derive(Clone, Copy, Debug)]
pub struct Replacement {
    pub settings: &'static [&'static str],
    /// Continuation of the text `remove --NAME`.
    pub fix: &'static str,
}

impl Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Protocol {
    /// The name that users know.
    #[must_use]
    pub const fn shown(&self) -> &'static str {
        match self.alias {
            Some(alias) => alias,
            None => self.name,
        }
    }

    /// The feature of this crate that the protocol needs and this build lacks.
    #[must_use]
    pub const fn lacks(&self) -> Option<&'static str> {
        match self.support {
            Support::Built(_) => None,
            Support::Lacks(feature) => Some(feature),
        }
    }

    /// Reads the protocol's settings for this purpose.
    pub fn backend(
        &self,
        layers: &mut Layers<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Box<dyn Backend>, Failure> {
        match self.support {
            Support::Built(read) => read(layers, purpose),
            // The registry has already refused the name of such a protocol.
            Support::Lacks(feature) => {
                let what = format!("this tenure was built without {feature}");
                Err(Failure::new(Exit::Bug, what, "report it"))
            }
        }
    }
}

/// The purpose for which settings are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose<'a> {
    Campaign(&'a ElectionName),
    Ask(&'a ElectionName),
    /// Ask the members for their state. Where each election has its own members, ask the members of
    /// this election.
    Members(Option<&'a ElectionName>),
    /// Change the members of the cluster, or the members of this election if each election has its
    /// own members.
    ChangeMembers(Option<&'a ElectionName>),
    /// Order the leader of this election to step down.
    Order(&'a ElectionName),
    /// List the elections about which the key may ask.
    Elections,
}

impl<'a> Purpose<'a> {
    #[must_use]
    pub const fn election(self) -> Option<&'a ElectionName> {
        match self {
            Self::Campaign(election) | Self::Ask(election) | Self::Order(election) => {
                Some(election)
            }
            Self::Members(_) | Self::ChangeMembers(_) | Self::Elections => None,
        }
    }
}

/// A protocol's default and note of a shared setting.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub setting: &'static str,
    pub default: Option<&'static str>,
    /// Addition to the help; may be empty.
    pub note: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Leaders have fences, and CMD gets the fence of its leader.
    pub fence: bool,
    /// Candidates have a priority; the highest leads next.
    pub priority: bool,
    /// A leader can hand over to a named candidate.
    pub transfer: bool,
    /// A leader can promise on request that it leads.
    pub verify: bool,
    /// Several candidates may lead at once.
    pub several_leaders: bool,
    /// A list of members exists, and each can report its state.
    pub members: bool,
    /// Members can be added and removed.
    pub change_members: bool,
    pub elections: bool,
    /// A leader obeys orders over the network to resign or hand over.
    pub orders: bool,
    /// An operator can ask for an election.
    pub start_election: bool,
    /// Partitions without a leader can have a weak leader.
    pub weak_leaders: bool,
}

impl Capabilities {
    pub const NONE: Self = Self {
        fence: false,
        priority: false,
        transfer: false,
        verify: false,
        several_leaders: false,
        members: false,
        change_members: false,
        elections: false,
        orders: false,
        start_election: false,
        weak_leaders: false,
    };

    #[must_use]
    pub const fn named(self) -> [(&'static str, bool); 11] {
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
            ("start elections", self.start_election),
            ("weak leaders", self.weak_leaders),
        ]
    }
}

/// Returns the election that has the roles: NAME for `NAME/3` and role 3. CMD gets the name of the
/// role's election and the role, and commands inside CMD may pass both.
pub(crate) fn whole(election: &ElectionName, role: Option<u32>) -> ElectionName {
    let end = role.map(|role| format!("/{role}"));
    let name = end.and_then(|end| election.as_str().strip_suffix(&*end));
    let name = name.and_then(|name| ElectionName::new(name).ok());
    name.unwrap_or_else(|| election.clone())
}

impl Realm {
    /// Reads the realm setting of `protocol`. If the setting has no value, the name of the whole
    /// election names the realm.
    pub fn read(
        layers: &mut Layers<'_>,
        protocol: &Protocol,
        election: &ElectionName,
    ) -> Result<Self, Failure> {
        let spec = protocol.realm;
        let name = match spec.default {
            Default::Follows(_) => {
                layers.text_if_set(spec)?.unwrap_or_else(|| election.to_string())
            }
            _ => layers.text_of(spec)?,
        };
        let roster = match protocol.roster {
            Some(spec) => layers.text_if_set(spec)?.map(|text| (spec.name, text)),
            None => None,
        };
        Ok(Self { protocol: protocol.name, setting: spec.name, name, roster })
    }
}

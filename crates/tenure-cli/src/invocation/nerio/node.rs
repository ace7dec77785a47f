//! `tenure node`, and questions to nodes.

use std::path::PathBuf;
use std::time::Duration;

use tenure_core::NodeName;
use tenure_nerio::keys::Right;

use super::order::no_control;
use crate::control;
use crate::failure::Failure;
use crate::invocation::http::HttpSettings;
use crate::protocol::nerio::keys::check_rights;
use crate::protocol::nerio::{Cluster, MEMBERS, Seat};
use crate::protocol::{Layers, Realms};
use crate::settings::table;

/// The checked settings of `tenure node`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSettings {
    /// The cluster, and the address to bind.
    pub cluster: Cluster,
    pub seat: Seat,
    /// The socket at which processes ask to be watched.
    pub supervise: Option<PathBuf>,
    pub http: Option<HttpSettings>,
}

impl NodeSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let (cluster, mut seat) = Seat::read(layers, name)?;
        let default = seat.control;
        seat.control = layers.or_follows(&table::CONTROL, || Ok(default))?;
        let supervise = layers.optional(&table::SUPERVISE)?;
        let http = HttpSettings::read(layers)?;
        Ok(Self { cluster, seat, supervise, http })
    }
}

/// The members to ask for their state, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HealthSettings {
    pub cluster: Cluster,
    /// The only member to show.
    pub name: Option<NodeName>,
}

impl HealthSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        no_control(layers)?;
        let name = layers.optional(&table::NAME)?;
        let cluster = Cluster::read(layers, None)?;
        if let Some(name) = &name {
            cluster.member(name, &layers.origins)?;
        }
        Ok(Self { cluster, name })
    }
}

/// The process on this machine to ask for its status, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusSettings {
    /// The control socket of the named node, or the given socket of a node or a runner.
    pub control: PathBuf,
    /// Settings that may identify the process, in addition to its name.
    pub realms: Realms,
}

impl StatusSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.optional(&table::NAME)?;
        let cluster = layers.required(&table::CLUSTER)?;
        let missing = layers.missing(&table::NAME.spec);
        let environment = layers.environment();
        let control = layers.or_follows(&table::CONTROL, || match &name {
            Some(name) => Ok(control::directory(environment.runtime_directory())
                .join(control::node(&cluster, name))),
            None => Err(Failure { fix: missing.fix + "; or --control PATH", ..missing }),
        })?;
        layers.text_if_set(&MEMBERS.spec)?;
        let realms = layers.realms();
        Ok(Self { control, realms })
    }
}

/// The checked settings of `tenure node wait-safe`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitSafeSettings {
    /// The nodes that must serve and have heard from the leaders.
    pub cluster: Cluster,
    /// The longest wait; `None` waits forever.
    pub wait: Option<Duration>,
}

impl WaitSafeSettings {
    /// Reads the settings. The process binds any free port, because the node itself uses the node's
    /// port.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.optional(&table::NAME)?;
        let cluster = Cluster::read(layers, None)?;
        // The command asks all members. If the settings name a member, as a node's own settings do,
        // the list must have this member.
        if let Some(name) = &name {
            cluster.member(name, &layers.origins)?;
        }
        check_rights(cluster.keys.as_ref(), Right::Ask, None, &layers.origins)?;
        let wait = layers.optional(&table::WAIT)?;
        Ok(Self { cluster, wait })
    }
}

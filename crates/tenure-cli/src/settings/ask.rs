//! The commands that ask the cluster, and those that tell a runner.

use std::path::PathBuf;
use std::time::Duration;

use tenure_core::{ElectionName, NodeName};

use super::{Cluster, Layers, Ledger, Protocol, With, table};
use crate::control::{self, Realm};
use crate::failure::Failure;

/// What `tenure leader` or `observe` was asked, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskSettings {
    /// Whom to ask.
    pub with: With,
    /// About what.
    pub election: ElectionName,
    /// How long to wait for a leader; `None` takes the first answer. Always `None` for
    /// `observe`.
    pub wait: Option<Duration>,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

impl AskSettings {
    /// Reads and checks them; `waits` for the commands that have `--wait`.
    pub fn read(layers: &mut Layers<'_>, waits: bool) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let with = With::read(layers, protocol, &election)?;
        let wait = if waits { layers.optional(&table::WAIT)? } else { None };
        let json = layers.required(&table::JSON)?;
        Ok(Self { with, election, wait, json, ledger: layers.take_ledger() })
    }
}

/// What `tenure verify` was asked, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifySettings {
    /// Whom to ask.
    pub cluster: Cluster,
    /// About what.
    pub election: ElectionName,
    /// How long to wait for an answer.
    pub wait: Option<Duration>,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

impl VerifySettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        if layers.protocol()? == Protocol::Etcd {
            let what = "only a leader of nerio can be asked to verify that it leads";
            let fix = "check the fence where the work arrives, or ask tenure leader";
            return Err(layers.ledger.explain(Failure::usage(what, fix), &["protocol"]));
        }
        let cluster = Cluster::read(layers, None)?;
        let wait = layers.optional(&table::WAIT)?;
        let json = layers.required(&table::JSON)?;
        Ok(Self { cluster, election, wait, json, ledger: layers.take_ledger() })
    }
}

/// Whom `tenure resign` or `tenure transfer` tells, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TellSettings {
    /// Of which election.
    pub election: ElectionName,
    /// Where its runner listens.
    pub runner: Runner,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

/// Where a runner listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runner {
    /// At this socket.
    Socket(PathBuf),
    /// At one of the sockets in this directory whose names begin so.
    Among {
        /// The directory.
        directory: PathBuf,
        /// What the names begin with.
        prefix: String,
    },
}

impl TellSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let realm = match layers.protocol()? {
            Protocol::Nerio => Realm::Cluster(layers.required(&table::CLUSTER)?),
            Protocol::Etcd => Realm::Namespace(layers.required(&table::NAMESPACE)?),
        };
        let runner = match layers.optional(&table::CONTROL)? {
            Some(path) => Runner::Socket(path),
            None => Runner::Among {
                directory: control::directory(layers.environment()),
                prefix: control::runners(&realm, &election),
            },
        };
        let json = layers.required(&table::JSON)?;
        Ok(Self { election, runner, json, ledger: layers.take_ledger() })
    }
}

/// What `tenure transfer` was asked to do, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferSettings {
    /// Whom to tell.
    pub tell: TellSettings,
    /// Who leads next.
    pub to: NodeName,
    /// How long to wait until the hand-over has taken effect; `None` does not wait for it.
    pub wait: Option<Duration>,
}

impl TransferSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let to = layers.required(&table::TO)?;
        let wait = layers.optional(&table::WAIT)?;
        Ok(Self { tell: TellSettings::read(layers)?, to, wait })
    }
}

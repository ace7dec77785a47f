//! `tenure node`, and what is asked of one.

use std::path::PathBuf;
use std::time::Duration;

use tenure_core::{ClusterName, NodeName};

use super::{Cluster, Layers, Ledger, table};
use crate::control;
use crate::failure::Failure;

/// What `tenure node` was asked to do, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeSettings {
    /// With whom, and the address to bind.
    pub cluster: Cluster,
    /// Which member it is.
    pub name: NodeName,
    /// Where it remembers.
    pub storage: Storage,
    /// Its control socket.
    pub control: PathBuf,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

/// Where a node remembers what it must not forget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Storage {
    /// In a directory.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Whether the user says that this is the very first start, so that an empty directory
        /// is not a lost one.
        new: bool,
    },
    /// Nowhere.
    Memory {
        /// Whether the user says that this is the cluster's very first start.
        new: bool,
    },
}

impl Storage {
    /// What is lost without a directory, for people who chose that.
    #[must_use]
    pub fn warning(&self) -> Option<&'static str> {
        match self {
            Self::Directory { .. } => None,
            Self::Memory { .. } => Some(
                "this node keeps nothing (--memory): each restart waits out the longest lease \
                 before it grants, then must learn the fences from a quorum of the others; two \
                 such restarts at once stop all elections until an operator steps in. Give \
                 --state DIR for anything that matters",
            ),
        }
    }
}

impl NodeSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let storage = storage(layers)?;
        let cluster = Cluster::read(layers, Some(&name))?;
        let control = control(layers, &cluster.config.cluster, &name)?;
        let json = layers.required(&table::JSON)?;
        Ok(Self { cluster, name, storage, control, json, ledger: layers.take_ledger() })
    }
}

fn storage(layers: &mut Layers<'_>) -> Result<Storage, Failure> {
    let state = layers.optional(&table::STATE)?;
    let new = layers.required(&table::NEW)?;
    let memory = layers.required(&table::MEMORY)?;
    let exclude = |what: &str, fix: &str, names: [&str; 2]| {
        Err(layers.ledger.explain(Failure::usage(what, fix), &names))
    };
    match (state, memory) {
        (Some(_), true) => exclude(
            "a node keeps its state either in a directory or nowhere, not both",
            "leave out --memory, or --state with its variable and key",
            ["state", "memory"],
        ),
        (Some(path), false) => Ok(Storage::Directory { path, new }),
        (None, true) => Ok(Storage::Memory { new }),
        (None, false) => {
            let mut failure = layers.missing(&table::STATE.spec);
            failure.fix += "; or give --memory to keep nothing";
            Err(failure)
        }
    }
}

fn control(
    layers: &mut Layers<'_>,
    cluster: &ClusterName,
    name: &NodeName,
) -> Result<PathBuf, Failure> {
    let environment = layers.environment();
    layers.or_follows(&table::CONTROL, || {
        Ok(control::directory(environment).join(control::node(cluster, name)))
    })
}

/// What `tenure node status` was asked to do, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusSettings {
    /// Which node.
    pub name: NodeName,
    /// Of which cluster.
    pub cluster: ClusterName,
    /// Its control socket.
    pub control: PathBuf,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

impl StatusSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let cluster = layers.required(&table::CLUSTER)?;
        let control = control(layers, &cluster, &name)?;
        let json = layers.required(&table::JSON)?;
        Ok(Self { name, cluster, control, json, ledger: layers.take_ledger() })
    }
}

/// What `tenure node wait-safe` was asked to do, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitSafeSettings {
    /// Which node was restarted.
    pub name: NodeName,
    /// Everybody who must have heard from the leaders since.
    pub cluster: Cluster,
    /// The node's control socket.
    pub control: PathBuf,
    /// How long to wait; `None` is for ever.
    pub wait: Option<Duration>,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

impl WaitSafeSettings {
    /// Reads and checks them. The address to bind is any free port: the node has its own.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let cluster = Cluster::read(layers, None)?;
        cluster.member(&name, &layers.ledger)?;
        let control = control(layers, &cluster.config.cluster, &name)?;
        let wait = layers.optional(&table::WAIT)?;
        let json = layers.required(&table::JSON)?;
        Ok(Self { name, cluster, control, wait, json, ledger: layers.take_ledger() })
    }
}

//! `tenure node`, and what is asked of one.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::{ClusterName, NodeName};

use super::{Layers, Realms, table};
use crate::control;
use crate::failure::{Failure, shell_word};
use crate::protocol::nerio::keys::check_rights;
use crate::protocol::nerio::{Cluster, MEMBERS};

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
    /// What is lost without a directory, for people who chose that; or who could take it away.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::Directory { path, .. } => open_above(path).map(|(above, mode)| {
                let cure = format!("chmod o-w {}", shell_word(&above.display().to_string()));
                format!(
                    "everybody can put another directory in the place of the state directory {}: \
                     {} has the mode {mode:03o}. Take that away: {cure}",
                    path.display(),
                    above.display(),
                )
            }),
            Self::Memory { .. } => Some(
                "this node keeps nothing (--memory): each restart waits out the longest lease \
                 before it grants, then must learn the fences from a quorum of the others; two \
                 such restarts at once stop all elections until an operator steps in. Give \
                 --state DIR for anything that matters"
                    .to_owned(),
            ),
        }
    }
}

/// The nearest directory above `path` in which every user can rename what is there, with its mode:
/// where names are sticky only their owners can.
fn open_above(path: &Path) -> Option<(PathBuf, u32)> {
    let real = path.canonicalize().or_else(|_| std::path::absolute(path)).ok()?;
    real.ancestors().skip(1).find_map(|above| {
        let mode = above.metadata().ok()?.mode() & 0o7777;
        (mode & 0o002 != 0 && mode & 0o1000 == 0).then(|| (above.to_owned(), mode))
    })
}

impl NodeSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let storage = storage(layers)?;
        let cluster = Cluster::read(layers, Some(&name))?;
        let control = control(layers, &cluster.config.cluster, &name)?;
        Ok(Self { cluster, name, storage, control })
    }
}

fn storage(layers: &mut Layers<'_>) -> Result<Storage, Failure> {
    let state = layers.optional(&table::STATE)?;
    let new = layers.required(&table::NEW)?;
    let memory = layers.required(&table::MEMORY)?;
    let exclude = |what: &str, fix: &str, names: [&str; 2]| {
        Err(layers.origins.explain(Failure::usage(what, fix), &names))
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
    /// The control socket: of the node that is named, or any that is given, of a runner, too.
    pub control: PathBuf,
    /// The settings that may name it beside its name.
    pub realms: Realms,
}

impl StatusSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.optional(&table::NAME)?;
        let cluster = layers.required(&table::CLUSTER)?;
        let missing = layers.missing(&table::NAME.spec);
        let environment = layers.environment();
        let control = layers.or_follows(&table::CONTROL, || match &name {
            Some(name) => Ok(control::directory(environment).join(control::node(&cluster, name))),
            None => Err(Failure { fix: missing.fix + "; or --control PATH", ..missing }),
        })?;
        layers.text_if_set(&MEMBERS.spec)?;
        let realms = layers.realms();
        Ok(Self { control, realms })
    }
}

/// What `tenure node wait-safe` was asked to do, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitSafeSettings {
    /// Which node was restarted.
    pub name: NodeName,
    /// The nodes that must have heard from the leaders since.
    pub cluster: Cluster,
    /// How long to wait; `None` is for ever.
    pub wait: Option<Duration>,
}

impl WaitSafeSettings {
    /// Reads and checks them. The address to bind is any free port: the node has its own.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let name = layers.required(&table::NAME)?;
        let cluster = Cluster::read(layers, None)?;
        cluster.member(&name, &layers.origins)?;
        check_rights(cluster.keys.as_ref(), None, &layers.origins)?;
        let wait = layers.optional(&table::WAIT)?;
        Ok(Self { name, cluster, wait })
    }
}

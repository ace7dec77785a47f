//! A member of the cluster in this process: `tenure node`, or `tenure run --name`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use tenure_core::NodeName;
use tenure_core::nerio::Config;
use tenure_nerio::Opening;
use tenure_nerio::state::{Grantor, check_owner};

use super::{
    AUTO, Cluster, EXIT_ON_MISMATCH, MEMBER_SETTINGS, REPLACE, combination, participant, weak,
};
use crate::control;
use crate::explain::{NO_MEMORY, PERMISSIONS, tagged};
use crate::failure::{Failure, shell_word};
use crate::protocol::Layers;
use crate::settings::{Origins, table};

/// The place of one member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seat {
    pub name: NodeName,
    pub storage: Storage,
    pub control: PathBuf,
}

impl Seat {
    /// Reads the place of member `name`, and its cluster. The control socket is at the path at
    /// which `tenure node status --name` looks.
    pub(crate) fn read(
        layers: &mut Layers<'_>,
        name: NodeName,
    ) -> Result<(Cluster, Self), Failure> {
        let storage = storage(layers)?;
        let mut cluster = Cluster::read(layers, Some(&name))?;
        let mut config = Config::clone(&cluster.config);
        let is_auto = layers.required(&REPLACE)? == AUTO;
        config.replace = is_auto.then(|| config.auto_replace());
        config.ring = weak::ring(layers)?;
        cluster.config = combination::again(config, &layers.origins)?;
        let file = control::node(&cluster.config.cluster, &name);
        let control = control::directory(layers.environment().runtime_directory()).join(file);
        Ok((cluster, Self { name, storage, control }))
    }

    /// Reads the place of a candidate that is also a member.
    pub(super) fn of_candidate(
        layers: &mut Layers<'_>,
    ) -> Result<Option<(Cluster, Self)>, Failure> {
        if let Some(name) = layers.optional(&table::NAME)? {
            let (mut cluster, mut seat) = Self::read(layers, name)?;
            // The process of a member that is also a candidate may end because the other members
            // have another configuration.
            cluster.exit_on_mismatch = layers.required(&EXIT_ON_MISMATCH)?;
            // The runner's socket is at `--control`.
            if let Some(control) = layers.optional(&table::CONTROL)? {
                let mut control = control.into_os_string();
                control.push(".member");
                seat.control = control.into();
            }
            return Ok(Some((cluster, seat)));
        }
        for spec in MEMBER_SETTINGS {
            if layers.flags().value_source(spec.name) == Some(ValueSource::CommandLine) {
                let what = format!("--{} is for a member, and --name is not set", spec.name);
                let fix = format!("add --name to contend as a member, or remove --{}", spec.name);
                let flag = format!("flag --{}", spec.name);
                return Err(Failure::usage(what, fix).origin(flag));
            }
        }
        Ok(None)
    }
}

impl Seat {
    /// Checks that the state directory at `path` belongs to no other member.
    pub(super) fn check_owner(
        &self,
        cluster: &Cluster,
        path: &Path,
        origins: &Origins,
    ) -> Result<(), Failure> {
        let grantor = Grantor { cluster: cluster.config.cluster.clone(), node: self.name.clone() };
        check_owner(path, &grantor).map_err(|error| participant::state(&error, origins))
    }
}

/// The storage of a member's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Storage {
    Directory {
        path: PathBuf,
        /// Whether the user confirms the very first start: an empty directory then means no loss.
        new: bool,
    },
    /// The memory of the process: nothing is durable.
    Memory {
        /// Whether the user confirms the cluster's very first start.
        new: bool,
    },
}

impl Storage {
    pub(crate) fn of_library(&self) -> tenure_nerio::Storage {
        let opening = |new: bool| if new { Opening::New } else { Opening::Existing };
        match self {
            Self::Directory { path, new } => {
                tenure_nerio::Storage::Directory { path: path.clone(), opening: opening(*new) }
            }
            Self::Memory { new } => tenure_nerio::Storage::Memory { opening: opening(*new) },
        }
    }

    /// A warning that a member without a directory loses its state, or that other users could
    /// replace the directory.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::Directory { path, .. } => open_above(path).map(|(above, mode)| {
                let cure = format!("chmod o-w {}", shell_word(&above.display().to_string()));
                let text = format!(
                    "every user can replace the state directory {}: {} has the mode {mode:03o}. \
                     Remove that right: {cure}",
                    path.display(),
                    above.display(),
                );
                tagged(&text, PERMISSIONS)
            }),
            Self::Memory { .. } => Some(tagged(
                "this node keeps nothing (--memory). After a restart it waits out the longest \
                 lease and learns the fences from a quorum of the others before it grants leases. \
                 Two such restarts at once stop all elections until an operator steps in. Give \
                 --state DIR for anything that matters",
                NO_MEMORY,
            )),
        }
    }
}

/// The nearest directory above `path` in which every user can rename entries, with its mode; in
/// sticky directories only owners can.
fn open_above(path: &Path) -> Option<(PathBuf, u32)> {
    let real = path.canonicalize().or_else(|_| std::path::absolute(path)).ok()?;
    real.ancestors().skip(1).find_map(|above| {
        let mode = above.metadata().ok()?.mode() & 0o7777;
        (mode & 0o002 != 0 && mode & 0o1000 == 0).then(|| (above.to_owned(), mode))
    })
}

fn storage(layers: &mut Layers<'_>) -> Result<Storage, Failure> {
    let state = layers.optional(&table::STATE)?;
    let new = layers.required(&table::NEW)?;
    let memory = layers.required(&table::MEMORY)?;
    let exclude =
        |what: &str, fix: &str, names: [&str; 2]| Err(layers.origins.usage(what, fix, &names));
    match (state, memory) {
        (Some(_), true) => exclude(
            "a node keeps its state either in a directory or nowhere, not both",
            "remove --memory; or remove the state directory from the settings (flag --state, \
             variable TENURE_STATE, key state of the file)",
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

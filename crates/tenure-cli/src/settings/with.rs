//! With whom a command elects or asks: the protocol, and all that it must know.

use std::time::Duration;

use tenure_core::ElectionName;

use super::etcd::Store;
use super::{Cluster, Layers, Protocol};
use crate::control::Realm;
use crate::failure::Failure;

/// The other side, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum With {
    /// A cluster of grantors.
    Nerio(Cluster),
    /// etcd.
    Etcd(Store),
}

impl With {
    /// Reads it for something that is about `election`.
    pub fn read(
        layers: &mut Layers<'_>,
        protocol: Protocol,
        election: &ElectionName,
    ) -> Result<Self, Failure> {
        Ok(match protocol {
            Protocol::Nerio => Self::Nerio(Cluster::read(layers, None)?),
            Protocol::Etcd => Self::Etcd(Store::read(layers, election)?),
        })
    }

    /// How a leader is found.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Nerio(_) => Protocol::Nerio,
            Self::Etcd(_) => Protocol::Etcd,
        }
    }

    /// How long before the end of its lease a leader's work is asked to stop.
    #[must_use]
    pub fn grace(&self) -> Duration {
        match self {
            Self::Nerio(cluster) => cluster.config.grace,
            Self::Etcd(store) => store.config.grace,
        }
    }

    /// How long before the end of its lease a leader's work is ended by force.
    #[must_use]
    pub fn kill_margin(&self) -> Duration {
        match self {
            Self::Nerio(cluster) => cluster.config.kill_margin,
            Self::Etcd(store) => store.config.kill_margin,
        }
    }

    /// Which runners of one election belong together.
    #[must_use]
    pub fn realm(&self) -> Realm {
        match self {
            Self::Nerio(cluster) => Realm::Cluster(cluster.config.cluster.clone()),
            Self::Etcd(store) => Realm::Namespace(store.config.namespace.clone()),
        }
    }
}

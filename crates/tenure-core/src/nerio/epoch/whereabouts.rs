//! The question for the epoch of a member, and its answer.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::body::Service;
use super::super::identity::{Inc, Instance};
use super::{Document, EpochId};
use crate::time::Time;

/// Asks a member which epoch it has entered.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Where {
    /// Time of the question on the asker's clock.
    pub start: Time,
}

/// The epoch that a member has entered: the answer to [`Where`], and to a question that is meant
/// for another epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Current {
    /// Incarnation that asked.
    pub asker: Inc,
    /// Start of the question.
    pub start: Time,
    pub epoch: EpochId,
    /// Digest of the document of epoch 0, by which nodes recognize their cluster.
    pub founding: u64,
    pub before: EpochId,
    /// Memory of the member.
    pub instance: Instance,
    /// Whether the memory has entered the epoch. A blank names the epoch of its settings, from
    /// which others learn nothing.
    pub entered: bool,
    pub service: Service,
    /// Bytes of the document.
    pub length: u32,
}

impl Current {
    /// Whether the document is short enough to be sent in parts and to be written to a disk.
    pub(in crate::nerio) fn is_readable(&self) -> bool {
        usize::try_from(self.length).is_ok_and(|bytes| bytes <= Document::BYTES_MAX)
    }
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "where start {}", self.start)
    }
}

impl fmt::Display for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, service, start, entered, .. } = self;
        let blank = if *entered { "" } else { " blank" };
        write!(f, "current epoch {}{blank} {service} start {start}", epoch.number)
    }
}

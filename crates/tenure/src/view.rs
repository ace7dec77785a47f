//! Who leads, as others see it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure_core::{Fence, Time};

use crate::value::LeaderValue;

/// Who leads, as an observer knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum View {
    /// Somebody leads.
    Leader(LeaderView),
    /// Nobody leads, and that is known.
    Vacant,
    /// Nobody who knows has answered in time, or the answers do not agree.
    Unknown {
        /// Since when, on this machine's `CLOCK_BOOTTIME`.
        since: Time,
    },
}

/// A leader as an observer knows it. What its protocol does not tell is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaderView {
    /// What names it: the name of its node (Nerio), or of its lease (etcd).
    pub id: Arc<str>,
    /// What it wants others to know.
    pub value: LeaderValue,
    /// The fence of its leadership, when it is known.
    pub fence: Option<Fence>,
    /// It leads until then at least unless it gives up, on this machine's `CLOCK_BOOTTIME`.
    pub until: Option<Time>,
    /// 128 random bits that tell one life of a process from the next of the same name (Nerio).
    pub incarnation: Option<u128>,
    /// Where it is reached by the protocol itself (Nerio).
    pub address: Option<SocketAddr>,
    /// It has given up and leads no more. Until about then nobody else does, because a verification
    /// promised it (Nerio).
    pub leaving: Option<Time>,
}

impl View {
    /// The leader, if one is known.
    #[must_use]
    pub const fn leader(&self) -> Option<&LeaderView> {
        match self {
            Self::Leader(leader) => Some(leader),
            Self::Vacant | Self::Unknown { .. } => None,
        }
    }

    /// Whether it tells an application the same: a lease that goes on is no change.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Leader(known), Self::Leader(leader)) => known.is_same(leader),
            (Self::Vacant, Self::Vacant) | (Self::Unknown { .. }, Self::Unknown { .. }) => true,
            (Self::Leader(_) | Self::Vacant | Self::Unknown { .. }, _) => false,
        }
    }
}

impl LeaderView {
    fn is_same(&self, other: &Self) -> bool {
        let Self { id, value, fence, until: _, incarnation, address, leaving } = self;
        *id == other.id
            && *incarnation == other.incarnation
            && *fence == other.fence
            && *address == other.address
            && *value == other.value
            && leaving.is_some() == other.leaving.is_some()
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader(leader) => leader.fmt(f),
            Self::Vacant => f.write_str("vacant"),
            Self::Unknown { since } => write!(f, "unknown since {since}"),
        }
    }
}

impl fmt::Display for LeaderView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leader {}", self.id)?;
        if let Some(incarnation) = self.incarnation {
            write!(f, "~{:08x}", incarnation >> 96)?;
        }
        if let Some(until) = self.until {
            write!(f, " until {until}")?;
        }
        if let Some(fence) = self.fence {
            write!(f, " fence {fence}")?;
        }
        match self.leaving {
            Some(leaving) => write!(f, " leaving until {leaving}"),
            None => Ok(()),
        }
    }
}

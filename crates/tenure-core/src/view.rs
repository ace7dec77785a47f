//! Leaders, as others see them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use crate::fence::Fence;
use crate::time::Time;
use crate::value::LeaderValue;

/// The leader, as an observer knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum View {
    Leader(LeaderView),
    /// Several leaders, where leaders may overlap.
    Leaders {
        /// The leader that this side follows.
        followed: LeaderView,
        others: Vec<LeaderView>,
    },
    /// The election certainly has no leader.
    Vacant,
    /// Participants that know the leader have not answered in time, or their answers disagree.
    Unknown {
        /// Time since which the leader is unknown, on the clock of leases.
        since: Time,
    },
}

/// A leader as an observer knows it. Fields that its protocol does not have are `None`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaderView {
    /// Name of the leader's node, or of its lease.
    pub id: Arc<str>,
    pub value: LeaderValue,
    pub fence: Option<Fence>,
    /// Earliest end of the leadership unless the leader gives up, on the clock of leases.
    pub until: Option<Time>,
    /// 128 random bits that distinguish incarnations with the same name (Nerio).
    pub incarnation: Option<u128>,
    /// Address at which the leader receives messages of the protocol (Nerio).
    pub address: Option<SocketAddr>,
    /// The leader has stepped down, but has promised in a verification that no other process leads
    /// before about this time (Nerio).
    pub leaving: Option<Time>,
    /// Time of the last message from the leader, where leaders can overlap; with Nerio, time of the
    /// oldest question whose answers name the leader.
    pub heard: Option<Time>,
}

impl View {
    /// The leader, if known; of several leaders, the followed one.
    #[must_use]
    pub const fn leader(&self) -> Option<&LeaderView> {
        match self {
            Self::Leader(leader) | Self::Leaders { followed: leader, .. } => Some(leader),
            Self::Vacant | Self::Unknown { .. } => None,
        }
    }

    /// The leaders that this side does not follow.
    #[must_use]
    pub const fn others(&self) -> &[LeaderView] {
        match self {
            Self::Leaders { others, .. } => others.as_slice(),
            Self::Leader(_) | Self::Vacant | Self::Unknown { .. } => &[],
        }
    }

    /// Whether both views look the same to an application; a renewed lease makes no difference.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let alike = |one: &[LeaderView], other: &[LeaderView]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
        };
        match (self, other) {
            (Self::Leader(known), Self::Leader(leader)) => known.is_same(leader),
            (
                Self::Leaders { followed: known, others: heard },
                Self::Leaders { followed, others },
            ) => known.is_same(followed) && alike(heard, others),
            (Self::Vacant, Self::Vacant) | (Self::Unknown { .. }, Self::Unknown { .. }) => true,
            (Self::Leader(_) | Self::Leaders { .. } | Self::Vacant | Self::Unknown { .. }, _) => {
                false
            }
        }
    }

    /// Whether a core that has reported this view reports `later`. The core does if an application
    /// sees a difference, a lease has another end, or a leader was heard again after `every` or
    /// more.
    pub(crate) fn is_outdated_by(&self, later: &Self, every: Duration) -> bool {
        let mut pairs = self.leaders().zip(later.leaders());
        !self.is_same(later) || pairs.any(|(known, later)| known.is_outdated_by(later, every))
    }

    fn leaders(&self) -> impl Iterator<Item = &LeaderView> {
        self.leader().into_iter().chain(self.others())
    }
}

impl LeaderView {
    /// A leader with a known name and value, and no other field.
    #[must_use]
    pub const fn new(id: Arc<str>, value: LeaderValue) -> Self {
        Self {
            id,
            value,
            fence: None,
            until: None,
            incarnation: None,
            address: None,
            leaving: None,
            heard: None,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let Self { id, value, fence, until: _, incarnation, address, leaving, heard: _ } = self;
        *id == other.id
            && *incarnation == other.incarnation
            && *fence == other.fence
            && *address == other.address
            && *value == other.value
            && leaving.is_some() == other.leaving.is_some()
    }

    fn is_outdated_by(&self, later: &Self, every: Duration) -> bool {
        let heard_again = match (self.heard, later.heard) {
            (Some(known), Some(heard)) => heard.since(known) >= every,
            (known, heard) => known != heard,
        };
        self.until != later.until || heard_again
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader(leader) => leader.fmt(f),
            Self::Leaders { followed, others } => {
                followed.fmt(f)?;
                others.iter().try_for_each(|leader| write!(f, "; also {leader}"))
            }
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
        if !self.value.as_bytes().is_empty() {
            write!(f, " {:?}", self.value)?;
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

//! Documents: the members of an epoch, their memories, and the quorums that elect.
//!
//! The digest of a document covers these bytes, in this order. Every text has its length before it,
//! and every number is little-endian:
//!
//! 1. `nerio epoch 1`, the name of this encoding;
//! 2. the cluster's name, the epoch's number, number and digest of the previous epoch, the digest
//!    of epoch 0;
//! 3. the origin, 1 byte, and ρ in parts per billion, 4 bytes;
//! 4. the number of seats, and of each: name, memory (16 bytes), number of hosts, each host;
//! 5. the quorum system as a text of names, and the floor.
//!
//! An upgraded document has the digest of the [settings](super::super::Checked::digest) instead, so
//! that nodes of earlier versions share this digest. The digest of settings covers no hosts.

use alloc::string::ToString;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::config::{Config, Covered, HostPort, Member, settings_digest};
use super::super::identity::Instance;
use super::super::quorum::{QuorumTextError, Quorums};
use super::super::wire;
use super::EpochId;
use crate::drift::Drift;
use crate::fence::Fence;
use crate::name::{ClusterName, NodeName, Text};

const ENCODING: &str = "nerio epoch 1";
const KEYS: (u64, u64) = (u64::from_le_bytes(*b"tenure e"), u64::from_le_bytes(*b"poch v1 "));

/// An epoch of a cluster (section 10.6).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Document {
    pub cluster: ClusterName,
    pub number: u64,
    /// The previous epoch; [`EpochId::NONE`] in epoch 0.
    pub before: EpochId,
    /// Digest of the document of epoch 0; 0 in that document itself.
    pub founding: u64,
    pub origin: Origin,
    /// ρ, the same in all documents of a cluster.
    pub drift: Drift,
    /// The members, ascending by name, 1 to [`Config::MEMBERS_MAX`] of them.
    pub seats: Vec<Seat>,
    /// The quorum system by names, in the [form of documents](Quorums::of_document).
    pub quorums: Text,
    /// All fences of this epoch are above the floor. Only a founding and a recovery set a floor.
    pub floor: Fence,
}

/// A member in a document.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Seat {
    pub name: NodeName,
    /// Memory of the member. Only seats of an [upgraded](Origin::Upgraded) document have none.
    pub instance: Option<Instance>,
    /// Hosts at which nodes look for a member that their settings do not name, at most
    /// [`Seat::HOSTS_MAX`]. In an upgraded document the sender chooses them, because no digest
    /// covers them.
    pub hosts: Vec<HostPort>,
}

/// The reason why an epoch began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Origin {
    /// The cluster was founded.
    Founded,
    /// A quorum of the previous epoch decided on other members.
    Changed,
    /// An operator declared so many members lost that the [others](Document::survivors) were no
    /// quorum.
    Recovered,
    /// The cluster ran before there were documents, and has the members of its settings.
    Upgraded,
}

/// The reason why a document is refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("the members are of cluster {theirs}, and this process is of cluster {ours}")]
    Cluster { theirs: ClusterName, ours: ClusterName },
    #[error("the members have drift {theirs}, and this process has drift {ours}")]
    Drift { theirs: Drift, ours: Drift },
    #[error("epoch {number} cannot follow epoch {before} in a members document of this kind")]
    Number { number: u64, before: u64 },
    #[error("the members document follows one epoch 0, and names another epoch 0 as the founding")]
    Founding,
    #[error("the members document sets a fence floor, which only a founding or a recovery may set")]
    Floor,
    #[error("the fence floor is {floor}; at most {max} is allowed")]
    FloorTooHigh { floor: Fence, max: Fence },
    #[error("the members document has {count} members; it must have 1 to {max}")]
    Seats { count: usize, max: usize },
    #[error("the members are not in the order of their names: {name} comes too late, or twice")]
    Order { name: NodeName },
    #[error("the members {first} and {second} have the same state directory")]
    InstanceTwice { first: NodeName, second: NodeName },
    #[error(
        "member {name} must name its state directory, except after an upgrade, where no member may"
    )]
    Instance { name: NodeName },
    #[error("member {name} has {count} addresses; at most {max} are allowed")]
    Hosts { name: NodeName, count: usize, max: usize },
    #[error("member {name} has the address {host}, at which no single process can be reached")]
    Unreachable { name: NodeName, host: HostPort },
    #[error("the members document takes {bytes} bytes; at most {max} are allowed")]
    TooLong { bytes: usize, max: usize },
    #[error(transparent)]
    Quorums(#[from] QuorumTextError),
    #[error("the quorums of the members document are not in the order of names")]
    QuorumOrder,
}

impl DocumentError {
    /// Whether the copy of another member may be without this fault. The digest of an upgraded
    /// document does not cover all parts, so copies of it may differ in the other parts.
    pub(in crate::nerio) const fn is_of_copy(&self, origin: Origin) -> bool {
        let is_outside = matches!(
            self,
            Self::Number { .. }
                | Self::Founding
                | Self::Floor
                | Self::Instance { .. }
                | Self::Hosts { .. }
                | Self::Unreachable { .. }
                | Self::TooLong { .. }
        );
        is_outside && matches!(origin, Origin::Upgraded)
    }
}

impl Seat {
    /// Maximum number of hosts of a seat.
    pub const HOSTS_MAX: usize = 4;
}

impl Document {
    /// Maximum number of bytes of a document on the wire and on the disk.
    pub const BYTES_MAX: usize = 8_192;
    /// The highest number: a recovery skips [many](Self::RECOVERY_STEP) numbers.
    pub const NUMBER_MAX: u64 = 1 << 52;
    /// The highest floor: the last number that is exact in JSON.
    pub const FLOOR_MAX: Fence = Fence::new((1 << 53) - 1);

    /// The document of epoch 0 that these settings describe.
    #[must_use]
    pub fn of_line(config: &Config) -> Self {
        let seat = |member: &Member| Seat {
            name: member.name.clone(),
            instance: None,
            hosts: alloc::vec![member.address.clone()],
        };
        let mut seats: Vec<_> = config.members.iter().map(seat).collect();
        seats.sort_unstable_by(|one, two| one.name.cmp(&two.name));
        // Cannot fail: the text of checked settings is short enough and has no control characters.
        let quorums = Text::new(&config.quorums.canonical(&config.names())).unwrap_or_default();
        Self {
            cluster: config.cluster.clone(),
            number: 0,
            before: EpochId::NONE,
            founding: 0,
            origin: Origin::Upgraded,
            drift: config.drift,
            seats,
            quorums,
            floor: Fence::NONE,
        }
    }

    /// The name of the epoch in datagrams.
    #[must_use]
    pub fn id(&self) -> EpochId {
        let digest = match self.origin {
            Origin::Upgraded => {
                settings_digest(&self.cluster, &self.names(), self.quorums.as_str(), self.drift)
            }
            Origin::Founded | Origin::Changed | Origin::Recovered => self.digest(),
        };
        EpochId { number: self.number, digest }
    }

    fn digest(&self) -> u64 {
        let mut covered = Covered::default();
        covered.text(ENCODING);
        covered.text(self.cluster.as_str());
        for number in [self.number, self.before.number, self.before.digest, self.founding] {
            covered.number(number);
        }
        covered.bytes(&[self.origin as u8]);
        covered.bytes(&self.drift.parts_per_billion().to_le_bytes());
        covered.count(self.seats.len());
        for Seat { name, instance, hosts } in &self.seats {
            covered.text(name.as_str());
            covered.bytes(&instance.map_or(0, |instance| instance.0).to_le_bytes());
            covered.count(hosts.len());
            for host in hosts {
                covered.text(&host.to_string());
            }
        }
        covered.text(self.quorums.as_str());
        covered.number(self.floor.number());
        covered.digest(KEYS)
    }

    /// The names of the members, ascending.
    #[must_use]
    pub fn names(&self) -> Vec<NodeName> {
        self.seats.iter().map(|seat| seat.name.clone()).collect()
    }

    /// Accepts a document from elsewhere, and returns its quorum system over the positions of its
    /// seats. The sender may have any settings.
    pub fn check(&self, cluster: &ClusterName, drift: Drift) -> Result<Quorums, DocumentError> {
        if self.cluster != *cluster {
            let theirs = self.cluster.clone();
            return Err(DocumentError::Cluster { theirs, ours: cluster.clone() });
        }
        if self.drift != drift {
            return Err(DocumentError::Drift { theirs: self.drift, ours: drift });
        }
        self.check_number()?;
        self.check_seats()?;
        let (bytes, max) = (wire::length(self), Self::BYTES_MAX);
        if bytes > max {
            return Err(DocumentError::TooLong { bytes, max });
        }
        let names = self.names();
        let quorums = Quorums::of_document(self.quorums.as_str(), &names)?;
        if quorums.canonical(&names) != self.quorums.as_str() {
            return Err(DocumentError::QuorumOrder);
        }
        Ok(quorums)
    }

    fn check_number(&self) -> Result<(), DocumentError> {
        let Self { number, before, founding, .. } = *self;
        let follows = match self.origin {
            Origin::Founded | Origin::Upgraded => number == 0 && before == EpochId::NONE,
            Origin::Changed => number.checked_sub(1) == Some(before.number),
            Origin::Recovered => number > before.number,
        };
        if !follows || number > Self::NUMBER_MAX {
            return Err(DocumentError::Number { number, before: before.number });
        }
        // In epoch 0 both digests are 0. In the epoch that follows, both are the digest of epoch 0.
        if before.number == 0 && founding != before.digest {
            return Err(DocumentError::Founding);
        }
        if number > 0 && before == EpochId::NONE {
            return Err(DocumentError::Number { number, before: before.number });
        }
        let sets_floor = matches!(self.origin, Origin::Founded | Origin::Recovered);
        if !sets_floor && self.floor != Fence::NONE {
            return Err(DocumentError::Floor);
        }
        if self.floor > Self::FLOOR_MAX {
            return Err(DocumentError::FloorTooHigh { floor: self.floor, max: Self::FLOOR_MAX });
        }
        Ok(())
    }

    fn check_seats(&self) -> Result<(), DocumentError> {
        let (count, max) = (self.seats.len(), Config::MEMBERS_MAX);
        if !(1..=max).contains(&count) {
            return Err(DocumentError::Seats { count, max });
        }
        for (nth, seat) in self.seats.iter().enumerate() {
            let name = seat.name.clone();
            let earlier = &self.seats[..nth];
            if earlier.last().is_some_and(|before| before.name >= name) {
                return Err(DocumentError::Order { name });
            }
            if seat.instance.is_none() != (self.origin == Origin::Upgraded) {
                return Err(DocumentError::Instance { name });
            }
            let same = |other: &&Seat| seat.instance.is_some() && other.instance == seat.instance;
            if let Some(first) = earlier.iter().find(same).map(|first| first.name.clone()) {
                return Err(DocumentError::InstanceTwice { first, second: name });
            }
            let (count, max) = (seat.hosts.len(), Seat::HOSTS_MAX);
            if count > max {
                return Err(DocumentError::Hosts { name, count, max });
            }
            if let Some(host) = seat.hosts.iter().find(|host| !host.is_one_process()) {
                return Err(DocumentError::Unreachable { name, host: host.clone() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

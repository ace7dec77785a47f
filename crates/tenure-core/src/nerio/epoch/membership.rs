//! The membership of an epoch.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::super::config::Config;
use super::super::identity::Instance;
use super::super::quorum::{MemberSet, Quorums};
use super::super::words::{Recipient, To};
use super::{Document, DocumentError, EpochId, Seat};
use crate::name::NodeName;

/// The members of one epoch and their quorum system, ready for use: a [`Document`] that was
/// checked. Grantors, candidates and observers count members by position: the place of a name among
/// the names of all members, in ascending order. Positions are the same on every node. A
/// [`MemberSet`] holds positions.
///
/// A membership is apart from the settings of a node ([`Config`]) because
/// section 10.6 replaces it while the node runs. A node begins with the membership that its grantor
/// has written down, or with that of its [settings](super::super::Checked::membership). A node
/// without a grantor learns the latest membership from members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    id: EpochId,
    document: Arc<Document>,
    names: Vec<NodeName>,
    quorums: Quorums,
}

/// The hash covers the id alone, which determines the rest: the model check in `tenure-sim` hashes
/// a node for each state.
impl Hash for Membership {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl Membership {
    /// `quorums` are over the seats of `document`.
    pub(in crate::nerio) fn new(document: impl Into<Arc<Document>>, quorums: Quorums) -> Self {
        let document = document.into();
        Self { id: document.id(), names: document.names(), document, quorums }
    }

    /// The membership of a document that was read from a member or from the disk, if the document
    /// fits the settings.
    pub fn read(document: Arc<Document>, config: &Config) -> Result<Arc<Self>, DocumentError> {
        let quorums = document.check(&config.cluster, config.drift)?;
        Ok(Arc::new(Self::new(document, quorums)))
    }

    /// The name of the epoch in datagrams.
    #[must_use]
    pub const fn id(&self) -> EpochId {
        self.id
    }

    /// The document of the epoch.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The document for a record; `None` if it is too long for the disk.
    pub(in crate::nerio) fn record(&self) -> Option<Arc<Document>> {
        self.document.encode().map(|_| Arc::clone(&self.document))
    }

    /// Digest of the document of epoch 0, by which nodes recognize their cluster.
    #[must_use]
    pub fn founding(&self) -> u64 {
        if self.id.number == 0 { self.id.digest } else { self.document.founding }
    }

    /// The quorum system of the members.
    #[must_use]
    pub const fn quorums(&self) -> &Quorums {
        &self.quorums
    }

    /// All members.
    #[must_use]
    pub const fn everyone(&self) -> MemberSet {
        self.quorums.everyone()
    }

    /// The names of the members in the order of positions.
    #[must_use]
    pub fn names(&self) -> &[NodeName] {
        &self.names
    }

    /// The name of the member at this position.
    #[must_use]
    pub fn name(&self, position: usize) -> &NodeName {
        &self.names[position]
    }

    /// The names of these members.
    pub(in crate::nerio) fn named<T: From<NodeName>>(&self, set: MemberSet) -> Vec<T> {
        set.iter().map(|member| self.name(member).clone().into()).collect()
    }

    /// The position of the member with this name.
    #[must_use]
    pub fn position(&self, name: &NodeName) -> Option<usize> {
        self.names.iter().position(|member| member == name)
    }

    /// The memory that the document names for the member at this position, if it names any.
    #[must_use]
    pub fn instance(&self, position: usize) -> Option<Instance> {
        self.document.seats.get(position)?.instance
    }

    /// The seat with this name.
    #[must_use]
    pub fn seat(&self, name: &NodeName) -> Option<&Seat> {
        self.document.seats.iter().find(|seat| seat.name == *name)
    }

    /// The destination of messages for the member at this position.
    #[must_use]
    pub fn to(&self, position: usize) -> To {
        let recipient = Recipient::Member(self.name(position).clone());
        To { epoch: self.id, number: self.number(position), recipient }
    }

    /// The number by which datagrams name the member at this position: its position, counted from
    /// 1; see [`wire`](super::super::wire). 0 if there is no such member.
    #[must_use]
    pub fn number(&self, position: usize) -> u8 {
        let is_member = position < self.names.len();
        if is_member { u8::try_from(position + 1).unwrap_or(0) } else { 0 }
    }
}

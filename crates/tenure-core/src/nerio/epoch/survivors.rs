//! The epoch that an operator begins when the members that are left are no quorum.
//!
//! A quorum of the epoch decides on its successor, so without a quorum the members never change
//! again. The operator names the members that never come back, and declares that no process leads
//! any more. From the document of its epoch, each member that is left makes the same document, of
//! [recovered](Origin::Recovered) origin. Then the member enters the new epoch without an answer of
//! other members.
//!
//! Rules, by the numbers that tests and patches cite, each with the trace that refutes a simpler
//! rule:
//!
//! - 2.12.1: *Members that are a quorum begin no such epoch*, because they can change without an
//!   operator. For example, a of the members a to c is only cut off, but an operator declares that
//!   a is lost. Member b begins the epoch of b and c. Before c hears of that epoch, c and a elect
//!   another leader in the earlier epoch.
//! - 2.12.2: *The number is far above that of the epoch.* The members are a to d. Members a, b and
//!   c decide on a successor without d, and are lost. Member d begins its own epoch. If it had the
//!   same number, and the machine of a came back, neither epoch would follow the other. No
//!   candidate would move between them.
//! - 2.12.3: *A member keeps its memory.* Each member makes the new document from that of its epoch
//!   alone. If c began another memory, the document that d makes would not name that memory for c.
//! - 2.12.4: *Grants are void, and the start waits.* p leads by grants of a and b, which are lost,
//!   and c has granted nothing. Without a wait c would elect q.
//! - 2.12.5: *The floor is in the directories, not in the document.* An operator recovers d with a
//!   floor. Then c turns out to have promised fences above that floor, and the operator gives both
//!   a higher floor. If the floor were in the document, c and d would be in two epochs of one
//!   number.
//! - 2.12.6: *A memory that accepted an epoch without it is no survivor.* The members are a to d.
//!   Members a, c and d decide that c gets another memory. Then a, b and d are lost. An operator
//!   recovers the old directory of c, and the new directory of c as well. If the old memory were a
//!   survivor, both would elect.

use alloc::vec::Vec;

use super::super::quorum::{MemberSet, Quorums};
use super::{Document, DocumentError, Origin};
use crate::fence::Fence;
use crate::name::{NodeName, Text};

/// The reason why members that are left begin no epoch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SurvivorsError {
    #[error("{name} is no member of epoch {number}")]
    NoMember { name: NodeName, number: u64 },
    /// The members that are left are a quorum, and can decide on a change without an operator.
    #[error("the members of epoch {number} that are not lost are a quorum")]
    Quorum { number: u64, left: Vec<NodeName> },
    /// The members that are left, or their quorum system, make no valid document.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl Document {
    /// The distance between the number of an epoch and that of its survivors. Members that are lost
    /// may have decided on later epochs, at most some tens an hour.
    pub const RECOVERY_STEP: u64 = 1_000_000;

    /// The document of a new epoch, in which the members go on without the `lost` members, with
    /// these quorums, or with the present quorum system. Each survivor makes the same document.
    pub fn survivors(
        &self,
        lost: &[NodeName],
        quorums: Option<&Text>,
    ) -> Result<Self, SurvivorsError> {
        let (names, number) = (self.names(), self.number);
        let position = |name: &NodeName| {
            let of = names.iter().position(|member| member == name);
            of.ok_or_else(|| SurvivorsError::NoMember { name: name.clone(), number })
        };
        let lost = lost.iter().map(position).collect::<Result<MemberSet, _>>()?;
        let left = MemberSet::first(names.len()).minus(lost);
        let of_epoch = Quorums::of_document(self.quorums.as_str(), &names);
        if of_epoch.map_err(DocumentError::from)?.is_quorum(left) {
            let left = left.iter().map(|member| names[member].clone()).collect();
            return Err(SurvivorsError::Quorum { number, left });
        }
        let seats: Vec<_> = left.iter().map(|member| self.seats[member].clone()).collect();
        let text = quorums.unwrap_or(&self.quorums);
        let names: Vec<_> = seats.iter().map(|seat| seat.name.clone()).collect();
        let quorums = Quorums::of_document(text.as_str(), &names).map_err(DocumentError::from)?;
        let next = Self {
            number: number.saturating_add(Self::RECOVERY_STEP),
            before: self.id(),
            founding: if number == 0 { self.id().digest } else { self.founding },
            origin: Origin::Recovered,
            seats,
            // Cannot fail: the text names fewer members than before.
            quorums: Text::new(&quorums.canonical(&names)).unwrap_or_default(),
            floor: Fence::NONE,
            ..self.clone()
        };
        next.check(&self.cluster, self.drift)?;
        Ok(next)
    }
}

//! The memories that answer for the seats of an epoch.
//!
//! The seats of an upgraded epoch name no memories. If a directory was lost before the upgrade, two
//! memories of one member may live: the process with the old memory may only be cut off. A decision
//! must not use the answers of both (T10). Otherwise member a and the old memory of c accept S,
//! while b and the new memory of c accept T. A member that has written the new memory down denies
//! the old one, and every quorum has such a member.

use super::super::by_member::ByMember;
use super::super::identity::{Instance, Mark};
use super::super::quorum::MemberSet;
use super::super::roster::replaced;
use super::{Acceptor, Membership};

/// The memories whose answers are used, at most one for each member.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(in crate::nerio) struct Witnesses(ByMember<Acceptor>);

impl Witnesses {
    /// The memory whose answer is used for the seat; `None` if the document names the memory.
    pub(in crate::nerio) fn of(&self, member: usize) -> Option<&Acceptor> {
        self.0.get(member)
    }

    /// Takes an answer of `acceptor` for the seat at position `member`. Returns `None` if the
    /// caller must ignore the answer, otherwise the members whose earlier answers it must forget.
    pub(in crate::nerio) fn hear(
        &mut self,
        membership: &Membership,
        member: usize,
        acceptor: &Acceptor,
    ) -> Option<MemberSet> {
        if let Some(seat) = membership.instance(member) {
            return (seat == acceptor.instance).then_some(MemberSet::EMPTY);
        }
        if self.0.get(member).is_some_and(|known| known.instance != acceptor.instance) {
            return None;
        }
        self.0.insert(member, acceptor.clone());
        let words = self.0.iter().map(|(member, Acceptor { instance, memories })| {
            let marks: &[Mark] = memories;
            let word: (usize, Instance, &[Mark]) = (*member, *instance, marks);
            word
        });
        let denied = replaced(words).map_or(MemberSet::EMPTY, |(members, _)| members);
        if denied.contains(member) {
            self.0.remove(member);
            return None;
        }
        for other in denied.iter() {
            self.0.remove(other);
        }
        Some(denied)
    }
}

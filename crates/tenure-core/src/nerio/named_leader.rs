//! The leadership that grants name: one rule for observers and for lists.

use super::identity::Who;
use super::quorum::Quorums;
use crate::fence::Fence;
use crate::time::Time;

/// A reported grant that is still believed to be live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveGrant<'a> {
    pub member: usize,
    /// Earliest end of the grant.
    pub until: Time,
    pub who: &'a Who,
    /// Fence of the holder's leadership, if announced.
    pub fence: Option<Fence>,
}

impl LiveGrant<'_> {
    /// Whether the grant belongs to this leadership.
    #[must_use]
    pub fn is_of(&self, who: &Who, fence: Fence) -> bool {
        self.who == who && self.fence == Some(fence)
    }
}

/// The leadership that a quorum of `grants` names, and its end unless it renews. All `grants` must
/// be live at one instant. Allocates nothing, because observers call this for every answer.
pub fn leadership<'a>(
    grants: impl Iterator<Item = LiveGrant<'a>> + Clone,
    quorums: &Quorums,
) -> Option<(&'a Who, Fence, Time)> {
    // Usually all grants name the same incarnation and fence, so the first grant decides.
    let mut announced = grants.clone().filter_map(|grant| Some((grant.who, grant.fence?)));
    announced.find_map(|(who, fence)| {
        let alike = grants.clone().filter(|grant| grant.is_of(who, fence));
        let ends = alike.map(|grant| (grant.until, grant.member));
        let (_, until) = quorums.longest(ends)?;
        Some((who, fence, until))
    })
}

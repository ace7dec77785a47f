//! Whom grants name: one rule for those who observe an election and for lists of many.

use super::identity::Who;
use super::quorum::Quorums;
use crate::fence::Fence;
use crate::time::Time;

/// What one member said that it has granted, as it is still believed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveGrant<'a> {
    /// Which member, by its position.
    pub member: usize,
    /// Until when at least.
    pub until: Time,
    /// Who holds it.
    pub who: &'a Who,
    /// The fence of its leadership, if it has announced one.
    pub fence: Option<Fence>,
}

impl LiveGrant<'_> {
    /// Whether it is of this leadership.
    #[must_use]
    pub fn is_of(&self, who: &Who, fence: Fence) -> bool {
        self.who == who && self.fence == Some(fence)
    }
}

/// The leadership that a quorum of `grants` names, and until when unless it renews. They must all
/// be live at one instant. Nothing is allocated: observers ask with every answer.
pub fn leadership<'a>(
    grants: impl Iterator<Item = LiveGrant<'a>> + Clone,
    quorums: &Quorums,
) -> Option<(&'a Who, Fence, Time)> {
    // Mostly all of them name one incarnation and one fence: the first shows it.
    let mut announced = grants.clone().filter_map(|grant| Some((grant.who, grant.fence?)));
    announced.find_map(|(who, fence)| {
        let alike = grants.clone().filter(|grant| grant.is_of(who, fence));
        let ends = alike.map(|grant| (grant.until, grant.member));
        let (_, until) = quorums.longest(ends)?;
        Some((who, fence, until))
    })
}

//! What an application holds of a leadership: the claim, run as it ships.

use tenure_core::{Claim, Fence, Time};

/// The handle of the present leadership of one election at one node. A driver raises and lowers
/// its claim, an application asks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handle(Option<(Fence, Claim)>);

impl Handle {
    /// The driver raises the claim at `now`: the end that it has then, or `None` where it has
    /// lapsed or is over, so that the driver resigns. Another fence is another leadership.
    pub(crate) fn raise(&mut self, now: Time, fence: Fence, until: Time) -> Option<Time> {
        let claim = match self.claim(fence) {
            Some(claim) => claim.raised(now, until)?,
            None => Claim::new(until),
        };
        self.0 = Some((fence, claim));
        Some(claim.until())
    }

    /// The driver lowers the claim.
    pub(crate) fn lower(&mut self) {
        self.0 = self.0.map(|(fence, _)| (fence, Claim::OVER));
    }

    /// The leadership has ended: what comes is another one, even with the fence of this one, as
    /// after a restore of a store.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// The fence with which the application finds itself the leader at `now`.
    pub(crate) fn leads(&self, now: Time) -> Option<Fence> {
        self.0.filter(|(_, claim)| claim.holds(now)).map(|(fence, _)| fence)
    }

    /// Whether the leadership with this fence was over at `at` already.
    pub(crate) fn has_lapsed(&self, fence: Fence, at: Time) -> bool {
        self.claim(fence).is_some_and(|claim| !claim.holds(at))
    }

    fn claim(&self, fence: Fence) -> Option<Claim> {
        self.0.filter(|(own, _)| *own == fence).map(|(_, claim)| claim)
    }
}

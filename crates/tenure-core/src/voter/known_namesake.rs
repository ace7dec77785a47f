//! Signs of another process with the id of this voter (V10), as `node/namesake.rs` finds them.

use core::time::Duration;

use super::identity::VoterUrl;
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Namesake {
    pub(super) mixed: Option<Time>,
    url: Option<VoterUrl>,
    heard: Time,
    /// The first time at which another voter reported that this run has ended.
    told_over: Option<Time>,
}

impl Namesake {
    pub(super) fn meet(&mut self, url: &VoterUrl, now: Time, other_identity: bool) {
        if other_identity {
            self.mixed = Some(now);
        }
        (self.url, self.heard) = (Some(url.clone()), now);
    }

    /// The address of the other process, if it was heard recently.
    pub(super) fn url(&self, now: Time, lately: Duration) -> Option<&VoterUrl> {
        self.url.as_ref().filter(|_| now.since(self.heard) <= lately)
    }

    /// Notes another voter's report that it has heard a later run of this voter. Returns whether
    /// the report shows a second process: a late message of an earlier run causes only one report.
    pub(super) fn is_told_again(
        &mut self,
        now: Time,
        heartbeat: Duration,
        lately: Duration,
    ) -> bool {
        match self.told_over.map(|at| now.since(at)).filter(|since| *since <= lately) {
            Some(since) if since < heartbeat => false,
            since => {
                self.told_over = Some(now);
                since.is_some()
            }
        }
    }
}

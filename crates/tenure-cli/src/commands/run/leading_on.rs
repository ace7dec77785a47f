//! A process that must end keeps leading until another process leads.

use std::rc::Rc;
use std::time::Duration;

use tenure::{Time, clock};

use super::runner::Runner;
use crate::protocol::{Class, Later};

/// Interval of the checks for another leader.
const LOOK: Duration = Duration::from_millis(100);

/// The time for the new leader's CMD to begin its work, after the leader was seen.
const BEGINS: Duration = Duration::from_secs(2);

impl<K: Class> Runner<K> {
    /// Waits until another process begins to lead, and then for [`BEGINS`]. An earlier leader does
    /// not count, because it may be about to end, like this process. Also resolves when no other
    /// process could lead.
    pub(super) fn follower(&self) -> Later<'static, ()> {
        let participant = Rc::clone(&self.participant);
        let since = clock::now();
        let election = self.election.clone();
        let name = self.role.part.election.clone();
        let reporter = self.reporter.clone();
        Box::pin(async move {
            let Some(roles) = participant.roles() else { return };
            // An active observation keeps all leaders known.
            let _observed = election.observe();
            let before = roles.others_that_lead(&name, Time::ZERO).await;
            if !roles.could_be_followed(&name).await {
                return;
            }
            reporter.leads_on();
            while roles.others_that_lead(&name, since).await.is_subset(&before) {
                tokio::time::sleep(LOOK).await;
                // The likely successor may have got a signal to end, too.
                if !roles.could_be_followed(&name).await {
                    return;
                }
            }
            tokio::time::sleep(BEGINS).await;
        })
    }
}

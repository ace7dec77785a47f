//! Leading on while the process is to end, until another one leads.

use std::rc::Rc;
use std::time::Duration;

use tenure::{Time, clock};

use super::runner::Runner;
use crate::protocol::{Class, Later};

/// How often it is looked whether another one leads.
const LOOK: Duration = Duration::from_millis(100);

/// How long the other one's CMD may take to begin its work after it was said that it leads.
const BEGINS: Duration = Duration::from_secs(2);

impl<K: Class> Runner<K> {
    /// Waits until a process leads that did not lead before, and a moment more: a process that did
    /// may only lead on, as this one does. Ends when no other process is left that could lead.
    pub(super) fn follower(&self) -> Later<'static, ()> {
        let participant = Rc::clone(&self.participant);
        let since = clock::now();
        let election = self.election.clone();
        let name = self.role.part.election.clone();
        let reporter = self.reporter.clone();
        Box::pin(async move {
            let Some(roles) = participant.roles() else { return };
            // The observation makes all leaders known.
            let _observed = election.observe();
            let before = roles.others_that_lead(&name, Time::ZERO).await;
            if !roles.could_be_followed(&name).await {
                return;
            }
            reporter.leads_on();
            while roles.others_that_lead(&name, since).await.is_subset(&before) {
                tokio::time::sleep(LOOK).await;
                // The process that was to follow may have been told to end, too.
                if !roles.could_be_followed(&name).await {
                    return;
                }
            }
            tokio::time::sleep(BEGINS).await;
        })
    }
}

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
    /// Whether it is of use to lead on.
    pub(super) async fn could_be_followed(&self) -> bool {
        self.participant.could_be_followed(&self.role.part.election).await
    }

    /// Waits until one leads that did not lead before, and a moment more: one that did may only
    /// lead on, as this one does.
    pub(super) fn follower(&self) -> Later<'static, ()> {
        let (participant, since) = (Rc::clone(&self.participant), clock::now());
        let (election, name) = (self.election.clone(), self.role.part.election.clone());
        Box::pin(async move {
            // While somebody looks, all that lead are heard of.
            let _observed = election.observe();
            let before = participant.others_that_lead(&name, Time::ZERO).await;
            while participant.others_that_lead(&name, since).await.is_subset(&before) {
                tokio::time::sleep(LOOK).await;
            }
            tokio::time::sleep(BEGINS).await;
        })
    }
}

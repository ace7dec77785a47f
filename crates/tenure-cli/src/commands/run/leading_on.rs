//! Leading on while the process is to end, until another one leads.

use std::rc::Rc;
use std::time::Duration;

use tenure::clock;

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

    /// Waits until another one leads, and a moment more.
    pub(super) fn follower(&self) -> Later<'static, ()> {
        let (participant, since) = (Rc::clone(&self.participant), clock::now());
        let (election, name) = (self.election.clone(), self.role.part.election.clone());
        Box::pin(async move {
            // While somebody looks, all that lead are heard of.
            let _observed = election.observe();
            while !participant.is_followed(&name, since).await {
                tokio::time::sleep(LOOK).await;
            }
            tokio::time::sleep(BEGINS).await;
        })
    }
}

//! Verifications on the driver's side.

use std::collections::BTreeMap;

use tenure_core::nerio::Who;
use tenure_core::{ElectionName, Fence, Time};
use tokio::sync::oneshot;

/// The answer to a verification.
pub(super) enum Proof {
    Leads { who: Who, until: Time, fence: Option<Fence> },
    DoesNotLead { by: Who },
}

/// Those who wait for an answer, by election.
#[derive(Default)]
pub(super) struct Proofs {
    waiting: BTreeMap<ElectionName, Vec<oneshot::Sender<Proof>>>,
}

impl Proofs {
    /// Somebody wants to know whether a leader leads.
    pub(super) fn wait(&mut self, election: &ElectionName, reply: oneshot::Sender<Proof>) {
        let waiting = self.waiting.entry(election.clone()).or_default();
        waiting.retain(|reply| !reply.is_closed());
        waiting.push(reply);
    }

    /// It does.
    pub(super) fn verified(
        &mut self,
        election: &ElectionName,
        who: &Who,
        until: Time,
        fence: Option<Fence>,
    ) {
        for reply in self.waiting.remove(election).unwrap_or_default() {
            let _ = reply.send(Proof::Leads { who: who.clone(), until, fence });
        }
    }

    /// It does not.
    pub(super) fn not_verified(&mut self, election: &ElectionName, by: &Who) {
        for reply in self.waiting.remove(election).unwrap_or_default() {
            let _ = reply.send(Proof::DoesNotLead { by: by.clone() });
        }
    }
}

use tenure_core::Time;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Readings: a new leader sends its fence to the grantors at once, so that observers learn of it
/// before its next renewal.
#[derive(Debug, Default)]
pub(super) struct LeadersAreAnnounced {
    /// The election of each node's unannounced leadership.
    owes: Vec<Option<usize>>,
    /// Start of the node's last request in each election: each request has its own Start, so a
    /// second request at the same instant comes a nanosecond later.
    asked: Vec<Vec<Time>>,
}

impl Property<QuorumLeases> for LeadersAreAnnounced {
    const NAME: &'static str = "A leader announces its fence at once";
    const SOURCE: &'static str = "readings";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.owes = vec![None; plan.nodes.len()];
        self.asked = vec![vec![Time::ZERO; plan.elections.len()]; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Elected { node, election, decided, read, .. } => {
                // A leader that slept after its decision may have asked at the same instant: then
                // it owes no request.
                let at_once = decided == check.now;
                let may_ask = at_once && self.asked[node][election] < read;
                self.owes[node] = may_ask.then_some(election);
            }
            Fact::Crashed { node } => {
                self.owes[node] = None;
                self.asked[node].fill(Time::ZERO);
            }
            Fact::Ended { node, election, .. } => {
                self.owes[node].take_if(|owed| *owed == election);
            }
            Fact::Own(Own::Requests { node, election, request }) => {
                self.asked[node][election] = request.start;
                if request.announced.is_some() {
                    self.owes[node].take_if(|owed| *owed == election);
                }
            }
            Fact::Handled { node, .. } => {
                if let Some(election) = self.owes[node].take() {
                    return Err(format!(
                        "{} leads {}, and does not tell the grantors",
                        check.name(node),
                        check.plan.elections[election]
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

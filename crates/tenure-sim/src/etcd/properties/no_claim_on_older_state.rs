use std::collections::BTreeMap;

use tenure_core::etcd::{CallId, Op, Reply, Revision};

use super::{Court, Fact, Plan, Property};

/// A linearizable answer below the highest revision that was known when it was asked comes from a
/// store that went back: no claim is raised on it.
#[derive(Debug)]
pub(super) struct NoClaimOnOlderState {
    nodes: Vec<Known>,
}

/// What one life knows.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The highest revision that it has heard of.
    seen: Revision,
    /// What that was when it sent each transaction that is not answered yet.
    floors: BTreeMap<CallId, Revision>,
    /// The answer that it handles now, if that is below its floor: both revisions.
    back: Option<(Revision, Revision)>,
    /// Whether what it handles now is an answer.
    answers: bool,
}

impl Property for NoClaimOnOlderState {
    const NAME: &'static str = "No claim stands on a store that went back";
    const SOURCE: &'static str = "ruling 7 (E6)";

    fn new(plan: &Plan) -> Self {
        Self { nodes: vec![Known::default(); plan.nodes.len()] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        if !court.plan.restores {
            return Ok(());
        }
        match fact {
            Fact::Started { node, .. } => self.nodes[*node] = Known::default(),
            Fact::Sent { node, request, .. } => {
                let known = &mut self.nodes[*node];
                if let Op::Txn(_) = request.op {
                    known.floors.insert(request.call, known.seen);
                }
            }
            Fact::Heard { node, answer } => {
                let known = &mut self.nodes[*node];
                (known.answers, known.back) = (true, None);
                let floor = known.floors.remove(&answer.call);
                let Some(header) = answer.header else { return Ok(()) };
                if let (Reply::Txn { .. }, Some(floor)) = (&answer.reply, floor)
                    && header.revision < floor
                {
                    known.back = Some((header.revision, floor));
                    known.seen = header.revision;
                }
                known.seen = known.seen.max(header.revision);
            }
            Fact::Handled { node, .. } => {
                let known = &mut self.nodes[*node];
                if !std::mem::take(&mut known.answers) {
                    known.back = None;
                }
            }
            Fact::Claimed { node, election, fence, .. } => {
                let Some((revision, floor)) = self.nodes[*node].back else { return Ok(()) };
                return Err(format!(
                    "{} leads {} with fence {fence} because of an answer at revision {revision}; \
                     it had asked at {floor}",
                    court.name(*node),
                    court.election(*election),
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

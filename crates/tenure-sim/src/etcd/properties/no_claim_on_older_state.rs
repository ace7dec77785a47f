use std::collections::BTreeMap;

use tenure_core::etcd::{CallId, LeaseId, Op, Reply, Revision};

use super::lives::Lives;
use super::{Check, Claim, Elections, Fact, Own, Property};

/// A linearizable answer below the highest revision known at its request comes from a store that
/// went back. The core raises no claim on such an answer, and relies on no earlier lease.
#[derive(Debug, Default)]
pub(super) struct NoClaimOnOlderState {
    nodes: Lives<Life>,
}

/// Answers and requests of one life.
#[derive(Debug, Default)]
struct Life {
    /// Highest known revision, from answers that the core awaited, and its value before the present
    /// answer. Watches are left out: the core may have given them up.
    seen: Revision,
    before: Revision,
    /// Highest known revision at the send of each unanswered request.
    floors: BTreeMap<CallId, Revision>,
    /// Revision and floor of the present answer, if the revision is below the floor.
    back: Option<(Revision, Revision)>,
    /// Whether the present input is an answer.
    answers: bool,
    /// The lease that carries the life's keys.
    lease: Option<LeaseId>,
    /// Complaint about the present answer, dropped if the core was not waiting for that answer.
    keeps: Option<String>,
}

impl Property<Elections> for NoClaimOnOlderState {
    const NAME: &'static str = "No claim stands on a store that went back";
    const SOURCE: &'static str = "ruling 7 (E6)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.nodes.see(fact);
        if !check.plan.own.restores {
            return Ok(());
        }
        match fact {
            Fact::Own(Own::Sent { node, request, .. }) => {
                let known = &mut self.nodes[node];
                if !matches!(request.op, Op::Watch { .. } | Op::Unwatch { .. }) {
                    known.floors.insert(request.call, known.seen);
                }
            }
            Fact::Own(Own::Heard { node, answer }) => {
                let known = &mut self.nodes[node];
                known.answers = true;
                known.back = None;
                known.before = known.seen;
                let floor = known.floors.remove(&answer.call);
                let (Some(header), Some(floor)) = (answer.header, floor) else { return Ok(()) };
                if header.revision < floor && matches!(answer.reply, Reply::Txn { .. }) {
                    known.back = Some((header.revision, floor));
                    known.seen = header.revision;
                }
                known.seen = known.seen.max(header.revision);
            }
            Fact::Own(Own::Unasked { node }) => {
                let known = &mut self.nodes[node];
                known.seen = known.before;
                known.keeps = None;
            }
            Fact::Handled { node, core, .. } => {
                let known = &mut self.nodes[node];
                if let Some(keeps) = known.keeps.take() {
                    return Err(format!("{} {keeps}", check.name(node)));
                }
                let lease = std::mem::replace(&mut known.lease, core.lease());
                if !std::mem::take(&mut known.answers) {
                    known.back = None;
                }
                if let Some((revision, floor)) = known.back
                    && let Some(lease) = lease.filter(|_| lease == known.lease)
                {
                    known.keeps = Some(format!(
                        "counts on lease {lease} after an answer at revision {revision} to what \
                         it had asked at {floor}"
                    ));
                }
            }
            Fact::Claimed(Claim { node, election, fence: Some(fence), .. }) => {
                let Some((revision, floor)) = self.nodes[node].back else { return Ok(()) };
                return Err(format!(
                    "{} leads {} with fence {fence} because of an answer at revision {revision}; \
                     it had asked at {floor}",
                    check.name(node),
                    check.election(election),
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

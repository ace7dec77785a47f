use std::collections::VecDeque;

use tenure_core::etcd::{Act, Bytes, Change, Compare, Op, Reply, Revision};

use super::{Check, Elections, Fact, Own, Plan, Property};
use crate::etcd::store::note::Note;

/// A departure wakes at most one other candidate with a key; this candidate reads again.
#[derive(Debug, Default)]
pub(super) struct OneWakeUp {
    /// Deletions about which each node is learning.
    hearing: Vec<Vec<(Bytes, Revision)>>,
    /// Whether the present input of each node is an answer.
    answers: Vec<bool>,
    /// Recent reads: the deleted key, its revision, the node that read, and that node's key.
    woken: VecDeque<(Bytes, Revision, usize, Bytes)>,
}

impl Property<Elections> for OneWakeUp {
    const NAME: &'static str = "One departure wakes at most one other";
    const SOURCE: &'static str = "ruling 1";

    fn begin(&mut self, plan: &Plan) {
        let nodes = plan.nodes.len();
        let hearing = vec![Vec::new(); nodes];
        let answers = vec![false; nodes];
        *self = Self { hearing, answers, woken: VecDeque::new() };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let hearing = &mut self.hearing[node];
                hearing.clear();
                self.answers[node] = true;
                let Reply::Changed(changes) = &answer.reply else { return Ok(()) };
                hearing.extend(changes.iter().filter_map(|change| match change {
                    Change::Deleted { key, revision } => Some((key.clone(), *revision)),
                    Change::Put(_) | Change::TooLarge { .. } => None,
                }));
                Ok(())
            }
            Fact::Own(Own::Sent { node, request, .. }) => {
                let Op::Txn(txn) = &request.op else { return Ok(()) };
                let (
                    [Compare::Created { key: own, revision: created }]
                    | [Compare::Created { key: own, revision: created }, Compare::Lease { .. }],
                    // A candidate that deletes its key leaves, and reads nothing.
                    None | Some(Act::Read(_) | Act::Put { .. } | Act::Proclaim { .. }),
                ) = (&txn.when[..], txn.then.first())
                else {
                    return Ok(());
                };
                let is_there =
                    check.records().keys.get(own).is_some_and(|kv| kv.created == *created);
                let Some(election) = check.records().election_of(own).filter(|_| is_there) else {
                    return Ok(());
                };
                let prefix = &check.records().firsts[election].prefix;
                let cause = self.hearing[node].iter().find(|(key, _)| key.starts_with(prefix));
                let Some((key, revision)) = cause.cloned() else { return Ok(()) };
                let other = self.woken.iter().find(|(k, at, who, waiting)| {
                    (k, *at) == (&key, revision) && (*who, waiting) != (node, own)
                });
                if let Some((_, _, other, _)) = other {
                    return Err(format!(
                        "{} and {} both asked because {key} was deleted at {revision}",
                        check.name(*other),
                        check.name(node),
                    ));
                }
                self.woken.push_back((key, revision, node, own.clone()));
                if self.woken.len() > 64 {
                    self.woken.pop_front();
                }
                Ok(())
            }
            // Earlier reads belong to an earlier deletion: after a restore the same revisions come
            // again.
            Fact::Own(Own::Stored(Note::Gone { key, .. })) => {
                self.woken.retain(|(gone, ..)| gone != key);
                Ok(())
            }
            Fact::Own(Own::Stored(Note::Restored { .. })) => {
                self.woken.clear();
                Ok(())
            }
            Fact::Handled { node, .. } => {
                if !std::mem::take(&mut self.answers[node]) {
                    self.hearing[node].clear();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

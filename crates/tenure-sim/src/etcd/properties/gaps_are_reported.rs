use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, CallId, Keys, Op, Reply, Request};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};

/// When an observer has missed what happened, because the history of its watch was compacted, the
/// next that it sees is told, even if that is as before.
#[derive(Debug, Default)]
pub(super) struct GapsAreReported {
    lives: Lives<Life>,
}

/// What one life observes.
#[derive(Debug, Default)]
struct Life {
    watches: BTreeMap<CallId, usize>,
    looks: BTreeMap<CallId, usize>,
    /// The elections of which something was missed.
    missed: BTreeSet<usize>,
    /// Of which of these the answer that came last tells what is.
    seen: Option<usize>,
    /// And that of the input before: what came with that has been told by now.
    told: Option<usize>,
    /// Of which the answer that came last said that something was missed.
    gap: Option<usize>,
}

impl Property<Elections> for GapsAreReported {
    const NAME: &'static str = "A gap is reported";
    const SOURCE: &'static str = "ruling 9 (E8)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Observes { node, election, begins: false } => {
                self.lives[node].missed.remove(&election);
            }
            Fact::Own(Own::Sent { node, request, .. }) => self.lives[node].ask(check, request),
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let life = &mut self.lives[node];
                life.gap = None;
                match answer.reply {
                    Reply::Compacted { .. } => {
                        life.gap = life.watches.remove(&answer.call);
                        life.missed.extend(life.gap);
                    }
                    Reply::Txn { .. } => {
                        let seen = life.looks.remove(&answer.call);
                        life.seen = seen.filter(|election| life.missed.contains(election));
                    }
                    _ => {}
                }
            }
            // And what is missed from now on is not told with that.
            Fact::Viewed { node, election, .. } => {
                let life = &mut self.lives[node];
                life.missed.remove(&election);
                life.told = life.told.filter(|told| *told != election);
            }
            // It did not wait for that any more.
            Fact::Own(Own::Unasked { node }) => {
                let life = &mut self.lives[node];
                if let Some(gap) = life.gap.take() {
                    life.missed.remove(&gap);
                }
                life.told = None;
            }
            // What came with that was told before the next.
            Fact::Handled { node, .. } => {
                let life = &mut self.lives[node];
                let seen = life.seen.take();
                if let Some(election) = std::mem::replace(&mut life.told, seen)
                    && life.missed.contains(&election)
                {
                    return Err(format!(
                        "{} has missed what happened in {}, and does not tell what is",
                        check.name(node),
                        check.election(election),
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Life {
    fn ask(&mut self, check: &Check<'_>, request: &Request) {
        let (keys, asked) = match &request.op {
            // Its driver breaks off a stream that is silent: then that is what is told.
            Op::Unwatch { watch } => {
                self.watches.remove(watch);
                return;
            }
            Op::Watch { keys, .. } => (keys, &mut self.watches),
            Op::Txn(txn) => match &txn.then[..] {
                [Act::Read(read)] => (&read.keys, &mut self.looks),
                _ => return,
            },
            Op::Grant { .. } | Op::KeepAlive { .. } | Op::Revoke { .. } => return,
        };
        if let Keys::Prefix(prefix) = keys
            && let Some(election) = check.records().election_of(prefix)
        {
            asked.insert(request.call, election);
        }
    }
}

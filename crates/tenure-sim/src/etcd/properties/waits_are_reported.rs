use std::collections::BTreeSet;

use tenure_core::Waiting;
use tenure_core::etcd::{Bytes, CallId, Keys, Op};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};

/// A candidate that watches somebody else's key has just said that it waits for that: whatever
/// ended the watch before was told, too.
#[derive(Debug, Default)]
pub(super) struct WaitsAreReported {
    lives: Lives<Life>,
}

/// What one life says.
#[derive(Debug, Default)]
struct Life {
    /// For whom it said last that it waits, and has not begun to watch that since.
    said: Option<Bytes>,
    watches: BTreeSet<CallId>,
}

impl Property<Elections> for WaitsAreReported {
    const NAME: &'static str = "A candidate that watches a key reports that it waits for it";
    const SOURCE: &'static str = "ruling 1";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Waits { node, election, waiting: Waiting::Behind { who, .. } } => {
                self.lives[node].said = Some(Elections::key_of(check.plan, election, who));
                Ok(())
            }
            Fact::Own(Own::Sent { node, request, .. }) => {
                let life = &mut self.lives[node];
                let Op::Watch { keys: Keys::One(key), deletions: true, .. } = &request.op else {
                    return Ok(());
                };
                // Its driver asks for it again, until it is open.
                if !life.watches.insert(request.call) || life.said.take().as_ref() == Some(key) {
                    return Ok(());
                }
                Err(format!("{} watches {key}, and does not say so", check.name(node)))
            }
            _ => Ok(()),
        }
    }
}

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, Answer, CallId, Op, Reply, Request, Revision};

use super::lives::Lives;
use super::{Check, Claimed, Elections, Fact, Own, Property, Records};

/// Whoever leads does so with a key that was made since it campaigns: one of an earlier process or
/// campaign has a fence that is used up. Whoever notices that a backup was restored begins anew
/// with the revision of that.
#[derive(Debug, Default)]
pub(super) struct KeysOfTheirCampaign {
    lives: Lives<Life>,
}

/// What one life knows.
#[derive(Debug, Default)]
struct Life {
    /// The highest revision that it was told of, and what that was before the last answer.
    seen: Revision,
    before: Revision,
    /// And when each campaign began, at the latest.
    since: BTreeMap<usize, Revision>,
    /// Those that the last answer made void, as the first after a restore.
    voided: Option<BTreeMap<usize, Revision>>,
    /// The keys that it asked for, and those that it was told it has made.
    asked: BTreeMap<CallId, usize>,
    /// What it knew when it sent each request that is not answered yet.
    floors: BTreeMap<CallId, Revision>,
    made: BTreeMap<usize, Revision>,
    /// Its watches. What is told of one that is over is dropped by the driver.
    watches: BTreeSet<CallId>,
}

impl Life {
    fn asks(&mut self, request: &Request) {
        match request.op {
            Op::Watch { .. } => drop(self.watches.insert(request.call)),
            Op::Unwatch { watch } => drop(self.watches.remove(&watch)),
            _ => drop(self.floors.insert(request.call, self.seen)),
        }
    }

    /// All that is told of a watch that is over, its end among that.
    fn drops(&self, answer: &Answer) -> bool {
        let is_request = self.floors.contains_key(&answer.call);
        !is_request && !self.watches.contains(&answer.call)
    }
}

impl Property<Elections> for KeysOfTheirCampaign {
    const NAME: &'static str = "A leader's key was made by its campaign";
    const SOURCE: &'static str = "rulings 6 and 8 (E5, E7)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Ended { node, election, .. } => {
                // The next one may begin with that.
                let life = &mut self.lives[node];
                life.since.insert(election, life.seen);
                life.made.remove(&election);
            }
            Fact::Own(Own::Sent { node, request, .. }) => {
                let life = &mut self.lives[node];
                life.asks(request);
                let Op::Txn(txn) = &request.op else { return Ok(()) };
                if let Some(Act::Put { key, .. }) = txn.then.first()
                    && let Some(election) = check.records().election_of(key)
                {
                    life.since.entry(election).or_insert(life.seen);
                    life.asked.insert(request.call, election);
                }
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let life = &mut self.lives[node];
                (life.before, life.voided) = (life.seen, None);
                if life.drops(answer) {
                    return Ok(());
                }
                let floor = life.floors.remove(&answer.call);
                let Some(header) = answer.header else { return Ok(()) };
                let is_txn = matches!(answer.reply, Reply::Txn { .. });
                if is_txn && floor.is_some_and(|floor| header.revision < floor) {
                    life.seen = header.revision;
                    life.voided = Some(std::mem::take(&mut life.since));
                }
                if let Some(election) = life.asked.remove(&answer.call)
                    && matches!(answer.reply, Reply::Txn { succeeded: true, .. })
                {
                    life.made.insert(election, header.revision);
                }
                life.seen = header.revision.max(life.seen);
            }
            Fact::Own(Own::Unasked { node }) => {
                let life = &mut self.lives[node];
                life.seen = life.before;
                if let Some(since) = life.voided.take() {
                    life.since = since;
                }
            }
            // It was decided before its process slept over its end.
            Fact::Claimed(Claimed { until, .. }) if until <= check.now => {}
            Fact::Claimed(Claimed { node, election, fence: Some(fence), .. }) => {
                let created = Records::created(fence);
                let Life { since, made, .. } = &self.lives[node];
                let made = made.get(&election) == Some(&created);
                let since = since.get(&election).filter(|_| !made);
                if let Some(since) = since.filter(|since| created <= **since) {
                    return Err(format!(
                        "{} leads {} with fence {fence}, and knew of revision {since} when it \
                         asked for its key",
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

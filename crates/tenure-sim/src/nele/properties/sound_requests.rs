use std::collections::{BTreeMap, BTreeSet};

use tenure_core::nele::{Change, Kind, Partition, Rebalance, RebalanceId, Report, Request, Target};

use super::{Check, Emergence, Fact, Own, Property};

/// What a process asks for is what it may: it claims a partition that is assigned and read from a
/// known end, once at a time and, after a claim that became void, not at once; it writes to every
/// partition that it is there; and it gives back what is to be revoked, in the same step, and
/// nothing else (rulings 1 to 3, N5).
#[derive(Debug, Default)]
pub(in super::super) struct SoundRequests {
    /// What each node is to give back.
    gives: BTreeMap<usize, RebalanceId>,
    /// Claims that a node has found to be void in the input that it handles now.
    void: BTreeSet<(usize, Partition)>,
}

impl Property<Emergence> for SoundRequests {
    const NAME: &'static str = "No request is unsound";
    const SOURCE: &'static str = "rulings 1 to 3, N5, S4";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } | Fact::Crashed { node } => {
                self.gives.remove(&node);
            }
            Fact::Own(Own::Heard {
                node,
                report: Report::Rebalance(Rebalance { id, change: Change::Revoked, .. }),
                ..
            }) => {
                self.gives.insert(node, *id);
            }
            Fact::Own(Own::Voided { node, partition, .. }) => {
                self.void.insert((node, Partition(partition)));
            }
            Fact::Own(Own::Asked { node, request, .. }) => {
                let wrong = match request {
                    Request::GiveBack(id) => self.gives.remove(&node) != Some(*id),
                    _ => false,
                };
                if wrong {
                    return Err(format!("{}: {request}, which it was not to", check.name(node)));
                }
                return self.judge(check, node, request);
            }
            Fact::Handled { node, .. } => {
                self.void.retain(|(of, _)| *of != node);
                if let Some(id) = self.gives.get(&node) {
                    let name = check.name(node);
                    return Err(format!("{name} has not given back what rebalance {id} revokes"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl SoundRequests {
    fn judge(&self, check: &Check<'_>, node: usize, request: &Request) -> Result<(), String> {
        let Request::Publish { to, entry } = request else { return Ok(()) };
        let wrong = match (to, entry.kind) {
            (Target::Every, Kind::Beat) => return Ok(()),
            (Target::One(partition), Kind::Claim) => self.claims(check, node, *partition),
            (Target::One(_), Kind::Beat) => Some("others dry up"),
            (Target::Every, Kind::Claim) => Some("a claim is to one partition"),
        };
        match wrong {
            None => Ok(()),
            Some(wrong) => Err(format!("{}: {request}: {wrong}", check.name(node))),
        }
    }

    /// What is wrong with a claim that is made now.
    fn claims(&self, check: &Check<'_>, node: usize, partition: Partition) -> Option<&'static str> {
        let account = check.own.account(node)?;
        let Some(read) = account.partitions.get(&partition) else { return Some("it is unknown") };
        if read.changed == Some(account.at) {
            // What was due comes before what is heard.
            return None;
        }
        if !read.assigned {
            return Some("it is not assigned");
        }
        if !read.is_open() {
            return Some("its end is not known");
        }
        if read.voided == Some(account.at) && !self.void.contains(&(node, partition)) {
            // The same: it was due before what made the last one void was heard.
            return None;
        }
        let config = &check.plan.process(node)?.config;
        let now = check.plan.conditions.sites[node].clock.shows(check.now);
        let hears = account.woke.filter(|woke| read.changed.is_some_and(|since| since < *woke));
        if hears.is_some_and(|woke| read.own.is_none_or(|sent| sent < woke)) {
            return Some("it was stopped, and is to hear first what has happened meanwhile");
        }
        let spaced = read.voided.map(|voided| voided.after(config.publish_interval));
        (spaced > Some(now)).then_some("the last one became void just now")
    }
}

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::voter::Answer;

use super::{Check, Fact, Own, Property, RegionalVoters};

/// V11: of each run of another voter a heartbeat is taken once, and none after a later one.
#[derive(Debug, Default)]
pub(in super::super) struct HeartbeatsCountOnce {
    /// For each run that hears, and each that is heard, the last.
    last: BTreeMap<(u128, u128), u64>,
    /// Runs that have dropped somebody: of the others they forget those that are no members, and
    /// meet them anew.
    forget: BTreeSet<u128>,
}

impl Property<RegionalVoters> for HeartbeatsCountOnce {
    const NAME: &'static str = "No heartbeat counts twice";
    const SOURCE: &'static str = "V11";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Answers { node, line, answer: Answer::Heartbeat(beaten) }) => {
                let Some(run) = check.history.lives[node] else { return Ok(()) };
                let electorate = check.own.memory(node).and_then(|it| it.electorate.as_ref());
                let mut all = check.own.who.iter().flatten();
                let other = all.find(|who| who.incarnation == line.run);
                let kept =
                    electorate.zip(other).is_some_and(|(electorate, who)| electorate.has(who));
                if self.forget.contains(&run) && !kept {
                    self.last.remove(&(run, line.run));
                    return Ok(());
                }
                let last = self.last.entry((run, line.run)).or_default();
                if beaten.seq <= *last {
                    return Err(format!(
                        "{} takes heartbeat {} after {last} of the same run",
                        check.name(node),
                        beaten.seq
                    ));
                }
                *last = beaten.seq;
            }
            Fact::Own(Own::Dropped { node, .. }) => {
                let Some(run) = check.history.lives[node] else { return Ok(()) };
                self.forget.insert(run);
                self.last.retain(|(hears, _), _| *hears != run);
            }
            // Members may come and go.
            Fact::Own(Own::Wrote { node, .. }) => {
                let Some(run) = check.history.lives[node] else { return Ok(()) };
                if self.forget.contains(&run) {
                    self.last.retain(|(hears, _), _| *hears != run);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

use std::collections::BTreeMap;

use tenure_core::voter::Answer;

use super::{Check, Fact, Own, Property, RegionalVoters};

/// V11: of each run of another voter a heartbeat is taken once, and none after a later one.
#[derive(Debug, Default)]
pub(in super::super) struct HeartbeatsCountOnce {
    /// For each run that hears, and each that is heard, the last.
    last: BTreeMap<(u128, u128), u64>,
}

impl Property<RegionalVoters> for HeartbeatsCountOnce {
    const NAME: &'static str = "No heartbeat counts twice";
    const SOURCE: &'static str = "V11";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Answers { node, line, answer: Answer::Heartbeat(beaten) }) => {
                let Some(run) = check.history.lives[node] else { return Ok(()) };
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
            // One that is forgotten is met anew.
            Fact::Own(Own::Dropped { node, .. }) => {
                let run = check.history.lives[node];
                self.last.retain(|(hears, _), _| Some(*hears) != run);
            }
            _ => {}
        }
        Ok(())
    }
}

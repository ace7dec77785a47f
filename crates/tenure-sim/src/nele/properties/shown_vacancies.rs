use std::collections::{BTreeMap, BTreeSet};

use tenure_core::View;
use tenure_core::nele::Mode;

use super::{Check, Emergence, Fact, Property};

/// Observers, in true time: while an observer shows a vacancy, every process that leads began too
/// recently to be heard. In `at_most_one` the rule covers processes of the observer's group only.
/// In `at_least_one` a leader whose reads are delayed leads on for as long as the delay, so this
/// mode is checked only without faults.
#[derive(Debug, Default)]
pub(in super::super) struct ShownVacancies {
    /// Observers, and the elections that each shows as vacant.
    vacant: BTreeSet<(usize, usize)>,
    /// Last timer of each node, which is the time of its shown views.
    went_off: BTreeMap<usize, u64>,
}

impl Property<Emergence> for ShownVacancies {
    const NAME: &'static str = "Nobody leads for long where a vacancy is shown";
    const SOURCE: &'static str = "the module document: timers";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } | Fact::Crashed { node } => {
                self.went_off.remove(&node);
                self.vacant.retain(|(of, _)| *of != node);
            }
            Fact::Observes { node, election, begins: false } => {
                self.vacant.remove(&(node, election));
            }
            Fact::Viewed { node, election, view: View::Vacant, looked, .. } => {
                self.vacant.insert((node, election));
                // The view of a stopped process is old, so do not judge it.
                if looked == check.now {
                    return judge(check, node, election, looked);
                }
            }
            Fact::Viewed { node, election, .. } => {
                self.vacant.remove(&(node, election));
            }
            Fact::Handled { node, timer: Some(_), .. } => {
                let before = self.went_off.insert(node, check.now).unwrap_or_default();
                for (_, election) in self.vacant.range((node, 0)..=(node, usize::MAX)) {
                    judge(check, node, *election, before)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Checks a vacancy that an observer still shows. The check leaves out a leader with a longer T,
/// because the observer may never have heard it.
fn judge(check: &Check<'_>, node: usize, election: usize, shown: u64) -> Result<(), String> {
    let plan = check.plan;
    let now = check.now;
    let several = plan.own.mode == Mode::AtLeastOne;
    if several && !plan.calm {
        return Ok(());
    }
    let group = |node| plan.process(node).map(|one| one.manner.group);
    let mut led = check.past(election).leaderships.iter().rev().take(16);
    let leads = led.find(|led| {
        let other = led.node != node && (several || group(led.node) == group(node));
        let known = plan.own.unlike != Some(led.node);
        other && known && led.holds(now) && led.from + plan.own.heard < shown
    });
    match leads {
        None => Ok(()),
        Some(led) => Err(format!(
            "{} shows {} as vacant, and {} leads for {} s",
            check.name(node),
            check.election(election),
            check.name(led.node),
            (now - led.from) as f64 / 1e9,
        )),
    }
}

use std::collections::BTreeMap;

use super::{Check, Emergence, Fact, Own, Property};

/// The bounds on a vacancy, where the only faults are ends, arrivals and departures of processes
/// and changes of coordinators. A process of the group leads every role for which all members
/// stand, within `Settings::vacant`; in `at_most_one` this bound includes a claim and the grace
/// period. All times are true time. Each group is judged by itself: an undisturbed group leads
/// throughout, whatever happens to another group on the same topic (ruling 9).
#[derive(Debug, Default)]
pub(in super::super) struct Vacancies {
    /// Time at which a process of each group last started, ended, campaigned, stopped leading or
    /// campaigning, or left the group.
    disturbed: BTreeMap<usize, u64>,
    /// Start of the broker; no process can lead before that time.
    broker: Option<u64>,
}

impl Property<Emergence> for Vacancies {
    const NAME: &'static str = "A vacancy lasts no longer than stated";
    const SOURCE: &'static str = "the module document: what is not guaranteed";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if !check.plan.calm {
            return Ok(());
        }
        match fact {
            Fact::Started { node, .. }
            | Fact::Crashed { node }
            | Fact::Campaigns { node, .. }
            | Fact::Ended { node, .. }
            | Fact::Own(Own::Leaves { node }) => {
                match check.plan.process(node) {
                    Some(process) => {
                        self.disturbed.insert(process.manner.group, check.now);
                    }
                    None => self.broker = Some(check.now),
                }
                Ok(())
            }
            Fact::Moment => self.judge(check),
            _ => Ok(()),
        }
    }
}

impl Vacancies {
    fn judge(&self, check: &Check<'_>) -> Result<(), String> {
        let plan = check.plan;
        let now = check.now;
        let Some(broker) = self.broker else { return Ok(()) };
        for (group, disturbed) in &self.disturbed {
            let disturbed = broker.max(*disturbed);
            if now >= plan.retired || now < disturbed + plan.own.vacant {
                continue;
            }
            let of = |node: usize| {
                plan.process(node).is_some_and(|process| process.manner.group == *group)
            };
            let members = || check.apps.iter().enumerate().filter(|(node, _)| of(*node));
            for election in 0..plan.elections.len() {
                // A process that stands only for other roles may own the partition.
                let mut standing = members().filter(|(_, app)| app.iter().any(|r| r.campaigning));
                let all = standing.all(|(_, app)| app[election].campaigning);
                let any = members().any(|(_, app)| app[election].campaigning);
                let mut led = check.past(election).leaderships.iter().rev().take(16);
                if all && any && !led.any(|led| of(led.node) && led.holds(now)) {
                    return Err(format!(
                        "nobody of group {group} leads {}, and nothing has changed for {} s",
                        check.election(election),
                        (now - disturbed) as f64 / 1e9,
                    ));
                }
            }
        }
        Ok(())
    }
}

use std::collections::BTreeMap;

use tenure_core::nele::{Report, Said};

use super::{Check, Emergence, Fact, Own, Property};
use crate::nele::plan::topic;
use crate::scenario::history::Leadership;

/// Rulings 5 and 10: whoever hears of another topic, or of another number of partitions, leads
/// nothing from then on; and nobody else does so.
#[derive(Debug, Default)]
pub(in super::super) struct Halted {
    /// Which topic the present life of each node began with.
    topics: BTreeMap<usize, u128>,
    halted: BTreeMap<usize, &'static str>,
}

impl Property<Emergence> for Halted {
    const NAME: &'static str = "Whoever finds another topic leads no more";
    const SOURCE: &'static str = "rulings 5 and 10";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => {
                self.halted.remove(&node);
                self.topics.insert(node, check.own.topic().topic);
            }
            Fact::Crashed { node } => {
                self.halted.remove(&node);
            }
            Fact::Own(Own::Heard { node, report, .. }) => self.hear(check, node, report),
            Fact::Own(Own::Halts { node }) if !self.halted.contains_key(&node) => {
                return Err(format!("{} leads nothing for ever, for no reason", check.name(node)));
            }
            Fact::Claimed(claim) => {
                if let Some(why) = self.halted.get(&claim.node) {
                    let (name, election) = (check.name(claim.node), check.election(claim.election));
                    return Err(format!("{name} claims {election}, and {why}"));
                }
            }
            Fact::Handled { node, .. } => {
                let Some(why) = self.halted.get(&node) else { return Ok(()) };
                // What an earlier life led was led before that.
                let life = check.history.lives[node];
                for election in 0..check.plan.elections.len() {
                    let mut led = check.past(election).leaderships.iter().rev().take(8);
                    let own = |led: &Leadership<()>| led.node == node && Some(led.life) == life;
                    if led.any(|led| own(led) && led.holds(check.now)) {
                        let (name, election) = (check.name(node), check.election(election));
                        return Err(format!("{name} leads {election} on, and {why}"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Halted {
    fn hear(&mut self, check: &Check<'_>, node: usize, report: &Report) {
        let Some(process) = check.plan.process(node) else { return };
        let config = &process.config;
        match report {
            Report::Topic { id, partitions } => {
                let same = id.cluster == topic().cluster;
                if !same || Some(&id.topic) != self.topics.get(&node) {
                    self.halted.insert(node, "the topic is another one");
                } else if *partitions != config.partitions {
                    self.halted.insert(node, "the topic has other partitions");
                }
            }
            Report::Records { partition, records, reading } if reading.rebalance.0 > 0 => {
                // What was read under an earlier assignment is dropped.
                let account = check.own.account(node);
                let read = account.and_then(|account| account.partitions.get(partition));
                if !read.is_some_and(|read| read.reads(*reading)) {
                    return;
                }
                let other = |said: &Said| match said {
                    Said::Entry(entry) => {
                        let ours = entry.election == config.election && entry.group == config.group;
                        ours && entry.partitions != config.partitions
                    }
                    Said::Nothing | Said::Unreadable => false,
                };
                if records.iter().any(|record| other(&record.said)) {
                    self.halted.insert(node, "a member counts other partitions");
                }
            }
            _ => {}
        }
    }
}

use std::collections::BTreeMap;

use tenure_core::nele::{Mode, Partition};
use tenure_core::{End, Loss, Time};

use super::{Check, Emergence, Fact, Own, Property};

/// Ruling 1: in `at_least_one` a partition is led until T after something was read of it while it
/// was assigned, and no sooner than that is over, whether or not it is assigned still. Counted by a
/// second hand.
#[derive(Debug, Default)]
pub(in super::super) struct NewsAreFresh {
    /// Who gives up, or has just done so.
    gives_up: BTreeMap<usize, bool>,
}

impl Property<Emergence> for NewsAreFresh {
    const NAME: &'static str = "A partition is led until T after its news";
    const SOURCE: &'static str = "ruling 1, N1";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if check.plan.own.mode != Mode::AtLeastOne {
            return Ok(());
        }
        match fact {
            Fact::Own(Own::GivesUp { node }) => drop(self.gives_up.insert(node, true)),
            Fact::Started { node, .. } => drop(self.gives_up.remove(&node)),
            Fact::Handled { node, .. } => {
                if self.gives_up.get(&node) == Some(&false) {
                    self.gives_up.remove(&node);
                }
                self.gives_up.entry(node).and_modify(|gives| *gives = false);
            }
            Fact::Claimed(claim) => {
                let until = until(check, claim.node, claim.election);
                if until.is_some_and(|until| claim.ends > until) {
                    return Err(format!(
                        "{} claims {} until {}, and its news last until {until:?}",
                        check.name(claim.node),
                        check.election(claim.election),
                        claim.ends
                    ));
                }
            }
            Fact::Ended { node, election, end: End::Lost(loss), decided } => {
                let asked = self.gives_up.contains_key(&node);
                let over = matches!(loss, Loss::Reset | Loss::Revoked);
                let now = check.plan.conditions.sites[node].clock.shows(decided);
                // What ran out is over, though something was read just now.
                let life = check.history.lives[node];
                let mut led = check.past(election).leaderships.iter().rev();
                let last = led.find(|led| led.node == node && Some(led.life) == life);
                let over = over || last.is_none_or(|led| led.backed <= decided);
                let until = until(check, node, election).filter(|_| !asked && !over);
                if until.is_some_and(|until| now < until) {
                    return Err(format!(
                        "{} leads {} no more at {now} ({loss}), and its news last until {until:?}",
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

/// Until when what was read of its partition counts.
fn until(check: &Check<'_>, node: usize, election: usize) -> Option<Time> {
    let config = &check.plan.process(node)?.config;
    let partition: Partition = config.partition_of(config.role(&check.plan.elections[election])?);
    let read = check.own.account(node)?.partitions.get(&partition);
    let news = read.and_then(|read| read.news);
    Some(news.map_or(Time::ZERO, |news| news.after(config.takeover)))
}

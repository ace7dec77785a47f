use std::collections::BTreeMap;

use tenure_core::Time;

use super::{Check, Emergence, Fact, Own, Property};

/// Guarantee (d): no claim lasts longer than T (`takeover`) after its process has learned that its
/// partition moved.
#[derive(Debug, Default)]
pub(in super::super) struct WithinT {
    /// Time at which each node learned of a lost partition, on its clock; removed with the next
    /// assignment.
    lost: BTreeMap<(usize, u32), Time>,
}

impl Property<Emergence> for WithinT {
    const NAME: &'static str = "Two leaders end within T";
    const SOURCE: &'static str = "guarantee (d)";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.lost.retain(|(other, _), _| *other != node),
            Fact::Own(Own::Assigned { node, partition, at: None }) => {
                self.lost.remove(&(node, partition));
            }
            Fact::Own(Own::Assigned { node, partition, at: Some(at) }) => {
                self.lost.insert((node, partition), at);
            }
            Fact::Claimed(claim) => {
                let Some(process) = check.plan.process(claim.node) else { return Ok(()) };
                let config = &process.config;
                let role = config.role(&check.plan.elections[claim.election]);
                let partition = role.map_or(0, |role| config.partition_of(role).0);
                let lost = self.lost.get(&(claim.node, partition));
                if lost.is_some_and(|lost| claim.ends > lost.after(config.takeover)) {
                    return Err(format!(
                        "{} claims {} until {}, and heard of its loss at {lost:?}",
                        check.name(claim.node),
                        check.election(claim.election),
                        claim.ends,
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

use std::collections::BTreeSet;

use tenure_core::nele::Mode;
use tenure_core::{End, Loss};

use super::{Check, Emergence, Fact, Own, Property};

/// Guarantee (c), in `at_least_one`: if a leader ends because its partition moved, another process
/// already leads. An exception is a leader that leaves while no other process stands for the role.
/// The guarantee needs a world without faults, and a group that does not change while a partition
/// moves.
#[derive(Debug, Default)]
pub(in super::super) struct NoGap {
    /// Nodes that have left their group, until they get a partition again.
    left: BTreeSet<usize>,
}

impl Property<Emergence> for NoGap {
    const NAME: &'static str = "A role that has had a leader keeps one";
    const SOURCE: &'static str = "guarantee (c)";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let (node, election) = match fact {
            Fact::Ended { node, election, end: End::Lost(Loss::Reassigned), .. } => {
                (node, election)
            }
            Fact::Own(Own::Leaves { node }) => {
                self.left.insert(node);
                return Ok(());
            }
            Fact::Started { node, .. } | Fact::Own(Own::Assigned { node, at: None, .. }) => {
                self.left.remove(&node);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let plan = check.plan;
        let now = check.now;
        if plan.own.mode != Mode::AtLeastOne || !plan.calm || now >= plan.retired {
            return Ok(());
        }
        let group = plan.process(node).map(|one| one.manner.group);
        let same = |other: usize| plan.process(other).map(|one| one.manner.group) == group;
        let span = plan.own.takeover + plan.own.changes;
        // A process without a role leaves the group, and its next campaign joins again: both move
        // partitions.
        let steady =
            check.apps.iter().enumerate().filter(|(other, _)| same(*other)).all(|(other, app)| {
                app.iter().all(|role| {
                    let since = if role.campaigning { role.since } else { role.left };
                    since + span <= now || other == node
                })
            });
        let wanted =
            check.apps.iter().enumerate().filter(|(other, _)| same(*other)).all(|(other, app)| {
                other == node
                    || app[election].campaigning
                    || app.iter().all(|role| !role.campaigning)
            });
        let mut others = check.apps.iter().enumerate().filter(|(other, _)| *other != node);
        let stands = others.any(|(other, app)| same(other) && app[election].campaigning);
        if self.left.contains(&node) && !stands {
            return Ok(());
        }
        let mut led = check.past(election).leaderships.iter();
        let next = led.any(|led| led.node != node && same(led.node) && led.holds(now));
        if next || !steady || !wanted {
            Ok(())
        } else {
            Err(format!(
                "{} has lost {}, and nobody else leads it",
                check.name(node),
                check.election(election)
            ))
        }
    }
}

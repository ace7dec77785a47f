use tenure_core::nele::Mode;
use tenure_core::{End, Loss};

use super::{Check, Emergence, Fact, Property};

/// Guarantee (c): in `at_least_one`, where nothing goes wrong and nobody has come or gone for as
/// long as a partition takes to change hands, a leader that ends because its partition is somebody
/// else's is not the last.
#[derive(Debug, Default)]
pub(in super::super) struct NoGap;

impl Property<Emergence> for NoGap {
    const NAME: &'static str = "A role that has had a leader keeps one";
    const SOURCE: &'static str = "guarantee (c)";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Ended { node, election, end: End::Lost(Loss::Reassigned), .. } = fact else {
            return Ok(());
        };
        let (plan, now) = (check.plan, check.now);
        if plan.own.mode != Mode::AtLeastOne || !plan.calm || now >= plan.retired {
            return Ok(());
        }
        let group = plan.process(node).map(|one| one.manner.group);
        let same = |other: usize| plan.process(other).map(|one| one.manner.group) == group;
        let span = plan.own.takeover + plan.own.changes;
        // Once it has lost its last role it comes back.
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
        let mut led = check.past(election).leaderships.iter();
        let next = led.any(|led| led.node != node && same(led.node) && led.holds(now));
        match next || !steady || !wanted {
            true => Ok(()),
            false => Err(format!(
                "{} has lost {}, and nobody else leads it",
                check.name(node),
                check.election(election)
            )),
        }
    }
}

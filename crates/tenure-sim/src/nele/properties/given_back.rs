use tenure_core::nele::Mode;

use super::{Check, Emergence, Fact, Own, Property};

/// Ruling 2, N4: in `at_most_one` nothing is given back, and no group is left, while a role is led
/// that the partition decides on.
#[derive(Debug, Default)]
pub(in super::super) struct GivenBack;

impl Property<Emergence> for GivenBack {
    const NAME: &'static str = "A partition is given back when it is led no more";
    const SOURCE: &'static str = "rulings 2 and 11; N4";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Has { node, own }) = fact else { return Ok(()) };
        let plan = check.plan;
        let Some(process) = plan.process(node).filter(|_| plan.own.mode == Mode::AtMostOne) else {
            return Ok(());
        };
        for (election, name) in plan.elections.iter().enumerate() {
            let role = process.config.role(name);
            let partition = role.map(|role| process.config.partition_of(role).0);
            let has = partition.is_some_and(|partition| own.contains(&partition));
            let mut led = check.past(election).leaderships.iter().rev();
            // What an earlier life led is over with that.
            let life = check.history.lives[node];
            if !has && led.any(|led| life == Some(led.life) && led.holds(check.now)) {
                return Err(format!("{} has {own:?} and leads {name}", check.name(node)));
            }
        }
        Ok(())
    }
}

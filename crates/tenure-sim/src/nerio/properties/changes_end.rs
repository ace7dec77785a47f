use super::{Check, Fact, Property, QuorumLeases, seconds};

/// Within the bound after the last fault, all running members of the latest epoch have entered it,
/// and no member waits for a decision on the next epoch.
#[derive(Debug, Default)]
pub(super) struct ChangesEnd {
    judged: bool,
}

impl Property<QuorumLeases> for ChangesEnd {
    const NAME: &'static str = "Every change of members ends";
    const SOURCE: &'static str = "section 10.6";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Moment = fact else { return Ok(()) };
        let Some(epochs) = &check.own.epochs else { return Ok(()) };
        if self.judged || check.now < check.plan.settled {
            return Ok(());
        }
        self.judged = true;
        let latest = epochs.latest();
        let number = latest.number;
        let runs =
            |node: &usize| check.plan.nodes[*node].member && check.history.lives[*node].is_some();
        let is_member = |node: &usize| epochs.seat(latest, *node).is_some();
        for node in (0..check.plan.nodes.len()).filter(runs).filter(is_member) {
            let name = check.name(node);
            let mended = seconds(check.plan.conditions.storm_ends);
            if epochs.of(node) != latest {
                return Err(format!(
                    "{name} has not entered epoch {number}, and nothing has gone wrong since \
                     {mended}"
                ));
            }
            if epochs.wedged[node] {
                return Err(format!(
                    "{name} waits for the decision on the epoch after {number}, and nothing has \
                     gone wrong since {mended}"
                ));
            }
        }
        Ok(())
    }
}

use super::super::plan::Kind;
use super::{Check, Fact, LeasedLeaders, Property, seconds};

/// Promise (b): the best rank leads alone within L + K + 3H.
#[derive(Debug, Default)]
pub(in super::super) struct TheBestInTheEnd;

impl Property<LeasedLeaders> for TheBestInTheEnd {
    const NAME: &'static str = "The best rank leads in the end";
    const SOURCE: &'static str = "promise (b)";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Handled { node, .. } = fact else { return Ok(()) };
        let plan = check.plan;
        let now = check.now;
        let steady = plan.own.kind == Kind::Parted || plan.calm;
        if !steady || now >= plan.retired {
            return Ok(());
        }
        // After a cut, each part first waits for the leaders of the other part.
        let cut = if check.history.parts.is_cut(now) { plan.own.vacant_most() } else { 0 };
        let moved = check.history.parts.moved(now) + cut;
        for election in 0..plan.elections.len() {
            let since = moved.max(check.own.settled(election));
            if now <= since + plan.own.best_most() || !check.contends(node, election) {
                continue;
            }
            let all = 0..plan.participants();
            let part =
                all.filter(|other| check.contends(*other, election) && check.reach(node, *other));
            let rank = |node: &usize| check.own.ranks[*node];
            let Some(best) = part.min_by_key(rank) else { continue };
            let here = check.leaders(election).filter(|(other, _)| check.reach(node, *other));
            let here: Vec<usize> = here.map(|(other, _)| other).collect();
            if here != [best] {
                return Err(format!(
                    "{} is the best for {}, nothing has changed since {}, and {here:?} lead",
                    check.name(best),
                    check.election(election),
                    seconds(since),
                ));
            }
        }
        Ok(())
    }
}

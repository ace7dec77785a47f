use tenure_core::etcd::Lost;

use super::{Check, Elections, Fact, Property, Records, seconds};

/// A process has one lease for all its elections. The loss of one election leaves the others alone:
/// no leadership ends for a false reason.
#[derive(Debug, Default)]
pub(super) struct LossesStayApart;

impl Property<Elections> for LossesStayApart {
    const NAME: &'static str = "A lost election leaves the others alone";
    const SOURCE: &'static str = "ruling 10 (E9)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Ended { node, election, decided, .. } = fact else { return Ok(()) };
        let Some(lost) = check.own.lost[node] else { return Ok(()) };
        let leaderships = check.past(election).leaderships.iter().rev();
        let Some(own) = leaderships.take(8).find(|l| l.node == node) else { return Ok(()) };
        // If the driver did not lower the claim in this step, no leadership ended here.
        let lowered = own.until >= decided && check.history.lives[node] == Some(own.life);
        if !lowered || own.own.robbed {
            return Ok(());
        }
        let what = || {
            format!(
                "{} gave up {}{} at {}, because {lost}",
                check.name(node),
                check.election(election),
                own.under(),
                seconds(decided)
            )
        };
        let created = check.records().keys.get(&own.own.key).map(|kv| kv.created);
        match lost {
            Lost::Expired if own.backed > check.now => {
                Err(format!("{}, though it lasts until {}", what(), seconds(own.backed)))
            }
            Lost::KeyGone if created == Some(own.fence.map_or(0, Records::created)) => {
                Err(format!("{}, and its key {} is there", what(), own.own.key))
            }
            _ => Ok(()),
        }
    }
}

use tenure_core::etcd::Lost;

use super::{Court, Fact, Plan, Property, seconds};
use crate::etcd::ledger::Ledger;

/// One lease carries all elections of a process, and losing one of them leaves the others alone:
/// no leadership is given up for a reason that is not there.
#[derive(Debug)]
pub(super) struct LossesStayApart;

impl Property for LossesStayApart {
    const NAME: &'static str = "A lost election leaves the others alone";
    const SOURCE: &'static str = "ruling 10 (E9)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Ended { node, election, lost: Some(lost), decided } = fact else {
            return Ok(());
        };
        let leaderships = court.annals(*election).leaderships.iter().rev();
        let Some(own) = leaderships.take(8).find(|l| l.node == *node) else { return Ok(()) };
        // It was lowered just now, or it was not a leadership that ended.
        let lowered = own.until >= *decided && court.ledger.lives[*node] == Some(own.life);
        if !lowered || own.robbed {
            return Ok(());
        }
        let what = || {
            format!(
                "{} gave up {} with fence {} at {}, because {lost}",
                court.name(*node),
                court.election(*election),
                own.fence,
                seconds(*decided)
            )
        };
        let created = court.ledger.keys.get(&own.key).map(|kv| kv.created);
        match lost {
            Lost::Expired if own.proven > court.now => {
                Err(format!("{}, though it lasts until {}", what(), seconds(own.proven)))
            }
            Lost::KeyGone if created == Some(Ledger::created(own.fence)) => {
                Err(format!("{}, and its key {} is there", what(), own.key))
            }
            _ => Ok(()),
        }
    }
}

use super::{Court, Fact, Plan, Property, seconds};

/// After E the session is dead, and late answers never revive it. (After a restore a revision, and
/// so a fence, may come again.)
#[derive(Debug)]
pub(super) struct AClaimNeverLapsesAndReturns;

impl Property for AClaimNeverLapsesAndReturns {
    const NAME: &'static str = "A claim that has lapsed does not return";
    const SOURCE: &'static str = "ruling 3 (E2)";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Claimed { node, life, election, fence, until, .. } = fact else {
            return Ok(());
        };
        let back = court.ledger.restored.unwrap_or(0);
        let same = |l: &&super::Leadership| l.is(*node, *life, *fence, back);
        let older = court.annals(*election).leaderships.iter().rev().find(same);
        match older {
            Some(older) if older.until < court.now && *until > court.now && !older.robbed => {
                Err(format!(
                    "{} leads {} with fence {fence} until {}, though that leadership ended at {}",
                    court.name(*node),
                    court.election(*election),
                    seconds(*until),
                    seconds(older.until),
                ))
            }
            Some(_) | None => Ok(()),
        }
    }
}

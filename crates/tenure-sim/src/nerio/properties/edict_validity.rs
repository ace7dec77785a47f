use super::{Check, Fact, Own, Property, QuorumLeases};

/// Section 1: only a leader creates an edict, while it leads. (A promise of every protocol has the
/// same name: handle and core agree on the leader.)
#[derive(Debug, Default)]
pub(super) struct EdictValidity;

impl Property<QuorumLeases> for EdictValidity {
    const NAME: &'static str = super::EDICT_VALIDITY.0;
    const SOURCE: &'static str = super::EDICT_VALIDITY.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Edict { election, who, fence, .. }) = fact else { return Ok(()) };
        match check.past(election).leader(check.now) {
            Some(leader) if leader.own.who == *who && leader.fence == Some(fence) => Ok(()),
            Some(leader) => Err(format!(
                "{who} creates an edict of {} under fence {fence} while {} leads{}",
                check.election(election),
                leader.own.who,
                leader.under(),
            )),
            None => Err(format!(
                "{who} creates an edict of {} under fence {fence} while nobody leads",
                check.election(election),
            )),
        }
    }
}

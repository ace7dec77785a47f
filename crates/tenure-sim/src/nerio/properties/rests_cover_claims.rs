use tenure_core::nerio::EpochId;

use super::{Check, Fact, Own, Property, QuorumLeases, seconds};

/// Section 10.6: while a leader's claim rests on grants of an earlier epoch, no member of a later
/// epoch grants to another candidate.
#[derive(Debug, Default)]
pub(super) struct RestsCoverClaims;

impl Property<QuorumLeases> for RestsCoverClaims {
    const NAME: &'static str = "Leases of earlier epochs keep other candidates out";
    const SOURCE: &'static str = "section 10.6; the rests of leases";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Granted { grantor, election, record, finish, .. }) = fact else {
            return Ok(());
        };
        let Some(epochs) = check.own.epochs.as_ref().filter(|_| finish > check.now) else {
            return Ok(());
        };
        let Some(leader) = check.past(election).leader(check.now) else { return Ok(()) };
        let who = &leader.own.who;
        let epoch = epochs.of(grantor);
        let backs = |is_before: bool| {
            let counts = |other: EpochId| (other.number < epoch.number) == is_before;
            epochs.backs(election, who, |held| held.finish >= leader.until, None, counts)
        };
        if *who == record.holder || backs(false) || !backs(true) {
            return Ok(());
        }
        Err(format!(
            "{} grants {} to {} in epoch {}, while {who} leads until {} by grants of an earlier \
             epoch; {}, {}",
            check.name(grantor),
            check.election(election),
            record.holder,
            epoch.number,
            seconds(leader.until),
            check.clock(grantor),
            check.clock(leader.node),
        ))
    }
}

use super::{Check, Claim, Fact, Own, Property, QuorumLeases, seconds};

/// Equation 14: if a leader's claim ends at `until`, a quorum of one epoch has granted to the
/// leader for at least as long. A lapsed leadership is not claimed again.
#[derive(Debug, Default)]
pub(super) struct ClaimsStandOnGrants;

impl Property<QuorumLeases> for ClaimsStandOnGrants {
    const NAME: &'static str = "A claim stands on grants of a quorum";
    const SOURCE: &'static str = "section 3, equation 14";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed(Claim { node, election, until, .. }) if until > check.now => {
                let who = &check.own.who[node];
                if check.is_backed(election, who, until, None) {
                    return Ok(());
                }
                Err(format!(
                    "{who} claims {} until {}, but only {} granted it until then; {}",
                    check.election(election),
                    seconds(until),
                    check.backers(election, who, until),
                    check.clock(node),
                ))
            }
            Fact::Claimed(Claim { node, election, until, decided, .. }) if decided >= until => {
                let who = &check.own.who[node];
                Err(format!(
                    "{who} claims {} until {}, which was over when it decided so; {}",
                    check.election(election),
                    seconds(until),
                    check.clock(node),
                ))
            }
            Fact::Own(Own::Granted { grantor, election, record, .. }) => {
                let Some(leader) = check.past(election).leader(check.now) else { return Ok(()) };
                if leader.own.who == record.holder {
                    return Ok(());
                }
                if check.is_backed(election, &leader.own.who, leader.until, Some(grantor)) {
                    return Ok(());
                }
                Err(format!(
                    "{} grants {} to {} while {} leads until {}, and is left with what {} granted; \
                     {}, {}",
                    check.plan.nodes[grantor].name,
                    check.election(election),
                    record.holder,
                    leader.own.who,
                    seconds(leader.until),
                    check.backers(election, &leader.own.who, leader.until),
                    check.clock(grantor),
                    check.clock(leader.node),
                ))
            }
            _ => Ok(()),
        }
    }
}

use tenure_core::nerio::MemberSet;

use super::{Court, Fact, Plan, Property, seconds};

/// Equation 14: whoever leads until then has grants of a quorum that last until then; and what is
/// over is not claimed.
#[derive(Debug)]
pub(super) struct ClaimsStandOnGrants;

impl Property for ClaimsStandOnGrants {
    const NAME: &'static str = "A claim stands on grants of a quorum";
    const SOURCE: &'static str = "section 3, equation 14";

    fn new(_: &Plan) -> Self {
        Self
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed { node, election, who, until, .. } if until > court.now => {
                let grants = court.annals(election).grants.iter();
                let held = grants.filter(|(_, grant)| grant.to == *who && grant.finish >= until);
                let held: MemberSet = held.map(|(grantor, _)| *grantor).collect();
                if court.plan.config().quorums.is_quorum(held) {
                    return Ok(());
                }
                Err(format!(
                    "{who} claims {} until {}, but only {} granted it until then; {}",
                    court.election(election),
                    seconds(until),
                    court.backers(election, who, until),
                    court.clock(node),
                ))
            }
            Fact::Claimed { node, election, who, until, decided, .. } if decided >= until => {
                Err(format!(
                    "{who} claims {} until {}, which was over when it decided so; {}",
                    court.election(election),
                    seconds(until),
                    court.clock(node),
                ))
            }
            Fact::Granted { grantor, election, record, .. } => {
                let annals = court.annals(election);
                let Some(leader) = annals.leader(court.now) else { return Ok(()) };
                if leader.who == record.holder {
                    return Ok(());
                }
                let grants = annals.grants.iter();
                let held = grants.filter(|(other, grant)| {
                    **other != grantor && grant.to == leader.who && grant.finish >= leader.until
                });
                let held: MemberSet = held.map(|(other, _)| *other).collect();
                if court.plan.config().quorums.is_quorum(held) {
                    return Ok(());
                }
                Err(format!(
                    "{} grants {} to {} while {} leads until {}, and is left with what {} granted; \
                     {}, {}",
                    court.plan.nodes[grantor].name,
                    court.election(election),
                    record.holder,
                    leader.who,
                    seconds(leader.until),
                    court.backers(election, &leader.who, leader.until),
                    court.clock(grantor),
                    court.clock(leader.node),
                ))
            }
            _ => Ok(()),
        }
    }
}

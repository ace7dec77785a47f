use tenure_core::allcall::Body;

use super::claims_are_heard::claims;
use super::{Check, Fact, LeasedLeaders, Own, Property};

/// Rulings 3, 7 and 8: one that stands has waited for E + K of every claim that it heard, unless a
/// tombstone has ended it, and it leads only if it heard no other claim before its own.
#[derive(Debug, Default)]
pub(in super::super) struct WhoStandsHasWaited;

impl Property<LeasedLeaders> for WhoStandsHasWaited {
    const NAME: &'static str = "Who stands has waited for all that it heard";
    const SOURCE: &'static str = "rulings 3, 7 and 8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let (node, election, at) = match fact {
            Fact::Own(Own::Said { node, packet, at }) => {
                let Body::Call(call) = &packet.body else { return Ok(()) };
                let mut claims = claims(check, packet, &call.entries);
                let first = claims.find(|(election, lease)| {
                    let known = check.role(node, *election).published;
                    let stands = known.is_none_or(|known| known.term < lease.term);
                    stands && check.role(node, *election).waits_for(at.0).is_some()
                });
                let Some((election, _)) = first else { return Ok(()) };
                (node, election, at.0)
            }
            Fact::Claimed(claim) if check.own(&claim).is_none() => {
                let site = &check.plan.conditions.sites[claim.node];
                (claim.node, claim.election, site.clock.shows(claim.decided))
            }
            _ => return Ok(()),
        };
        let Some((leader, claim)) = check.role(node, election).waits_for(at) else {
            return Ok(());
        };
        let (name, election) = (check.name(node), check.election(election));
        Err(format!("{name} stands in {election} at {at}, and heard of {leader}: {claim:?}"))
    }
}

/// The text, I, and ruling 8: one that may have missed a claim, because it has just come or did
/// not hear itself, says so for L + K: it does not call, or not as one that is eligible.
#[derive(Debug, Default)]
pub(in super::super) struct WhoMissedClaimsWaits;

impl Property<LeasedLeaders> for WhoMissedClaimsWaits {
    const NAME: &'static str = "Who may have missed a claim waits";
    const SOURCE: &'static str = "the text, I; rulings 1, 8 and 9";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Said { node, packet, at: (at, _) }) = fact else { return Ok(()) };
        let entries = match &packet.body {
            Body::Call(call) => &call.entries,
            Body::Reply(reply) => &reply.entries,
            Body::Ask(_) | Body::Resign(_) => return Ok(()),
        };
        for entry in entries.iter().filter(|entry| entry.eligible) {
            let Some(election) = check.number(&entry.election) else { continue };
            let until = check.role(node, election).waits_until(check.plan);
            if until.is_none_or(|until| at < until) {
                let (name, election) = (check.name(node), check.election(election));
                return Err(format!("{name} is eligible in {election} at {at}, before {until:?}"));
            }
        }
        Ok(())
    }
}

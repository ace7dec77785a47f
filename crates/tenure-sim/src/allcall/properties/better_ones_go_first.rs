use std::time::Duration;

use tenure_core::allcall::Body;

use super::claims_are_heard::claims;
use super::{Check, Fact, LeasedLeaders, Own, Property};

/// Rulings 1, 2 and 6: a leader renews only while nobody that could lead goes before it; the k-th
/// best stands k·(2H + 2K) after the seat became vacant and it knew of the better ones; and a
/// leader hands over only to one that said it is eligible.
#[derive(Debug, Default)]
pub(in super::super) struct BetterOnesGoFirst;

impl Property<LeasedLeaders> for BetterOnesGoFirst {
    const NAME: &'static str = "Better ones go first";
    const SOURCE: &'static str = "rulings 1, 2 and 6";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Said { node, packet, at: (at, _) }) = fact else { return Ok(()) };
        let (plan, own) = (check.plan, &check.plan.own);
        let (name, rank) = (check.name(node), packet.header.rank);
        match &packet.body {
            Body::Call(call) => {
                for (election, lease) in claims(check, packet, &call.entries) {
                    let role = check.role(node, election);
                    if role.published.is_some_and(|known| known >= lease) {
                        continue;
                    }
                    let (before, known) = role.before(plan, rank, at);
                    let renews = role.published.is_some_and(|known| known.term == lease.term);
                    let each = Duration::from_nanos(2 * (own.heartbeat + own.skew));
                    let waited = role
                        .vacant()
                        .is_none_or(|since| at.since(since.max(known)) >= each * before);
                    if before > 0 && (renews || !waited) {
                        let (election, how) =
                            (check.election(election), if renews { "renews" } else { "stands" });
                        return Err(format!("{name} {how} in {election} before {before} others"));
                    }
                }
                Ok(())
            }
            Body::Resign(resign) => {
                for (election, dead) in &resign.ended {
                    let (Some(election), Some(next)) = (check.number(election), &dead.successor)
                    else {
                        continue;
                    };
                    let beats = Duration::from_nanos(own.heartbeat * 5 / 2);
                    let said = check.role(node, election).willing.get(next);
                    if said.is_none_or(|(_, said)| at.since(*said) > beats) {
                        let election = check.election(election);
                        return Err(format!("{name} hands {election} over to {next}: {said:?}"));
                    }
                }
                Ok(())
            }
            Body::Ask(_) | Body::Reply(_) => Ok(()),
        }
    }
}

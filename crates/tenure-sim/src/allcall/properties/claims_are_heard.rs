use std::time::Duration;

use tenure_core::allcall::{Body, Entry, Packet};

use super::super::account::Lease;
use super::{Check, Fact, Own, Property};

/// Rulings 6 and 8: a claim is raised only when its own call was heard within half a heartbeat of
/// its send, and that call followed a valid round in which its sender announced that it is
/// eligible.
#[derive(Debug, Default)]
pub(in super::super) struct ClaimsAreHeard;

impl Property<super::LeasedLeaders> for ClaimsAreHeard {
    const NAME: &'static str = "A process that does not hear itself does not lead";
    const SOURCE: &'static str = "rulings 1, 6 and 8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed(claim) => {
                let last = check.life_of(claim.node).last();
                let said = last.and_then(|said| said.of(claim.election));
                match said {
                    Some((entry, true)) if entry.lease().is_some() => Ok(()),
                    _ => Err(format!(
                        "{} leads {} and has not heard its claim in time: {said:?}",
                        check.name(claim.node),
                        check.election(claim.election)
                    )),
                }
            }
            Fact::Own(Own::Said { node, packet, at: (at, _) }) => {
                let Body::Call(call) = &packet.body else { return Ok(()) };
                let beats = Duration::from_nanos(2 * check.plan.own.heartbeat);
                for (election, lease) in claims(check, packet, &call.entries) {
                    let role = check.role(node, election);
                    let known = role.published;
                    if known == Some(lease) || role.holds == Some(lease) {
                        continue;
                    }
                    let before = check.life_of(node).before(call.round);
                    // One that was stopped for so long knows nothing of others.
                    let before = before.filter(|said| at.since(said.sent) < beats);
                    let before = before.and_then(|said| said.of(election));
                    let grants = known.is_none_or(|known| known.term < lease.term);
                    let valid =
                        before.is_some_and(|(said, back)| back && (said.is_eligible() || !grants));
                    if !valid {
                        let (name, election) = (check.name(node), check.election(election));
                        return Err(format!("{name} claims {election} after {before:?}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// What a packet claims for its sender, and in which elections.
pub(super) fn claims(
    check: &Check<'_>,
    packet: &Packet,
    entries: &[Entry],
) -> impl Iterator<Item = (usize, Lease)> {
    entries.iter().filter_map(|entry| {
        let claim = entry.claim.as_ref().filter(|claim| claim.leader == packet.header.sender)?;
        let lease = Lease { term: claim.term, until: claim.until };
        Some((check.number(&entry.election)?, lease))
    })
}

/// Rulings 2 and 3: a handle ends K + H before E, counted from before the claim was sent, and what
/// is published of a term never ends earlier than before.
#[derive(Debug, Default)]
pub(in super::super) struct NoTermIsLonger;

impl Property<super::LeasedLeaders> for NoTermIsLonger {
    const NAME: &'static str = "No term is longer than published";
    const SOURCE: &'static str = "rulings 2 and 3; A1, A2";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let own = &check.plan.own;
        match fact {
            Fact::Claimed(claim) => {
                let Some(said) = check.life_of(claim.node).last() else { return Ok(()) };
                let held = Duration::from_nanos(own.lease - own.skew - own.heartbeat);
                let most = said.sent.after(own.drift.shrink(held));
                if claim.ends <= most {
                    return Ok(());
                }
                let (name, election) = (check.name(claim.node), check.election(claim.election));
                Err(format!(
                    "{name} leads {election} until {}, and published it at {}: until {most} at \
                     most",
                    claim.ends, said.sent
                ))
            }
            Fact::Own(Own::Said { node, packet, .. }) => {
                let Body::Call(call) = &packet.body else { return Ok(()) };
                for (election, lease) in claims(check, packet, &call.entries) {
                    let role = check.role(node, election);
                    let later = role.published.filter(|known| known.term == lease.term);
                    if let Some(known) = later.filter(|known| *known > lease)
                        && role.holds != Some(lease)
                    {
                        let name = check.name(node);
                        return Err(format!("{name} publishes {lease:?} after {known:?}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

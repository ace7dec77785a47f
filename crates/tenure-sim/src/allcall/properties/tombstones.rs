use tenure_core::allcall::{Body, TOMBSTONES_MAX};

use super::claims_are_heard::claims;
use super::{Check, Fact, LeasedLeaders, Own, Property};

/// Ruling 7: between two terms of a process the tombstone of the first is published, and each call
/// carries it until E + 2K; and its leadership is not released before that is known.
#[derive(Debug, Default)]
pub(in super::super) struct Tombstones;

impl Property<LeasedLeaders> for Tombstones {
    const NAME: &'static str = "What has ended is said";
    const SOURCE: &'static str = "ruling 7; A3";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if let Fact::Released { node, election } = fact {
            return released(check, node, election);
        }
        let Fact::Own(Own::Said { node, packet, at: (at, _) }) = fact else { return Ok(()) };
        let Body::Call(call) = &packet.body else { return Ok(()) };
        let life = check.life_of(node);
        let name = check.name(node);
        for (election, lease) in claims(check, packet, &call.entries) {
            let role = &life.roles[election];
            let before = role.published.filter(|known| known.term < lease.term);
            let ended = |term| role.ended.is_some_and(|(ended, _)| ended.term >= term);
            if let Some(before) = before.filter(|known| life.stayed && !ended(known.term)) {
                let election = check.election(election);
                return Err(format!("{name} stands in {election}, and has not ended {before:?}"));
            }
        }
        for entry in &call.entries {
            let Some(election) = check.number(&entry.election) else { continue };
            let Some((ended, carried_until)) = life.roles[election].ended else { continue };
            let carried = entry
                .tombstones
                .iter()
                .any(|dead| dead.leader == packet.header.sender && dead.term >= ended.term);
            let full = entry.tombstones.len() >= TOMBSTONES_MAX;
            if !carried && !full && at < carried_until && check.plan.own.is_right(node) {
                let election = check.election(election);
                return Err(format!("{name} calls in {election} without {ended:?}"));
            }
        }
        Ok(())
    }
}

/// A leadership is released once its resignation has come back, or its lease is over.
fn released(check: &Check<'_>, node: usize, election: usize) -> Result<(), String> {
    let role = check.role(node, election);
    let shows = check.plan.conditions.sites[node].clock.shows(check.now);
    let Some((ended, _)) = role.ended.filter(|_| !role.resigned && shows < role.over) else {
        return Ok(());
    };
    if role.holds.is_none_or(|held| held.term != ended.term) {
        return Ok(());
    }
    let (name, election) = (check.name(node), check.election(election));
    Err(format!("{name} releases {election} at {shows}, before {}, by {ended:?}", role.over))
}

use tenure_core::nele::{Config, Mode, Partition};
use tenure_core::{Fence, Time};

use super::{Check, Emergence, Fact, Own, Property};
use crate::nele::proofs::{Proof, Proofs, by_any_clock};
use crate::scenario::Claim;
use crate::scenario::history::under;

/// Ruling 1: in mode `at_most_one` a process claims only an assigned partition. The process must
/// have read back a claim record that is not void, and the grace period must be over. The claim
/// ends T (`takeover`) after the send of the process's latest record that it has read back. The
/// fence is that of the claim record. The process lowers a void claim in the same step (N2).
#[derive(Debug, Default)]
pub(in super::super) struct ClaimsAreProven;

impl Property<Emergence> for ClaimsAreProven {
    const NAME: &'static str = "A claim is proven by the log";
    const SOURCE: &'static str = "rulings 1 and 10, N2";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if check.plan.own.mode != Mode::AtMostOne {
            return Ok(());
        }
        match fact {
            Fact::Claimed(claim) => judge(check, &claim),
            Fact::Handled { node, .. } => lowered(check, node),
            Fact::Own(Own::Voided { node, partition }) => voided(check, node, Partition(partition)),
            _ => Ok(()),
        }
    }
}

fn proof(check: &Check<'_>, node: usize, election: usize) -> Option<(Config, Option<Proof>)> {
    let config = &check.plan.process(node)?.config;
    let partition: Partition = config.partition_of(config.role(&check.plan.elections[election])?);
    let read = check.own.proofs(node)?.partitions.get(&partition);
    let proof = read.filter(|read| read.assigned).and_then(|read| read.claim);
    Some(((**config).clone(), proof))
}

/// The proof that ended with the present input.
fn just_ended(check: &Check<'_>, node: usize, config: &Config, election: usize) -> Option<Proof> {
    let partition: Partition = config.partition_of(config.role(&check.plan.elections[election])?);
    let proofs = check.own.proofs(node)?;
    let read = proofs.partitions.get(&partition)?;
    read.was.filter(|_| read.ended == Some(proofs.at))
}

fn judge(check: &Check<'_>, claim: &Claim) -> Result<(), String> {
    let Claim { node, election, .. } = *claim;
    let name = check.name(node);
    let of = check.election(election);
    let Some((config, proof)) = proof(check, node, election) else { return Ok(()) };
    // The present input may void the claim or take the partition away; the core ran its timers
    // before that.
    let proof = proof.or_else(|| just_ended(check, node, &config, election));
    let Some(proof) = proof else {
        return Err(format!("{name} claims {of}, and has no claim in the log that counts"));
    };
    let now = check.plan.conditions.sites[node].clock.shows(claim.decided);
    // A leadership that continues keeps its fence, and the claim may be a later one.
    let goes_on = check.own(claim).is_some();
    let since = if goes_on { proof.since } else { proof.renewed };
    let grace = by_any_clock(config.takeover, &config);
    let others = check.own.proofs(node).filter(|_| !goes_on).map(Proofs::waits_for_others);
    let office = since.after(others.map_or(grace, |others| grace.max(others)));
    let until = proof.evidence.map_or(Time::ZERO, |sent| sent.after(config.takeover));
    if now < office || claim.ends > until {
        return Err(format!(
            "{name} claims {of} at {now} until {}: it may from {office} on until {until}",
            claim.ends
        ));
    }
    // The core ran its timers before it read this record.
    let at = check.own.proofs(node).map(|proofs| proofs.at);
    if proof.stale.is_some_and(|stale| Some(stale) != at) && !goes_on {
        return Err(format!("{name} takes office in {of} by a claim of an earlier leader epoch"));
    }
    let fence = fence(&config, &proof);
    if goes_on || claim.fence == fence {
        Ok(())
    } else {
        let claimed = under(claim.fence);
        Err(format!("{name} claims {of}{claimed}: by its claim it is {fence:?}"))
    }
}

fn fence(config: &Config, proof: &Proof) -> Option<Fence> {
    let epoch = u64::from(config.fence_base) + u64::from(proof.epoch?);
    let fits = epoch < 1 << 24 && proof.offset < 1 << 40;
    fits.then(|| Fence::new(epoch << 40 | proof.offset))
}

/// A claim is void only after another claim, or a possible one.
fn voided(check: &Check<'_>, node: usize, partition: Partition) -> Result<(), String> {
    let Some(proofs) = check.own.proofs(node) else { return Ok(()) };
    let read = proofs.partitions.get(&partition);
    if read.is_none_or(|read| read.ended == Some(proofs.at)) {
        Ok(())
    } else {
        Err(format!("{} takes its claim to {partition} for void", check.name(node)))
    }
}

/// Checks the claims after all effects of the previous input.
fn lowered(check: &Check<'_>, node: usize) -> Result<(), String> {
    let life = check.history.lives[node];
    for election in 0..check.plan.elections.len() {
        let mut led = check.past(election).leaderships.iter().rev().take(8);
        let leads =
            led.any(|led| led.node == node && Some(led.life) == life && led.holds(check.now));
        if leads && proof(check, node, election).is_some_and(|(_, proof)| proof.is_none()) {
            let name = check.name(node);
            let election = check.election(election);
            return Err(format!("{name} leads {election} on, and its claim is void"));
        }
    }
    Ok(())
}

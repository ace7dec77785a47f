use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Inc, Stamp, Who};
use tenure_core::{Drift, Time};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Section 3, step 6, to the nanosecond: a grant lasts (1 + ρ)δ from the arrival of its request,
/// never shrinks but with a wall clock, stays at one address, and has a higher stamp than all
/// earlier grants.
#[derive(Debug, Default)]
pub(super) struct GrantsLast {
    /// Requests and grants, by grantor and election.
    seen: Vec<Vec<Dealings>>,
    /// Highest stamp of each grantor.
    stamps: Vec<Option<Stamp>>,
    /// Boot up to which a grantor only repeats its grants, and gives no new ones.
    before: Vec<Option<Boot>>,
}

/// Requests that one grantor got in one election, and its last grant.
#[derive(Clone, Debug, Default)]
struct Dealings {
    asked: Vec<Ask>,
    grant: Option<Grant>,
    /// Whether a grant of an earlier life may last longer than known here.
    restored: bool,
}

#[derive(Clone, Debug)]
struct Ask {
    by: Inc,
    start: Time,
    arrival: Time,
    delta: Duration,
    /// Time until the lease and the bound on skew are over, on the grantor's wall clock at the
    /// arrival. `None` without a bound on skew.
    rest: Option<Duration>,
}

#[derive(Clone, Debug)]
struct Grant {
    holder: Who,
    address: SocketAddr,
    start: Time,
    finish: Time,
    stamp: Stamp,
    freed: bool,
}

impl Property<QuorumLeases> for GrantsLast {
    const NAME: &'static str = "A grant lasts (1 + ρ)δ from the arrival of its request";
    const SOURCE: &'static str = "section 3, step 6; parked requests 1 and 3; identity";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let nodes = plan.nodes.len();
        self.seen = vec![vec![Dealings::default(); plan.elections.len()]; nodes];
        self.stamps = vec![None; nodes];
        self.before = vec![None; nodes];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.forget_grants(node);
                self.before[node] = self.stamps[node].map(|stamp| stamp.boot);
                Ok(())
            }
            Fact::Own(Own::Enters { grantor, .. }) => {
                // A grant lasts at least as long as that of its holder in an earlier epoch.
                self.forget_grants(grantor);
                Ok(())
            }
            Fact::Own(Own::Quarantined { grantor }) => {
                self.seen[grantor].iter_mut().for_each(|seen| seen.asked.clear());
                self.before[grantor] = None;
                self.stamps[grantor] = None;
                Ok(())
            }
            Fact::Own(Own::Asks { grantor, election, from, request, local, wall }) => {
                let asked = &mut self.seen[grantor][election].asked;
                let oldest = local.before(check.plan.nodes[grantor].config.parked_for());
                asked.retain(|asked| asked.arrival >= oldest);
                let by = from.who.inc;
                let start = request.start;
                let delta = request.delta;
                let rest =
                    request.wall.map(|told| told.start.after(delta).after(told.skew).since(wall));
                asked.push(Ask { by, start, arrival: local, delta, rest });
                Ok(())
            }
            Fact::Own(Own::Freed { grantor, election, .. }) => {
                if let Some(grant) = &mut self.seen[grantor][election].grant {
                    grant.freed = true;
                }
                Ok(())
            }
            Fact::Own(Own::Granted { grantor, election, record, .. })
            | Fact::Own(Own::Decided { grantor, election, record }) => {
                let at = record.stamp;
                if self.before[grantor].is_some_and(|boot| at.boot <= boot) {
                    return Ok(());
                }
                // A grantor repeats a failed write, even after a release of the grant.
                let again = |known: &Grant| {
                    let same = known.holder == record.holder && known.start == record.start;
                    same && known.stamp == at && known.freed
                };
                if self.seen[grantor][election].grant.as_ref().is_some_and(again) {
                    return Ok(());
                }
                let done = self.judge(check, grantor, election, record);
                let stamp = &mut self.stamps[grantor];
                *stamp = (*stamp).max(Some(at));
                let seen = &mut self.seen[grantor][election];
                seen.restored = false;
                seen.grant = Some(Grant {
                    holder: record.holder.clone(),
                    address: record.address,
                    start: record.start,
                    finish: record.finish,
                    stamp: at,
                    freed: false,
                });
                done.map_err(|why| {
                    let name = &check.plan.nodes[grantor].name;
                    let of = check.election(election);
                    let holder = &record.holder;
                    let start = record.start;
                    format!("{name} grants {of} to {holder} with Start {start}, and {why}")
                })
            }
            _ => Ok(()),
        }
    }
}

impl GrantsLast {
    /// Forgets the grants of a grantor.
    fn forget_grants(&mut self, grantor: usize) {
        for seen in &mut self.seen[grantor] {
            seen.grant = None;
            seen.restored = true;
        }
    }

    fn judge(
        &self,
        check: &Check<'_>,
        grantor: usize,
        election: usize,
        record: &GrantRecord,
    ) -> Result<(), String> {
        let node = &check.plan.nodes[grantor];
        let config = &node.config;
        let finish = record.finish;
        let at = record.stamp;
        let seen = &self.seen[grantor][election];
        let before = seen.grant.as_ref();
        let own = before.filter(|before| before.holder == record.holder && !before.freed);
        // The grantor then forgets the grant, sooner in a later life with a shorter lease: a
        // repetition becomes an ordinary request.
        let remembered = node.remembers();
        let known = |own: &&Grant| at.clock < own.finish.after(remembered);
        // The end on a wall clock moves with that clock.
        let moves = config.clock_skew_max.is_some();
        if let Some(own) = own.filter(|own| own.start == record.start).filter(known) {
            let grown = own.finish != finish && !moves;
            let why = || format!("did so before until {}, and not until {finish}", own.finish);
            return if grown { Err(why()) } else { Ok(()) };
        }
        if let Some(last) = self.stamps[grantor].filter(|last| *last >= at) {
            return Err(format!("its stamp {at} is not above {last}"));
        }
        if let Some(own) = own.filter(|own| at.clock < own.finish) {
            if finish < own.finish && !moves {
                return Err(format!("goes back from {} to {finish}", own.finish));
            }
            if own.address != record.address {
                return Err(format!("moves from {} to {}", own.address, record.address));
            }
        }
        if finish <= at.clock {
            return Err(format!("was over at {finish}, before {at}"));
        }
        let its = |asked: &&Ask| asked.by == record.holder.inc && asked.start == record.start;
        let mut asked = seen.asked.iter().filter(its).peekable();
        if asked.peek().is_none() {
            return Ok(());
        }
        let kept = before.filter(|before| !before.freed).map(|before| before.finish);
        let fits = |asked: &Ask| {
            let lasts = longest(config.drift, asked.rest.unwrap_or(asked.delta));
            let ends = asked.arrival.after(lasts);
            let goes_on = kept == Some(finish) || seen.restored;
            if asked.rest.is_some() {
                // A wall clock that was set back since then makes the grant longer.
                return asked.delta <= config.delta_max && finish >= ends;
            }
            asked.delta <= config.delta_max && (finish == ends || goes_on && finish > ends)
        };
        if asked.any(fits) {
            Ok(())
        } else {
            Err(format!("until {finish}, which is not what was asked for"))
        }
    }
}

/// ⌈(1 + ρ)δ⌉.
fn longest(drift: Drift, delta: Duration) -> Duration {
    let parts = 1_000_000_000 + u128::from(drift.parts_per_billion());
    let nanos = (delta.as_nanos() * parts).div_ceil(1_000_000_000);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

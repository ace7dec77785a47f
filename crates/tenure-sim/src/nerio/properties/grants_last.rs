use std::iter;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Inc, Request, Stamp, Who};
use tenure_core::{Drift, Time, WallTime};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};
use crate::nerio::walls::{ALLOWANCE, Read};

/// Section 3, step 6, to the nanosecond: a grant lasts (1 + ρ)δ from the arrival of its request,
/// and never shrinks. A grant stays at one address, and has a higher stamp than all earlier grants.
/// With a bound on skew a grant lasts until the later of its two ends (section 4); the end on the
/// wall clock moves with this clock.
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
    /// Whether a grant of an earlier life may last longer than this check knows.
    restored: bool,
}

#[derive(Clone, Debug)]
struct Ask {
    by: Inc,
    start: Time,
    arrival: Time,
    delta: Duration,
    /// Ends of the requested grant, in worlds that compare wall clocks.
    ends: Option<Ends>,
}

impl Ask {
    fn of(drift: Drift, by: Inc, request: &Request, read: Read) -> Self {
        let Request { start, delta, .. } = *request;
        let told = request.wall.map(|told| told.start.after(delta).after(told.skew));
        let ends = told.map(|wall| Ends::of(drift, wall, read));
        Self { by, start, arrival: read.local, delta, ends }
    }
}

/// The ends of a grant by two clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ends {
    wall: WallTime,
    /// End by time since boot, however the wall clock is set.
    boot: Time,
}

impl Ends {
    fn of(drift: Drift, wall: WallTime, read: Read) -> Self {
        Self { wall, boot: by_wall(drift, wall, read) }
    }

    /// The later of these ends and the ends `before`, by each clock.
    fn cover(self, before: Self) -> Self {
        Self { wall: self.wall.max(before.wall), boot: self.boot.max(before.boot) }
    }

    /// End of a grant that is decided by these clocks.
    fn last(self, drift: Drift, read: Read) -> Time {
        self.boot.max(by_wall(drift, self.wall, read))
    }
}

/// The time since boot at which the wall clock shows `wall`, at the latest.
fn by_wall(drift: Drift, wall: WallTime, read: Read) -> Time {
    read.local.after(longest(drift, wall.since(read.wall))).after(ALLOWANCE)
}

#[derive(Clone, Debug)]
struct Grant {
    holder: Who,
    address: SocketAddr,
    start: Time,
    finish: Time,
    stamp: Stamp,
    freed: bool,
    /// Possible ends in worlds that compare wall clocks; empty where they are not known. When a
    /// request arrives several times, the grantor may have granted each of the copies.
    ends: Vec<Ends>,
    read: Read,
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
                // The first grants of an epoch may last longer than requested: as long as the
                // holder's grants of earlier epochs.
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
                let read = Read { at: check.now, local, wall };
                let config = &check.plan.nodes[grantor].config;
                let ask = Ask::of(config.drift, from.who.inc, request, read);
                let asked = &mut self.seen[grantor][election].asked;
                let oldest = local.before(config.parked_for());
                asked.retain(|asked| asked.arrival >= oldest);
                asked.push(ask);
                Ok(())
            }
            Fact::Own(Own::Freed { grantor, election, .. }) => {
                if let Some(grant) = &mut self.seen[grantor][election].grant {
                    grant.freed = true;
                }
                Ok(())
            }
            Fact::Own(Own::Granted { grantor, election, record, read, .. })
            | Fact::Own(Own::Decided { grantor, election, record, read }) => {
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
                let done = self.judge(check, grantor, election, (record, read));
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
                    ends: done.as_ref().cloned().unwrap_or_default(),
                    read,
                });
                done.map(drop).map_err(|why| {
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

    /// Checks a grant, and returns its possible ends.
    fn judge(
        &self,
        check: &Check<'_>,
        grantor: usize,
        election: usize,
        (record, read): (&GrantRecord, Read),
    ) -> Result<Vec<Ends>, String> {
        let node = &check.plan.nodes[grantor];
        let config = &node.config;
        let finish = record.finish;
        let at = record.stamp;
        let seen = &self.seen[grantor][election];
        let before = seen.grant.as_ref();
        let own = before.filter(|before| before.holder == record.holder && !before.freed);
        // After `remembered` the grantor forgets the grant, sooner in a later life with a shorter
        // lease. A repetition of the request is then an ordinary request.
        let remembered = node.remembers();
        let known = |own: &&Grant| at.clock < own.finish.after(remembered);
        let moves = check.compares_wall();
        if let Some(own) = own.filter(|own| own.start == record.start).filter(known) {
            let same =
                if moves { own.may_move(check, grantor, record) } else { own.finish == finish };
            let why = || format!("did so before until {}, and not until {finish}", own.finish);
            return if same { Ok(own.ends.clone()) } else { Err(why()) };
        }
        if let Some(last) = self.stamps[grantor].filter(|last| *last >= at) {
            return Err(format!("its stamp {at} is not above {last}"));
        }
        // The end by the wall clock may come earlier than the recorded end, if the clock moves. The
        // end by time since boot never moves.
        let least = |own: &Grant| match own.least() {
            Some(boot) => boot,
            None if moves => Time::ZERO,
            None => own.finish,
        };
        if let Some(own) = own.filter(|own| at.clock < least(own)) {
            if finish < least(own) {
                return Err(format!("goes back from {} to {finish}", least(own)));
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
            return Ok(Vec::new());
        }
        let kept = before.filter(|before| !before.freed);
        let mut asked = asked.filter(|asked| asked.delta <= config.delta_max);
        let wrong = || format!("until {finish}, which is not what was asked for");
        if moves {
            // The grantor may have forgotten the earlier grant, or may know a grant that lasts
            // longer.
            let earlier = kept.map_or(&[][..], |kept| &kept.ends);
            let known = kept.is_none_or(|kept| !kept.ends.is_empty()) && !seen.restored;
            let mut possible = Vec::new();
            let mut longer = false;
            for ends in asked.filter_map(|asked| asked.ends) {
                let covers = earlier.iter().map(|before| ends.cover(*before));
                let all = iter::once(ends).chain(covers);
                possible.extend(all.filter(|ends| ends.last(config.drift, read) == finish));
                longer |= !known && finish > ends.last(config.drift, read);
            }
            possible.dedup();
            return match (longer, possible.is_empty()) {
                (true, _) => Ok(Vec::new()),
                (false, false) => Ok(possible),
                (false, true) => Err(wrong()),
            };
        }
        let goes_on = kept.is_some_and(|kept| kept.finish == finish) || seen.restored;
        let fits = |asked: &Ask| {
            let ends = asked.arrival.after(longest(config.drift, asked.delta));
            finish == ends || goes_on && finish > ends
        };
        if asked.any(fits) { Ok(Vec::new()) } else { Err(wrong()) }
    }
}

impl Grant {
    /// The earliest possible end by time since boot.
    fn least(&self) -> Option<Time> {
        self.ends.iter().map(|ends| ends.boot).min()
    }

    /// Whether the grant may last as long as this later record of the grant says, because the end
    /// on the wall clock has moved.
    fn may_move(&self, check: &Check<'_>, grantor: usize, record: &GrantRecord) -> bool {
        let Some(least) = self.least() else { return true };
        let drift = check.plan.nodes[grantor].config.drift;
        let conditions = &check.plan.conditions;
        let set_back = self.read.set_back(conditions, grantor, self.read.at, check.now);
        let longer = longest(drift, Duration::from_nanos(set_back).saturating_add(2 * ALLOWANCE));
        (least..=self.finish.after(longer)).contains(&record.finish)
    }
}

/// ⌈(1 + ρ)δ⌉.
fn longest(drift: Drift, delta: Duration) -> Duration {
    let parts = 1_000_000_000 + u128::from(drift.parts_per_billion());
    let nanos = (delta.as_nanos() * parts).div_ceil(1_000_000_000);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

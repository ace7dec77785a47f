use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Time;
use tenure_core::etcd::{
    Act, Answer, Bytes, CallId, Header, KeyValue, LeaseId, Op, Reply, Request, Txn,
};

use super::lives::Lives;
use super::{Check, Claim, Elections, Fact, Own, Property};

/// The proof of E, the end of a claim, computed again and more simply from the requests and answers
/// of each process. The span of a grant begins at its send, while no earlier lease of its id can
/// have ended. The span of a keep-alive begins at its send, once a log entry of the same term found
/// a key of ours on the lease, if that term was established before the first request for the lease.
/// A claim ends no later than the lease on which its key was found. Keys move only to a lease that
/// lasts as long.
///
/// This check remembers facts that the core has forgotten, so the check allows more than the core
/// may use.
#[derive(Debug, Default)]
pub(super) struct ClaimsAreProven {
    lives: Lives<Life>,
}

/// Requests and answers of one life.
#[derive(Debug, Default)]
struct Life {
    /// First message of each member in each term, as a number of steps.
    heard: BTreeMap<(u64, u64), u64>,
    steps: u64,
    /// Established terms: a member that had already answered in the term gave a linearizable answer
    /// in it.
    terms: Vec<u64>,
    asked: BTreeMap<CallId, Call>,
    leases: BTreeMap<LeaseId, Lease>,
    /// Send time of the last answered keep-alive, in each term.
    alive: BTreeMap<(LeaseId, u64), Time>,
    /// The leases on which each key was made or found.
    homes: BTreeMap<Bytes, Vec<LeaseId>>,
    /// End of the claim to each election.
    claims: BTreeMap<usize, Time>,
}

#[derive(Debug)]
struct Call {
    sent: Time,
    step: u64,
    what: Purpose,
}

#[derive(Debug)]
enum Purpose {
    Grant(LeaseId),
    KeepAlive(LeaseId),
    /// Confirms, with the earlier answered keep-alives.
    Confirm(BTreeMap<(LeaseId, u64), Time>),
    Create(Bytes, LeaseId),
    Move(LeaseId, Vec<Bytes>),
    Other,
}

/// A requested lease.
#[derive(Debug)]
struct Lease {
    /// Number of requests, without refused ones.
    asked: u32,
    /// The terms that were established before the first request for this lease.
    terms: Vec<u64>,
    /// Earliest end, by the first grant.
    first_end: Time,
    /// Whether etcd has reported that the lease exists.
    joined: bool,
    /// Latest known end; `None` if the lease may have ended.
    lasts: Option<Time>,
    /// E.
    proven: Option<Time>,
}

impl Property<Elections> for ClaimsAreProven {
    const NAME: &'static str = "A claim lasts as long as its lease was proven to";
    const SOURCE: &'static str = "rulings 3, 4, 6 and 14";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Own(Own::Sent { node, request, local, .. }) => {
                let counts = |ttl| counts(check, node, ttl);
                let what = self.lives[node].ask(request, local, &counts);
                if let Purpose::Move(to, keys) = &what {
                    self.lives[node].may_move(check, *to, keys).map_err(|why| {
                        format!("{} moves a key to lease {to}, {why}", check.name(node))
                    })?;
                }
                self.lives[node].note(request, local, what);
                Ok(())
            }
            Fact::Own(Own::Heard { node, answer, local }) => {
                let counts = |ttl| counts(check, node, ttl);
                self.lives[node].hear(answer, local, &counts);
                Ok(())
            }
            Fact::Lowered { node, election } => {
                self.lives[node].claims.remove(&election);
                Ok(())
            }
            Fact::Claimed(Claim { node, election, fence: Some(fence), ends, .. }) => {
                let key = &check.own.key;
                let life = &mut self.lives[node];
                life.claims.insert(election, ends);
                let proven = life.proven(key);
                if proven >= Some(ends) {
                    return Ok(());
                }
                let proven = proven.map_or("never".to_owned(), |proven| proven.to_string());
                Err(format!(
                    "{} leads {} with fence {fence} until {ends} on its clock, and what it asked \
                     and was answered proves the lease of {key} until {proven}",
                    check.name(node),
                    check.election(election),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Life {
    fn ask(&mut self, request: &Request, local: Time, counts: &dyn Fn(u32) -> Duration) -> Purpose {
        match &request.op {
            Op::Grant { lease, ttl } => {
                let first_end = local.after(counts(*ttl));
                let terms = &self.terms;
                let this = self.leases.entry(*lease).or_insert_with(|| Lease {
                    asked: 0,
                    terms: terms.clone(),
                    first_end,
                    joined: false,
                    lasts: Some(first_end),
                    proven: None,
                });
                this.asked += 1;
                Purpose::Grant(*lease)
            }
            Op::KeepAlive { lease } => Purpose::KeepAlive(*lease),
            Op::Txn(txn) if txn.deletes_nothing() => Purpose::Confirm(self.alive.clone()),
            Op::Txn(txn) => match txn.then.first() {
                Some(Act::Put { key, lease, .. }) => Purpose::Create(key.clone(), *lease),
                Some(Act::Move { lease, .. }) => {
                    Purpose::Move(*lease, moved(txn).cloned().collect())
                }
                _ => Purpose::Other,
            },
            Op::Revoke { .. } | Op::Watch { .. } | Op::Unwatch { .. } => Purpose::Other,
        }
    }

    fn note(&mut self, request: &Request, sent: Time, what: Purpose) {
        if !matches!(request.op, Op::Watch { .. } | Op::Unwatch { .. }) {
            self.asked.insert(request.call, Call { sent, step: self.steps, what });
        }
    }

    /// Keys may move to the next lease before the core knows it, so that lease must last as long as
    /// their claim.
    fn may_move(&self, check: &Check<'_>, to: LeaseId, keys: &[Bytes]) -> Result<(), String> {
        let lasts = self.leases.get(&to).and_then(Lease::proven);
        for key in keys {
            let election = check.records().election_of(key);
            let claimed = election.and_then(|election| self.claims.get(&election));
            if claimed.is_some_and(|claimed| lasts < Some(*claimed)) {
                let lasts = lasts.map_or("never".to_owned(), |lasts| lasts.to_string());
                return Err(format!("which is proven until {lasts}, and claims {key} for longer"));
            }
        }
        Ok(())
    }

    /// The proven end of the lease of a key.
    fn proven(&self, key: &Bytes) -> Option<Time> {
        let homes = self.homes.get(key)?.iter();
        homes.filter_map(|home| self.leases.get(home)?.proven()).max()
    }

    fn hear(&mut self, answer: &Answer, local: Time, counts: &dyn Fn(u32) -> Duration) {
        self.steps += 1;
        let asked = self.asked.remove(&answer.call);
        if let Some(header) = &answer.header {
            let member = (header.member, header.term);
            let before = *self.heard.entry(member).or_insert(self.steps);
            let again = asked.as_ref().is_some_and(|asked| before <= asked.step);
            let linearizable = matches!(answer.reply, Reply::Txn { .. });
            if linearizable && again && !self.terms.contains(&header.term) {
                self.terms.push(header.term);
            }
        }
        let Some(Call { sent, what, .. }) = asked else { return };
        match (what, &answer.reply) {
            (Purpose::Grant(lease), Reply::Granted { ttl }) => {
                if let Some(lease) = self.leases.get_mut(&lease) {
                    let ends = sent.after(counts(*ttl));
                    if lease.asked == 1 {
                        lease.lasts = lease.lasts.max(Some(ends));
                    }
                    lease.extend(ends, local, true);
                }
            }
            // The refused grant made no lease: only the next grant can make this lease.
            (Purpose::Grant(lease), Reply::Refused(_)) => self.made_no(lease),
            // The span of the lease begins at the first request for it.
            (Purpose::Grant(lease), Reply::LeaseExists) => {
                if let Some(lease) = self.leases.get_mut(&lease) {
                    lease.joined = true;
                }
            }
            (Purpose::KeepAlive(lease), Reply::Alive { ttl: Some(ttl) }) => {
                let ends = sent.after(counts(*ttl));
                if let Some(this) = self.leases.get_mut(&lease) {
                    this.extend(ends, local, false);
                }
                if let Some(Header { term, .. }) = &answer.header {
                    let known = self.alive.entry((lease, *term)).or_insert(ends);
                    *known = ends.max(*known);
                }
            }
            (Purpose::Confirm(alive), Reply::Txn { found, .. }) => {
                let Some(Header { term, .. }) = &answer.header else { return };
                self.confirm(found, &alive, *term, local);
            }
            (Purpose::Create(key, lease), Reply::Txn { succeeded: true, .. }) => {
                self.live_on(&key, lease);
            }
            (Purpose::Move(to, keys), Reply::Txn { succeeded: true, .. }) => {
                keys.iter().for_each(|key| self.live_on(key, to));
            }
            _ => {}
        }
        if let Reply::Txn { found, .. } = &answer.reply {
            for kv in found.iter().flatten() {
                kv.lease.into_iter().for_each(|lease| self.live_on(&kv.key, lease));
            }
        }
    }

    fn made_no(&mut self, lease: LeaseId) {
        let Some(this) = self.leases.get_mut(&lease) else { return };
        this.asked -= 1;
        if this.asked == 0 {
            self.leases.remove(&lease);
        }
    }

    fn live_on(&mut self, key: &Bytes, lease: LeaseId) {
        if self.leases.contains_key(&lease) {
            let homes = self.homes.entry(key.clone()).or_default();
            if !homes.contains(&lease) {
                homes.push(lease);
            }
        }
    }

    fn confirm(
        &mut self,
        found: &[Option<KeyValue>],
        alive: &BTreeMap<(LeaseId, u64), Time>,
        term: u64,
        local: Time,
    ) {
        for lease in found.iter().flatten().filter_map(|kv| kv.lease) {
            let Some(this) = self.leases.get_mut(&lease) else { continue };
            if let Some(ends) = alive.get(&(lease, term)).filter(|_| this.terms.contains(&term)) {
                this.extend(*ends, local, true);
            }
        }
    }
}

impl Lease {
    /// E.
    fn proven(&self) -> Option<Time> {
        self.proven.max(self.joined.then_some(self.first_end))
    }

    /// Extends the lease until `ends` by an answer at `now`, unless it has ended before.
    fn extend(&mut self, ends: Time, now: Time, proves: bool) {
        if self.lasts.is_none_or(|until| until <= now) {
            self.lasts = None;
            return;
        }
        self.lasts = self.lasts.max(Some(ends));
        if proves {
            self.proven = self.proven.max(Some(ends));
        }
    }
}

fn moved(txn: &Txn) -> impl Iterator<Item = &Bytes> {
    txn.then.iter().filter(|act| matches!(act, Act::Move { .. })).map(Act::key)
}

/// The shortest span of a lease of `ttl` seconds on the clock of a node, while etcd's leader has a
/// fast clock: TTL·(1 − ρ)/(1 + ρ).
fn counts(check: &Check<'_>, node: usize, ttl: u32) -> Duration {
    let config = check.plan.ours(node).map(|ours| &ours.config);
    let drift = config.map_or(0, |config| u128::from(config.drift.parts_per_billion()));
    let nanos = u128::from(ttl) * 1_000_000_000 * (1_000_000_000 - drift);
    Duration::from_nanos((nanos / (1_000_000_000 + drift)) as u64)
}

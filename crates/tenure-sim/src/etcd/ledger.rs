//! What is in the store, and who led when, in true time: what the properties look things up in.
//! Written after they have seen a fact, so that they see it against what was before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tenure_core::Fence;
use tenure_core::etcd::{
    Act, Bytes, CallId, Compare, KeyValue, LeaseId, Op, Request, Revision, Txn,
};

use super::bent::Bent;
use super::fact::Fact;
use super::plan::Plan;
use super::store::note::{Cause, MEDDLED, Note};

/// A fence has room for revisions below.
pub const FENCE_END: Revision = 1 << 48;
/// How much of the past is kept of each election.
const PAST: usize = 256;

/// One leadership: in office from `from` to `until`.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// The node.
    pub node: usize,
    /// Its life.
    pub life: u64,
    /// Its fence.
    pub fence: Fence,
    /// Its key.
    pub key: Bytes,
    /// When its claim was first raised.
    pub from: u64,
    /// When its claim ends, or was lowered.
    pub until: u64,
    /// When its claim would have ended had it not been lowered.
    pub proven: u64,
    /// Whether its key or lease was taken away by somebody who may do so, or the store went back:
    /// that is outside the promise.
    pub robbed: bool,
}

impl Leadership {
    /// Whether it is this life's leadership with this fence. After the store went `back` a fence
    /// may come again.
    #[must_use]
    pub fn is(&self, node: usize, life: u64, fence: Fence, back: u64) -> bool {
        (self.node, self.life, self.fence) == (node, life, fence) && self.until > back
    }

    /// Whether its claim holds at `at`.
    #[must_use]
    pub const fn holds(&self, at: u64) -> bool {
        self.from <= at && at < self.until
    }
}

/// Who was first, from a time on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct First {
    /// Since when.
    pub since: u64,
    /// The key, if there was any.
    pub key: Option<KeyValue>,
}

/// Everything about one election.
#[derive(Clone, Debug)]
pub struct Annals {
    /// What its keys begin with.
    pub prefix: Bytes,
    /// The leaderships, in the order in which they began.
    pub leaderships: Vec<Leadership>,
    /// Who was first when, the latest last.
    pub firsts: VecDeque<First>,
}

impl Annals {
    /// The leadership whose claim holds at `at`.
    #[must_use]
    pub fn leader(&self, at: u64) -> Option<&Leadership> {
        self.leaderships.iter().rev().find(|leadership| leadership.holds(at))
    }

    /// The first key now.
    #[must_use]
    pub fn first(&self) -> Option<&KeyValue> {
        self.firsts.back().and_then(|first| first.key.as_ref())
    }

    /// Who was first at any instant from `from` on.
    pub fn firsts_since(&self, from: u64) -> impl Iterator<Item = &First> {
        let over = self.firsts.iter().skip(1).take_while(|next| next.since < from).count();
        self.firsts.iter().skip(over)
    }
}

/// The annals of all elections, what is in the store, and the lives of all nodes.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// By the number of the election.
    pub annals: Vec<Annals>,
    /// What is in the store.
    pub keys: BTreeMap<Bytes, KeyValue>,
    /// When each lease that exists is due to end.
    pub leases: BTreeMap<LeaseId, u64>,
    /// Which life asked for a lease.
    pub owners: BTreeMap<LeaseId, (usize, u64)>,
    /// When a key went last, and why.
    pub gone: BTreeMap<Bytes, (u64, Cause)>,
    /// Keys that an operator has put on another lease, or has put back.
    overwritten: BTreeSet<Bytes>,
    /// The life of each node that runs.
    pub lives: Vec<Option<u64>>,
    /// When each node's life began or ended last.
    pub since: Vec<u64>,
    /// When each node last asked as a candidate, and as an observer, by election.
    pub asked: Vec<Vec<[u64; 2]>>,
    /// When each node asked what was answered last of what only reads keys of its own, or moves
    /// them.
    pub confirmed: Vec<u64>,
    /// And when it asked what is not answered yet.
    asking: Vec<BTreeMap<CallId, u64>>,
    /// When a backup was restored last.
    pub restored: Option<u64>,
    /// Whether nobody can notice that: what is claimed since is outside the promise.
    unnoticed: bool,
    /// Since when etcd has a leader, or none.
    pub leader: (bool, u64),
}

impl Ledger {
    pub(super) fn new(plan: &Plan) -> Self {
        let prefix = |name: &tenure_core::ElectionName| format!("{name}/").as_str().into();
        let annals = |name| Annals {
            prefix: prefix(name),
            leaderships: Vec::new(),
            firsts: VecDeque::from([First { since: 0, key: None }]),
        };
        let nodes = plan.nodes.len();
        Self {
            annals: plan.elections.iter().map(annals).collect(),
            keys: BTreeMap::new(),
            leases: BTreeMap::new(),
            owners: BTreeMap::new(),
            gone: BTreeMap::new(),
            overwritten: BTreeSet::new(),
            lives: vec![None; nodes],
            since: vec![0; nodes],
            asked: vec![vec![[0; 2]; plan.elections.len()]; nodes],
            confirmed: vec![0; nodes],
            asking: vec![BTreeMap::new(); nodes],
            restored: None,
            unnoticed: plan.bent == Bent::Bumped,
            leader: (false, 0),
        }
    }

    /// Which election a key belongs to.
    #[must_use]
    pub fn election_of(&self, key: &Bytes) -> Option<usize> {
        self.annals.iter().position(|annals| key.starts_with(&annals.prefix))
    }

    /// Whether a backup was restored at or after `since`.
    #[must_use]
    pub fn went_back(&self, since: u64) -> bool {
        self.restored.is_some_and(|at| at >= since)
    }

    /// Whether a key is not there, or not on its lease, because somebody took it away who may do
    /// so, or because the store went back.
    #[must_use]
    pub fn is_taken(&self, key: &Bytes) -> bool {
        let taken = matches!(self.gone.get(key), Some((_, Cause::Meddled)));
        self.overwritten.contains(key)
            || !self.keys.contains_key(key) && (taken || self.restored.is_some())
    }

    pub(super) fn note(&mut self, now: u64, fact: &Fact<'_>) {
        match fact {
            Fact::Started { node, life } => {
                (self.lives[*node], self.since[*node]) = (Some(*life), now);
            }
            Fact::Crashed { node } => {
                (self.lives[*node], self.since[*node]) = (None, now);
                self.asking[*node].clear();
                for annals in &mut self.annals {
                    let of_node = annals.leaderships.iter_mut().filter(|l| l.node == *node);
                    of_node.for_each(|l| l.until = l.until.min(now));
                }
            }
            Fact::Claimed { .. } => self.claimed(now, fact),
            Fact::Lowered { node, election } => {
                let leaderships = &mut self.annals[*election].leaderships;
                for leadership in leaderships.iter_mut().filter(|l| l.node == *node) {
                    leadership.until = leadership.until.min(now);
                }
            }
            Fact::Sent { node, life, request, .. } => self.sent(now, *node, *life, request),
            Fact::Heard { node, answer, .. } => {
                if let Some(asked) = self.asking[*node].remove(&answer.call) {
                    self.confirmed[*node] = asked;
                }
            }
            Fact::Stored(note) => self.stored(now, note),
            _ => {}
        }
    }

    fn claimed(&mut self, now: u64, fact: &Fact<'_>) {
        let Fact::Claimed { node, life, election, fence, key, until, .. } = fact else { return };
        // A key of that name may have been restored.
        let is_other = |kv: &KeyValue| kv.created != Self::created(*fence);
        let older = self.restored.is_some() && self.keys.get(*key).is_some_and(is_other);
        let unnoticed = self.unnoticed && self.restored.is_some();
        let robbed = self.is_taken(key) || older || unnoticed;
        let leaderships = &mut self.annals[*election].leaderships;
        let back = self.restored.unwrap_or(0);
        let goes_on = |l: &Leadership| !l.robbed || l.until >= now;
        let same = |l: &&mut Leadership| l.is(*node, *life, *fence, back) && goes_on(l);
        if let Some(last) = leaderships.iter_mut().rev().find(same) {
            last.until = last.until.max(*until);
            last.proven = last.until;
        } else if *until > now {
            let (node, life, fence, key) = (*node, *life, *fence, (*key).clone());
            let (from, until, proven) = (now, *until, *until);
            leaderships.push(Leadership { node, life, fence, key, from, until, proven, robbed });
        }
    }

    fn sent(&mut self, now: u64, node: usize, life: u64, request: &Request) {
        match &request.op {
            Op::Grant { lease, .. } => {
                self.owners.insert(*lease, (node, life));
            }
            Op::KeepAlive { lease } => {
                // One that it was handed.
                let owner = self.owners.entry(*lease).or_insert((node, life));
                if owner.0 == node {
                    owner.1 = life;
                }
            }
            Op::Txn(txn) => self.asked(now, node, request.call, txn),
            Op::Revoke { .. } | Op::Watch { .. } | Op::Unwatch { .. } => {}
        }
    }

    fn asked(&mut self, now: u64, node: usize, call: CallId, txn: &Txn) {
        let key = |act: &Act| match act {
            Act::Put { key, .. }
            | Act::Move { key, .. }
            | Act::Proclaim { key, .. }
            | Act::Delete { key } => Some(key.clone()),
            Act::Read(read) => match &read.keys {
                tenure_core::etcd::Keys::One(key) => Some(key.clone()),
                tenure_core::etcd::Keys::Prefix(_) => None,
            },
        };
        // On keys that are moved each claim stands from then on, as it does on those it confirms.
        if matches!(txn.then.first(), Some(Act::Move { .. })) || txn.deletes_nothing() {
            self.asking[node].insert(call, now);
            return;
        }
        if let Some(Compare::Created { key, .. }) = txn.when.first() {
            if let Some(election) = self.election_of(key) {
                self.asked[node][election][0] = now;
            }
            return;
        }
        // A look that lacks its condition.
        if let [Act::Read(read), Act::Read(_)] = &txn.then[..]
            && let tenure_core::etcd::Keys::Prefix(prefix) = &read.keys
            && let Some(election) = self.election_of(prefix)
        {
            self.asked[node][election][0] = now;
            return;
        }
        if !txn.then.is_empty() && txn.then.iter().all(|act| key(act).is_some()) {
            self.asking[node].insert(call, now);
        } else if let [Act::Read(read)] = &txn.then[..]
            && let tenure_core::etcd::Keys::Prefix(prefix) = &read.keys
            && let Some(election) = self.election_of(prefix)
        {
            self.asked[node][election][1] = now;
        }
    }

    fn stored(&mut self, now: u64, note: &Note) {
        match note {
            Note::Put(kv) => {
                // Or it was taken away and put back, with others, in one transaction each.
                let back = self.gone.get(&kv.key) == Some(&(now, Cause::Meddled));
                if kv.value == MEDDLED.into() || back {
                    self.overwritten.insert(kv.key.clone());
                    self.gone.insert(kv.key.clone(), (now, Cause::Meddled));
                    self.rob(now, |leadership| leadership.key == kv.key);
                }
                self.keys.insert(kv.key.clone(), kv.clone());
            }
            Note::Gone { key, cause } => {
                self.keys.remove(key);
                let foul = self.overwritten.remove(key);
                let cause = if foul { &Cause::Meddled } else { cause };
                self.gone.insert(key.clone(), (now, *cause));
                if matches!(cause, Cause::Meddled) {
                    self.rob(now, |leadership| leadership.key == *key);
                }
            }
            Note::Lease { lease, ends } => {
                self.leases.insert(*lease, *ends);
            }
            Note::LeaseOver { lease, .. } => {
                self.leases.remove(lease);
            }
            Note::Leader(leader) => {
                if leader.is_some() != self.leader.0 {
                    self.leader = (leader.is_some(), now);
                }
            }
            Note::Restored { keys, leases } => {
                self.keys = keys.iter().map(|kv| (kv.key.clone(), kv.clone())).collect();
                self.leases = leases.iter().map(|lease| (*lease, u64::MAX)).collect();
                self.restored = Some(now);
                self.rob(now, |_| true);
            }
        }
        self.find_firsts(now);
    }

    fn rob(&mut self, now: u64, is: impl Fn(&Leadership) -> bool) {
        for annals in &mut self.annals {
            let held = annals.leaderships.iter_mut().filter(|l| l.until > now && is(l));
            held.for_each(|leadership| leadership.robbed = true);
        }
    }

    fn find_firsts(&mut self, now: u64) {
        for annals in &mut self.annals {
            let of_election = self.keys.values().filter(|kv| kv.key.starts_with(&annals.prefix));
            let first = of_election.min_by_key(|kv| kv.created);
            if annals.first() == first {
                continue;
            }
            let key = first.cloned();
            annals.firsts.push_back(First { since: now, key });
            if annals.firsts.len() > PAST {
                annals.firsts.pop_front();
            }
        }
    }

    /// The create revision that a fence names.
    #[must_use]
    pub const fn created(fence: Fence) -> Revision {
        fence.number() & (FENCE_END - 1)
    }
}

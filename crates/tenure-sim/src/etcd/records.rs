//! Contents of the store and requests of each life, in true time. The records are written after the
//! checks have seen a fact, so that checks see the state before the fact.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tenure_core::Fence;
use tenure_core::etcd::{
    Act, Bytes, CallId, Compare, KeyValue, Keys, LeaseId, Op, Request, Revision, Txn,
};

use super::fact::Own;
use super::focus::Focus;
use super::plan::{FENCE_END, Plan};
use super::store::note::{Cause, MEDDLED, Note};
use crate::scenario::{Fact, History, Leadership, Scenario};

/// The number of past entries of each election.
const PAST: usize = 256;

/// The first key of an election, and the time from which it is the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct First {
    pub since: u64,
    /// The first key; `None` while the election has no key.
    pub key: Option<KeyValue>,
}

/// The keys that were the first in the queue of one election, one after the other.
#[derive(Clone, Debug)]
pub struct Firsts {
    /// Common prefix of the election's keys.
    pub prefix: Bytes,
    /// First keys in order of time.
    pub firsts: VecDeque<First>,
}

impl Firsts {
    #[must_use]
    pub fn now(&self) -> Option<&KeyValue> {
        self.firsts.back().and_then(|first| first.key.as_ref())
    }

    /// The first keys from the true time `from` on.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &First> {
        let over = self.firsts.iter().skip(1).take_while(|next| next.since < from).count();
        self.firsts.iter().skip(over)
    }
}

/// Details of a leadership on etcd.
#[derive(Clone, Debug)]
pub struct Details {
    /// Key of the leadership.
    pub key: Bytes,
    /// Whether an authorized stranger removed the leadership's key or lease, or the store went
    /// back: both are outside the promise.
    pub robbed: bool,
}

/// Contents of the store, and the requests of each life.
#[derive(Clone, Debug)]
pub struct Records {
    /// History of the first key of each election, by the election's number.
    pub firsts: Vec<Firsts>,
    pub keys: BTreeMap<Bytes, KeyValue>,
    /// Time at which each lease is due to end.
    pub leases: BTreeMap<LeaseId, u64>,
    /// Node and life that asked for each lease.
    pub owners: BTreeMap<LeaseId, (usize, u64)>,
    /// Time and cause of each key's last removal.
    pub gone: BTreeMap<Bytes, (u64, Cause)>,
    /// Keys that an operator has put on another lease, or has put back.
    overwritten: BTreeSet<Bytes>,
    /// Time of each node's last request as a candidate, and as an observer, by election.
    pub asked: Vec<Vec<[u64; 2]>>,
    /// Send time of each node's last answered request that only reads or moves its own keys.
    pub confirmed: Vec<u64>,
    /// Send times of each node's unanswered requests that only read or move its own keys.
    asking: Vec<BTreeMap<CallId, u64>>,
    /// Time of the last restore.
    pub restored: Option<u64>,
    /// Whether no client can notice the restore: later claims are then outside the promise.
    unnoticed: bool,
}

impl Records {
    pub(super) fn new(plan: &Plan) -> Self {
        let firsts = |name| Firsts {
            prefix: format!("{name}/").as_str().into(),
            firsts: VecDeque::from([First { since: 0, key: None }]),
        };
        let nodes = plan.nodes.len();
        Self {
            firsts: plan.elections.iter().map(firsts).collect(),
            keys: BTreeMap::new(),
            leases: BTreeMap::new(),
            owners: BTreeMap::new(),
            gone: BTreeMap::new(),
            overwritten: BTreeSet::new(),
            asked: vec![vec![[0; 2]; plan.elections.len()]; nodes],
            confirmed: vec![0; nodes],
            asking: vec![BTreeMap::new(); nodes],
            restored: None,
            unnoticed: plan.own.store.focus == Focus::Bumped,
        }
    }

    #[must_use]
    pub fn election_of(&self, key: &Bytes) -> Option<usize> {
        self.firsts.iter().position(|election| key.starts_with(&election.prefix))
    }

    /// Whether a backup was restored at or after `since`.
    #[must_use]
    pub fn went_back(&self, since: u64) -> bool {
        self.restored.is_some_and(|at| at >= since)
    }

    /// Whether a key is missing, or not on its lease, because an authorized stranger removed it or
    /// the store went back.
    #[must_use]
    pub fn is_taken(&self, key: &Bytes) -> bool {
        let taken = matches!(self.gone.get(key), Some((_, Cause::Meddled)));
        self.overwritten.contains(key)
            || !self.keys.contains_key(key) && (taken || self.restored.is_some())
    }

    /// Whether a present claim with this key was outside the promise from its beginning.
    #[must_use]
    pub fn is_robbed(&self, key: &Bytes, fence: Option<Fence>) -> bool {
        // A restored key may have the same name.
        let is_other = |kv: &KeyValue| Some(kv.created) != fence.map(Self::created);
        let older = self.restored.is_some() && self.keys.get(key).is_some_and(is_other);
        let unnoticed = self.unnoticed && self.restored.is_some();
        self.is_taken(key) || older || unnoticed
    }

    #[inline(always)]
    pub(super) fn note<S>(&mut self, history: &mut History<Details>, now: u64, fact: Fact<'_, S>)
    where
        S: for<'a> Scenario<Fact<'a> = Own<'a>>,
    {
        match fact {
            Fact::Crashed { node } => {
                self.asking[node].clear();
                // End the claims of this life. The next life may get the same lease from outside,
                // find the key by that lease, and go on.
                for past in &mut history.elections {
                    let of_node = past.leaderships.iter_mut().filter(|led| led.node == node);
                    of_node.for_each(|led| led.until = led.until.min(now));
                }
            }
            Fact::Own(Own::Sent { node, life, request }) => {
                self.sent(now, node, life, request);
            }
            Fact::Own(Own::Heard { node, answer }) => {
                if let Some(asked) = self.asking[node].remove(&answer.call) {
                    self.confirmed[node] = asked;
                }
            }
            Fact::Own(Own::Stored(note)) => self.stored(history, now, note),
            _ => {}
        }
    }

    fn sent(&mut self, now: u64, node: usize, life: u64, request: &Request) {
        match &request.op {
            Op::Grant { lease, .. } => {
                self.owners.insert(*lease, (node, life));
            }
            Op::KeepAlive { lease } => {
                // A lease from outside passes to the next life of its node.
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
        let of_one = |act: &Act| match act {
            Act::Read(read) => matches!(read.keys, Keys::One(_)),
            _ => true,
        };
        // A claim on moved keys is measured from this time, like a claim on confirmed keys.
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
        // A read of the first keys, without the condition of a win.
        if let [Act::Read(read), Act::Read(_)] = &txn.then[..]
            && let Keys::Prefix(prefix) = &read.keys
            && let Some(election) = self.election_of(prefix)
        {
            self.asked[node][election][0] = now;
            return;
        }
        if !txn.then.is_empty() && txn.then.iter().all(of_one) {
            self.asking[node].insert(call, now);
        } else if let [Act::Read(read)] = &txn.then[..]
            && let Keys::Prefix(prefix) = &read.keys
            && let Some(election) = self.election_of(prefix)
        {
            self.asked[node][election][1] = now;
        }
    }

    fn stored(&mut self, history: &mut History<Details>, now: u64, note: &Note) {
        match note {
            Note::Put(kv) => {
                // A stranger removed the key in one transaction, and put it back in another, with
                // other keys.
                let back = self.gone.get(&kv.key) == Some(&(now, Cause::Meddled));
                if kv.value == MEDDLED.into() || back {
                    self.overwritten.insert(kv.key.clone());
                    self.gone.insert(kv.key.clone(), (now, Cause::Meddled));
                    rob(history, now, |led| led.own.key == kv.key);
                }
                self.keys.insert(kv.key.clone(), kv.clone());
            }
            Note::Gone { key, cause } => {
                self.keys.remove(key);
                let foul = self.overwritten.remove(key);
                let cause = if foul { &Cause::Meddled } else { cause };
                self.gone.insert(key.clone(), (now, *cause));
                if matches!(cause, Cause::Meddled) {
                    rob(history, now, |led| led.own.key == *key);
                }
            }
            Note::Lease { lease, ends } => {
                self.leases.insert(*lease, *ends);
            }
            Note::LeaseOver { lease, .. } => {
                self.leases.remove(lease);
            }
            Note::Leader(_) => {}
            Note::Restored { keys, leases } => {
                self.keys = keys.iter().map(|kv| (kv.key.clone(), kv.clone())).collect();
                self.leases = leases.iter().map(|lease| (*lease, u64::MAX)).collect();
                self.restored = Some(now);
                rob(history, now, |_| true);
            }
        }
        self.find_firsts(now);
    }

    fn find_firsts(&mut self, now: u64) {
        for election in &mut self.firsts {
            let of_election = self.keys.values().filter(|kv| kv.key.starts_with(&election.prefix));
            let first = of_election.min_by_key(|kv| kv.created);
            if election.now() == first {
                continue;
            }
            let key = first.cloned();
            election.firsts.push_back(First { since: now, key });
            if election.firsts.len() > PAST {
                election.firsts.pop_front();
            }
        }
    }

    /// The node and the life that asked for the lease of a key.
    #[must_use]
    pub fn owner_of(&self, kv: &KeyValue) -> Option<&(usize, u64)> {
        self.owners.get(&kv.lease?)
    }

    #[must_use]
    pub const fn created(fence: Fence) -> Revision {
        fence.number() & (FENCE_END - 1)
    }
}

/// Marks leaderships as outside the promise: those that last, and for which `is` holds.
fn rob(history: &mut History<Details>, now: u64, is: impl Fn(&Leadership<Details>) -> bool) {
    for past in &mut history.elections {
        let held = past.leaderships.iter_mut().filter(|led| led.until > now && is(led));
        held.for_each(|led| led.own.robbed = true);
    }
}

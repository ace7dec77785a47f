//! The state on which the members of etcd agree: keys, leases, revisions; and the effect of a log
//! on that state.

use std::collections::BTreeMap;

use tenure_core::etcd::{
    Act, Bytes, Change, Compare, KeyValue, Keys, LeaseId, Pick, Read, Refusal, Reply, Revision, Txn,
};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    Txn(Txn),
    Grant(LeaseId, u32),
    /// The end of a lease, and of its keys.
    Revoke(LeaseId),
    /// Forgets the history before this revision.
    Compact(Revision),
    /// Whether the quota is used up.
    Full(bool),
    /// An entry that is carried out even if the quota is used up.
    Anyway(Box<Self>),
}

impl Entry {
    /// Whether the entry needs room: a grant, or a transaction that may put, whichever branch it
    /// takes.
    #[must_use]
    pub fn needs_room(&self) -> bool {
        match self {
            Self::Txn(txn) => txn.then.iter().chain(&txn.otherwise).any(is_put),
            Self::Grant(..) => true,
            Self::Revoke(_) | Self::Compact(_) | Self::Full(_) | Self::Anyway(_) => false,
        }
    }

    /// The entry itself, without the wrapper.
    #[must_use]
    pub fn deed(&self) -> &Self {
        if let Self::Anyway(entry) = self { entry } else { self }
    }
}

/// The state of the store after a prefix of the log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// Grows by one with every entry that writes.
    pub revision: Revision,
    /// Last revision whose changes are forgotten.
    pub compacted: Revision,
    pub keys: BTreeMap<Bytes, KeyValue>,
    /// Leases, with the granted seconds.
    pub leases: BTreeMap<LeaseId, u32>,
    /// Whether the quota is used up.
    pub full: bool,
    history: BTreeMap<Revision, Vec<Change>>,
}

impl Default for State {
    /// An empty store is at revision 1.
    fn default() -> Self {
        Self {
            revision: 1,
            compacted: 0,
            keys: BTreeMap::new(),
            leases: BTreeMap::new(),
            full: false,
            history: BTreeMap::new(),
        }
    }
}

impl State {
    /// Applies an entry, and returns its answer; the changes are at the end of the history.
    pub fn apply(&mut self, entry: &Entry) -> Reply {
        if self.full && entry.needs_room() {
            return no_space();
        }
        match entry.deed() {
            Entry::Txn(txn) => self.txn(txn),
            Entry::Grant(lease, _) if self.leases.contains_key(lease) => Reply::LeaseExists,
            Entry::Grant(lease, ttl) => {
                self.leases.insert(*lease, *ttl);
                Reply::Granted { ttl: *ttl }
            }
            Entry::Revoke(lease) => match self.leases.remove(lease) {
                Some(_) => {
                    self.drop_keys(*lease);
                    Reply::Revoked
                }
                None => Reply::LeaseGone,
            },
            Entry::Compact(revision) => {
                self.compacted = self.compacted.max((*revision).min(self.revision));
                self.history = self.history.split_off(&(self.compacted + 1));
                Reply::Watching
            }
            Entry::Full(full) => {
                self.full = *full;
                Reply::Watching
            }
            // `Anyway` is never nested.
            Entry::Anyway(entry) => self.apply(entry),
        }
    }

    /// Deletes all keys of a lease in one revision.
    fn drop_keys(&mut self, lease: LeaseId) {
        let of_lease = self.keys.values().filter(|kv| kv.lease == Some(lease));
        let keys: Vec<Bytes> = of_lease.map(|kv| kv.key.clone()).collect();
        if keys.is_empty() {
            return;
        }
        self.revision += 1;
        let revision = self.revision;
        let gone = |key: Bytes| {
            self.keys.remove(&key);
            Change::Deleted { key, revision }
        };
        let changes = keys.into_iter().map(gone).collect();
        self.history.insert(revision, changes);
    }

    /// The refusal of a transaction that attaches a key to a missing lease.
    fn objection(&self, acts: &[Act]) -> Option<Reply> {
        let lacks_lease = |lease: LeaseId| lease.0 != 0 && !self.leases.contains_key(&lease);
        acts.iter().filter_map(attaches).any(lacks_lease).then_some(Reply::LeaseGone)
    }

    /// Whether a transaction takes its first branch now.
    fn holds(&self, txn: &Txn) -> bool {
        let created = |key| self.keys.get(key).map_or(0, |kv: &KeyValue| kv.created);
        let lease = |key| self.keys.get(key).and_then(|kv: &KeyValue| kv.lease);
        txn.when.iter().all(|compare| match compare {
            Compare::Created { key, revision } => created(key) == *revision,
            // A missing key compares as zero, like a key without a lease.
            Compare::Lease { key, lease: wanted } => lease(key).unwrap_or(LeaseId(0)) == *wanted,
        })
    }

    fn txn(&mut self, txn: &Txn) -> Reply {
        let succeeded = self.holds(txn);
        let acts = if succeeded { &txn.then } else { &txn.otherwise };
        if let Some(objection) = self.objection(acts) {
            return objection;
        }
        let revision = self.revision + 1;
        let mut changes = Vec::new();
        let mut found = Vec::new();
        for act in acts {
            match act {
                Act::Put { key, value, lease } => {
                    let created = self.keys.get(key).map_or(revision, |kv| kv.created);
                    let lease = Some(*lease).filter(|lease| lease.0 != 0);
                    let key = key.clone();
                    let value = value.clone();
                    let kv = KeyValue { key, value, created, modified: revision, lease };
                    self.keys.insert(kv.key.clone(), kv.clone());
                    changes.push(Change::Put(kv));
                }
                Act::Move { key, lease } => changes.extend(self.change(key, revision, |kv| {
                    kv.lease = Some(*lease);
                })),
                Act::Proclaim { key, value } => changes.extend(self.change(key, revision, |kv| {
                    kv.value = value.clone();
                })),
                Act::Delete { key } => {
                    if self.keys.remove(key).is_some() {
                        changes.push(Change::Deleted { key: key.clone(), revision });
                    }
                }
                Act::Read(read) => found.push(self.read(read)),
            }
        }
        if !changes.is_empty() {
            self.revision = revision;
            self.history.insert(revision, changes);
        }
        Reply::Txn { succeeded, found }
    }

    /// Writes an existing key, and keeps its other fields.
    fn change(
        &mut self,
        key: &Bytes,
        modified: Revision,
        change: impl FnOnce(&mut KeyValue),
    ) -> Option<Change> {
        let kv = self.keys.get_mut(key)?;
        kv.modified = modified;
        change(kv);
        Some(Change::Put(kv.clone()))
    }

    /// The answer to a read-only transaction.
    #[must_use]
    pub fn look(&self, txn: &Txn) -> Reply {
        let succeeded = self.holds(txn);
        let acts = if succeeded { &txn.then } else { &txn.otherwise };
        let reads = acts.iter().filter_map(|act| match act {
            Act::Read(read) => Some(self.read(read)),
            _ => None,
        });
        Reply::Txn { succeeded, found: reads.collect() }
    }

    /// A read without values reports no leases, either, as in etcd 3.7.
    fn read(&self, Read { keys, pick, keys_only }: &Read) -> Option<KeyValue> {
        let found = self.pick(keys, *pick)?;
        Some(if *keys_only {
            KeyValue { value: Bytes::new(b""), lease: None, ..found }
        } else {
            found
        })
    }

    fn pick(&self, keys: &Keys, pick: Pick) -> Option<KeyValue> {
        let mut all = self.keys.values().filter(|kv| keys.contains(&kv.key));
        match keys {
            Keys::One(key) => self.keys.get(key).cloned(),
            Keys::Prefix(_) => match pick {
                Pick::First => all.min_by_key(|kv| kv.created).cloned(),
                Pick::LastUpTo(most) => {
                    // Keys of one transaction have one revision: take the first in key order.
                    let newer = |best: &KeyValue, kv: &KeyValue| kv.created > best.created;
                    let first = all.find(|kv| kv.created <= most)?;
                    let rest = all.filter(|kv| kv.created <= most);
                    Some(rest.fold(first, |best, kv| if newer(best, kv) { kv } else { best }))
                        .cloned()
                }
            },
        }
    }

    /// Raises later revisions above this one, and forgets the earlier history.
    pub fn bump(&mut self, revision: Revision) {
        self.revision = revision;
        self.compacted = revision;
        self.history.clear();
    }

    /// The known changes from a revision on, revision by revision.
    pub fn since(&self, from: Revision) -> impl Iterator<Item = (Revision, &Vec<Change>)> {
        self.history.range(from..).map(|(revision, changes)| (*revision, changes))
    }

    pub fn firsts(&self) -> impl Iterator<Item = &KeyValue> {
        let election = |kv: &KeyValue| {
            let key = kv.key.as_slice();
            key.iter().position(|byte| *byte == b'/').map(|end| Bytes::new(&key[..=end]))
        };
        let is_first = move |kv: &&KeyValue| {
            let first = election(kv).and_then(|prefix| self.first(&prefix));
            first.is_some_and(|first| first.key == kv.key)
        };
        self.keys.values().filter(is_first)
    }

    /// The key with `prefix` and the lowest create revision.
    #[must_use]
    pub fn first(&self, prefix: &Bytes) -> Option<&KeyValue> {
        let all = self.keys.values().filter(|kv| kv.key.starts_with(prefix));
        all.min_by_key(|kv| kv.created)
    }
}

const fn attaches(act: &Act) -> Option<LeaseId> {
    match act {
        Act::Put { lease, .. } | Act::Move { lease, .. } => Some(*lease),
        Act::Proclaim { .. } | Act::Delete { .. } | Act::Read(_) => None,
    }
}

const fn is_put(act: &Act) -> bool {
    matches!(act, Act::Put { .. } | Act::Move { .. } | Act::Proclaim { .. })
}

/// The refusal for lack of room.
#[must_use]
pub fn no_space() -> Reply {
    Reply::Refused(Refusal::NoSpace { said: "etcdserver: mvcc: database space exceeded".into() })
}

/// The number of operations in a transaction, as etcd counts them.
#[must_use]
pub fn operations(txn: &Txn) -> usize {
    txn.when.len().max(txn.then.len()).max(txn.otherwise.len())
}

/// Whether an operation in either branch makes the transaction linearizable.
#[must_use]
pub fn is_linearizable(txn: &Txn) -> bool {
    !txn.then.is_empty() || !txn.otherwise.is_empty()
}

/// Whether the transaction goes into the log: a read-only transaction does not.
#[must_use]
pub fn writes(txn: &Txn) -> bool {
    txn.then.iter().chain(&txn.otherwise).any(|act| !matches!(act, Act::Read(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, lease: i64) -> Txn {
        let value = "v".into();
        let lease = LeaseId(lease);
        let then = vec![Act::Put { key: key.into(), value, lease }];
        let read = Act::read(key.into());
        let when = vec![Compare::Created { key: key.into(), revision: 0 }];
        Txn { when, then, otherwise: vec![read] }
    }

    fn read(keys: Keys, pick: Pick) -> Act {
        Act::Read(Read { keys, pick, keys_only: false })
    }

    #[test]
    fn keys_are_created_once() {
        let mut state = State::default();
        assert_eq!(state.apply(&Entry::Txn(put("a/1", 1))), Reply::LeaseGone);
        assert_eq!(state.apply(&Entry::Grant(LeaseId(1), 5)), Reply::Granted { ttl: 5 });
        assert_eq!(state.apply(&Entry::Grant(LeaseId(1), 5)), Reply::LeaseExists);
        assert_eq!(state.revision, 1, "leases have no revision");
        let won = state.apply(&Entry::Txn(put("a/1", 1)));
        assert_eq!(won, Reply::Txn { succeeded: true, found: vec![] });
        let Reply::Txn { succeeded: false, found } = state.apply(&Entry::Txn(put("a/1", 1))) else {
            panic!("it exists")
        };
        assert_eq!((found[0].as_ref().unwrap().created, state.revision), (2, 2));
    }

    #[test]
    fn ranges_end_at_their_revision() {
        let mut state = State::default();
        for lease in 1..=3 {
            state.apply(&Entry::Grant(LeaseId(lease), 5));
            state.apply(&Entry::Txn(put(&format!("a/{lease}"), lease)));
        }
        state.apply(&Entry::Txn(put("ab/9", 1)));
        let all = || Keys::Prefix("a/".into());
        let then = vec![
            read(all(), Pick::First),
            read(all(), Pick::LastUpTo(3)),
            read(all(), Pick::LastUpTo(1)),
            read(all(), Pick::LastUpTo(99)),
        ];
        let txn = Txn { when: vec![], then, otherwise: vec![] };
        let Reply::Txn { succeeded: true, found } = state.look(&txn) else { panic!("it is so") };
        let created: Vec<_> = found.iter().map(|kv| kv.as_ref().map(|kv| kv.created)).collect();
        assert_eq!(created, [Some(2), Some(3), None, Some(4)]);
        assert!(is_linearizable(&txn) && !writes(&txn));
    }

    #[test]
    fn moved_keys_leave_their_lease() {
        let mut state = State::default();
        state.apply(&Entry::Grant(LeaseId(1), 5));
        state.apply(&Entry::Grant(LeaseId(2), 5));
        state.apply(&Entry::Txn(put("a/1", 1)));
        let key = || Bytes::from("a/1");
        let shift = |from, to| {
            let when = vec![
                Compare::Created { key: key(), revision: 2 },
                Compare::Lease { key: key(), lease: LeaseId(from) },
            ];
            let then = vec![Act::Move { key: key(), lease: LeaseId(to) }];
            Entry::Txn(Txn { when, then, otherwise: vec![read(Keys::One(key()), Pick::First)] })
        };
        assert!(matches!(state.apply(&shift(1, 2)), Reply::Txn { succeeded: true, .. }));
        assert!(matches!(state.apply(&shift(1, 2)), Reply::Txn { succeeded: false, .. }));
        assert_eq!(state.apply(&shift(2, 3)), Reply::LeaseGone);
        let then = vec![Act::Proclaim { key: key(), value: "w".into() }];
        state.apply(&Entry::Txn(Txn { when: vec![], then, otherwise: vec![] }));
        assert_eq!(state.apply(&Entry::Revoke(LeaseId(1))), Reply::Revoked);
        let kv = &state.keys[&key()];
        assert_eq!((kv.created, kv.lease, &kv.value), (2, Some(LeaseId(2)), &"w".into()));
    }

    #[test]
    fn revoked_leases_take_their_keys() {
        let mut state = State::default();
        state.apply(&Entry::Grant(LeaseId(1), 5));
        state.apply(&Entry::Txn(put("a/1", 1)));
        state.apply(&Entry::Txn(put("b/1", 1)));
        assert_eq!(state.apply(&Entry::Revoke(LeaseId(1))), Reply::Revoked);
        assert_eq!(state.apply(&Entry::Revoke(LeaseId(1))), Reply::LeaseGone);
        let (revision, changes) = state.since(4).next().unwrap();
        assert_eq!((revision, changes.len(), state.revision), (4, 2, 4));
        state.apply(&Entry::Compact(3));
        assert_eq!(state.since(0).count(), 1);
        assert!(state.keys.is_empty() && state.leases.is_empty());
    }

    #[test]
    fn full_stores_refuse_writes_only() {
        let mut state = State::default();
        state.apply(&Entry::Grant(LeaseId(1), 5));
        state.apply(&Entry::Txn(put("a/1", 1)));
        state.apply(&Entry::Full(true));
        assert!(matches!(state.apply(&Entry::Txn(put("b/1", 1))), Reply::Refused(_)));
        assert!(matches!(state.apply(&Entry::Grant(LeaseId(2), 5)), Reply::Refused(_)));
        assert_eq!(state.revision, 2);
        let anyway = |entry| Entry::Anyway(Box::new(entry));
        assert_eq!(state.apply(&anyway(Entry::Grant(LeaseId(2), 5))), Reply::Granted { ttl: 5 });
        assert!(matches!(state.apply(&anyway(Entry::Txn(put("b/1", 2)))), Reply::Txn { .. }));
        // The refusal does not depend on the branch that would run, which only reads.
        assert!(matches!(state.apply(&Entry::Txn(put("a/1", 1))), Reply::Refused(_)));
        assert_eq!(state.apply(&Entry::Revoke(LeaseId(1))), Reply::Revoked);
        assert_eq!((state.revision, state.keys.len()), (4, 1));
    }
}

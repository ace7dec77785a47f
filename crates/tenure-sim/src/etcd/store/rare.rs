//! Rare faults of etcd at the critical moment, in worlds that concentrate on them.

use tenure_core::etcd::{Act, Bytes, Compare, KeyValue, Op, Txn};

use super::note::Cause;
use super::state::Entry;
use super::{Ask, Cluster, Focus, MS, Out, Task, answer, unknown};

/// Salts of draws.
const UNANSWERED: u64 = 51;
const BACKUP: u64 = 52;
const RESTORE: u64 = 53;
const PUT_BACK: u64 = 54;
/// The largest number of a node's grants in a row that etcd does not answer.
const IN_A_ROW: u32 = 6;
/// Number of a node's unanswered grants in a row after which its core gives up the lease of the
/// next answer, because that lease may have ended. etcd then also answers the grant after that one.
const GIVEN_UP: u32 = 2;
/// The longest delay of a stranger's put-back after a create.
const SOON: u64 = 400 * MS;
/// The shortest downtime of a restore; the longest is three times that.
const DOWN: u64 = 100 * MS;

impl Cluster {
    /// Decides whether a request is carried out, and whether it is answered. Returns the request if
    /// it is carried out.
    pub(super) fn happens(&mut self, mut ask: Ask, out: &mut Out) -> Option<Ask> {
        let focus = self.setting.focus;
        let id = ask.life ^ ask.request.call.0 << 32;
        let mended = self.now >= self.setting.mended && focus != Focus::Grants;
        if focus == Focus::Broad || mended {
            return Some(ask);
        }
        let rarely = |purpose, once_in| self.draw(purpose, id).is_multiple_of(once_in);
        match (focus, &ask.request.op) {
            (Focus::Grants | Focus::Terms, Op::Grant { .. }) => {
                let unanswered = self.unanswered.get(&ask.node).copied().unwrap_or(0);
                let answers = unanswered >= IN_A_ROW || !rarely(UNANSWERED, 2);
                let next = match unanswered {
                    _ if !answers => unanswered + 1,
                    GIVEN_UP..=IN_A_ROW => u32::MAX,
                    _ => 0,
                };
                self.unanswered.insert(ask.node, next);
                ask.awaited &= answers;
            }
            (Focus::Twins, Op::Txn(txn)) if rarely(PUT_BACK, 3) => {
                if let Some(prefix) = made(txn).map(election_of) {
                    ask.awaited = false;
                    self.plan(self.span(SOON, id, SOON), Task::PutBack(prefix));
                }
            }
            (Focus::Bumped, Op::Txn(txn)) if deletes(txn) && rarely(BACKUP, 2) => {
                self.backup = Some((self.truth.clone(), self.term));
            }
            (Focus::Bumped, Op::Txn(txn))
                if made(txn).is_some() && self.backup.is_some() && rarely(RESTORE, 8) =>
            {
                answer(&ask, None, unknown("connection reset"), out);
                let most = self.setting.mended.saturating_sub(self.now);
                let span = most.min(DOWN + self.span(DOWN, id, 2 * DOWN));
                self.restore(self.now + span, out);
                self.settle_after(span, out);
                return None;
            }
            _ => {}
        }
        Some(ask)
    }

    /// Removes all keys with `prefix`, and puts them back unchanged: one transaction deletes,
    /// another one puts.
    pub(super) fn put_back(&mut self, prefix: &Bytes, out: &mut Out) {
        if self.leader.is_none() || self.truth.full {
            return;
        }
        let all = self.truth.keys.values().filter(|kv| kv.key.starts_with(prefix));
        let all: Vec<KeyValue> = all.cloned().collect();
        if all.is_empty() {
            return;
        }
        let delete = |kv: &KeyValue| Act::Delete { key: kv.key.clone() };
        let put = |kv: &KeyValue| {
            let key = kv.key.clone();
            let value = kv.value.clone();
            Some(Act::Put { key, value, lease: kv.lease? })
        };
        for then in [all.iter().map(delete).collect(), all.iter().filter_map(put).collect()] {
            let txn = Txn { when: Vec::new(), then, otherwise: Vec::new() };
            self.commit(&Entry::Txn(txn), Cause::Meddled, out);
        }
    }

    /// Compacts the history after a write.
    pub(super) fn forget_history(&mut self, writes: bool, out: &mut Out) {
        let storm = self.now < self.setting.mended;
        if writes && storm && self.setting.focus == Focus::Compacted {
            self.commit(&Entry::Compact(self.truth.revision), Cause::Meddled, out);
        }
    }
}

/// The key that a transaction makes, if it was missing.
fn made(txn: &Txn) -> Option<&Bytes> {
    match (&txn.when[..], txn.then.first()) {
        ([Compare::Created { revision: 0, .. }], Some(Act::Put { key, .. })) => Some(key),
        _ => None,
    }
}

/// The common prefix of the keys of this key's election.
fn election_of(key: &Bytes) -> Bytes {
    let key = key.as_slice();
    let end = key.iter().position(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    Bytes::new(&key[..end])
}

/// Whether the transaction deletes an existing key.
fn deletes(txn: &Txn) -> bool {
    let is_there = |compare: &Compare| matches!(compare, Compare::Created { revision: 1.., .. });
    txn.when.iter().any(is_there) && matches!(txn.then.first(), Some(Act::Delete { .. }))
}

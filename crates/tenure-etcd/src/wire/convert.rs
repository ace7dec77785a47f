//! Converts between etcd's wire format and the core's types, field by field.

use etcd_client::proto::{PbEvent, PbKeyValue, PbResponseHeader, PbTxnOpResponse, PbTxnResponse};
use etcd_client::{
    Compare, CompareOp, GetOptions, PutOptions, SortOrder, SortTarget, Txn as EtcdTxn, TxnOp,
    WatchFilterType, WatchOptions,
};
use tenure_core::etcd::{
    Act, Bytes, Change, Header, KeyValue, Keys, LeaseId, Pick, Read, Reply, Revision, Txn,
};

#[derive(Clone)]
pub(super) struct WatchRange {
    pub(super) keys: Keys,
    pub(super) from: Revision,
    pub(super) deletions: bool,
}

/// The number that etcd uses for deletions in events.
const DELETE: i32 = 1;

pub(super) fn header(header: &PbResponseHeader) -> Header {
    let PbResponseHeader { cluster_id, member_id, revision, raft_term } = *header;
    Header { cluster: cluster_id, member: member_id, revision: unsigned(revision), term: raft_term }
}

/// Converts a number of etcd, which is never below zero.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A revision for etcd, far below 2⁶³.
pub(super) fn signed(revision: Revision) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

/// A TTL in seconds; `None` without one. A TTL above `u32` is cut: a shorter time does no harm.
pub(super) fn ttl(ttl: i64) -> Option<u32> {
    (ttl > 0).then(|| u32::try_from(ttl).unwrap_or(u32::MAX))
}

pub(super) fn txn(txn: &Txn) -> EtcdTxn {
    let Txn { when, then, otherwise } = txn;
    let acts = |acts: &[Act]| acts.iter().map(act).collect::<Vec<_>>();
    let when: Vec<_> = when.iter().map(comparison).collect();
    EtcdTxn::new().when(when).and_then(acts(then)).or_else(acts(otherwise))
}

fn comparison(compare: &tenure_core::etcd::Compare) -> Compare {
    use tenure_core::etcd::Compare as Asked;
    match compare {
        Asked::Created { key, revision } => {
            Compare::create_revision(key.as_slice(), CompareOp::Equal, signed(*revision))
        }
        Asked::Lease { key, lease: LeaseId(lease) } => {
            Compare::lease(key.as_slice(), CompareOp::Equal, *lease)
        }
    }
}

fn act(act: &Act) -> TxnOp {
    match act {
        Act::Put { key, value, lease: LeaseId(lease) } => {
            let options = PutOptions::new().with_lease(*lease);
            TxnOp::put(key.as_slice(), value.as_slice(), Some(options))
        }
        Act::Move { key, lease: LeaseId(lease) } => {
            let options = PutOptions::new().with_lease(*lease).with_ignore_value();
            TxnOp::put(key.as_slice(), [], Some(options))
        }
        Act::Proclaim { key, value } => {
            let options = PutOptions::new().with_ignore_lease();
            TxnOp::put(key.as_slice(), value.as_slice(), Some(options))
        }
        Act::Delete { key } => TxnOp::delete(key.as_slice(), None),
        Act::Read(Read { keys, pick, keys_only }) => {
            let (first, end) = keys.range();
            let options = picked(*pick, end);
            let options = if *keys_only { options.with_keys_only() } else { options };
            TxnOp::get(first, Some(options))
        }
    }
}

fn picked(pick: Pick, end: Vec<u8>) -> GetOptions {
    let options = GetOptions::new().with_range(end).with_limit(1);
    match pick {
        Pick::First => options.with_sort(SortTarget::Create, SortOrder::Ascend),
        // To etcd, zero would mean "no bound"; here zero means that no key fits.
        Pick::LastUpTo(0) => options.with_min_create_revision(i64::MAX),
        Pick::LastUpTo(revision) => options
            .with_sort(SortTarget::Create, SortOrder::Descend)
            .with_max_create_revision(signed(revision)),
    }
}

/// Results of a transaction's reads, in order; writes have none.
pub(super) fn carried_out(response: PbTxnResponse) -> Reply {
    let PbTxnResponse { succeeded, responses, .. } = response;
    let read = |response| match response {
        Some(PbTxnOpResponse::ResponseRange(range)) => {
            Some(range.kvs.into_iter().next().map(key_value))
        }
        _ => None,
    };
    let found = responses.into_iter().filter_map(|response| read(response.response)).collect();
    Reply::Txn { succeeded, found }
}

fn key_value(stored: PbKeyValue) -> KeyValue {
    KeyValue {
        key: Bytes::new(&stored.key),
        value: Bytes::new(&stored.value),
        created: unsigned(stored.create_revision),
        modified: unsigned(stored.mod_revision),
        lease: (stored.lease != 0).then_some(LeaseId(stored.lease)),
    }
}

/// The largest value in an event of a watch, in bytes. The client library has the same limit for
/// answers to observers.
const VALUE_MAX: usize = 4 << 20;

pub(super) fn change(event: PbEvent) -> Option<(Revision, Change)> {
    let kind = event.r#type;
    let stored = event.kv?;
    let revision = unsigned(stored.mod_revision);
    let change = match kind {
        DELETE => Change::Deleted { key: Bytes::new(&stored.key), revision },
        _ if stored.value.len() > VALUE_MAX => {
            Change::TooLarge { key: Bytes::new(&stored.key), revision }
        }
        _ => Change::Put(key_value(stored)),
    };
    Some((revision, change))
}

/// The size of an event in memory, in bytes.
pub(super) fn size(change: &Change) -> usize {
    match change {
        Change::Put(stored) => stored.key.as_slice().len() + stored.value.as_slice().len(),
        Change::TooLarge { key, .. } | Change::Deleted { key, .. } => key.as_slice().len(),
    }
}

pub(super) fn watch(watched: &WatchRange, id: i64) -> (Vec<u8>, WatchOptions) {
    let WatchRange { keys, from, deletions } = watched;
    let (first, end) = keys.range();
    let options = WatchOptions::new()
        .with_range(end)
        .with_start_revision(signed(*from))
        .with_watch_id(id)
        .with_fragment();
    let options = if *deletions { options.with_filters([WatchFilterType::NoPut]) } else { options };
    (first.to_vec(), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlong_lease_is_not_gone() {
        assert_eq!([-1, 0, 1].map(ttl), [None, None, Some(1)]);
        assert_eq!([u32::MAX.into(), 1 << 32, 9_000_000_000].map(ttl), [Some(u32::MAX); 3]);
    }
}

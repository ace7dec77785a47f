//! The bare requests to etcd that an election needs, sent one after the other, without Tenure.

use etcd_client::{
    Client, Compare, CompareOp, EventType, GetOptions, PutOptions, SortOrder, SortTarget, Txn,
    TxnOp, WatchOptions, WatchStream,
};

use crate::Result;
use crate::stage::LONG;

pub(crate) async fn grant(client: &mut Client) -> Result<i64> {
    Ok(client.lease_grant(LONG.as_secs().cast_signed(), None).await?.id())
}

pub(crate) async fn put(client: &mut Client, key: &str, lease: i64) -> Result<i64> {
    let options = PutOptions::new().with_lease(lease);
    let put = client.put(key, "10.0.0.7:8080", Some(options)).await?;
    Ok(put.header().ok_or("no header")?.revision())
}

pub(crate) async fn first(client: &mut Client, prefix: &str) -> Result<i64> {
    let options = GetOptions::new().with_prefix();
    let options = options.with_sort(SortTarget::Create, SortOrder::Ascend).with_limit(1);
    let found = client.get(prefix, Some(options)).await?;
    if found.kvs().is_empty() {
        return Err(format!("nobody is first in {prefix}").into());
    }
    Ok(found.header().ok_or("no header")?.revision())
}

/// Waits until the prefix has this number of keys.
pub(crate) async fn count(client: &mut Client, prefix: &str, count: i64) -> Result<()> {
    let options = GetOptions::new().with_prefix().with_count_only();
    while client.get(prefix, Some(options.clone())).await?.count() != count {}
    Ok(())
}

/// Opens a stream of watches, whose first watch never gets an event.
pub(crate) async fn stream(client: &mut Client) -> Result<WatchStream> {
    let mut stream = client.watch("nothing", None).await?;
    stream.message().await?;
    Ok(stream)
}

/// Watches a key from a revision on, and waits until the watch is open.
pub(crate) async fn watch(stream: &mut WatchStream, key: &str, from: i64) -> Result<()> {
    stream.watch(key, Some(WatchOptions::new().with_start_revision(from))).await?;
    let opened = stream.message().await?.ok_or("the stream has ended")?;
    if opened.created() { Ok(()) } else { Err("the watch did not open".into()) }
}

/// Waits until the watched key is deleted, then makes sure that this party's key is the first.
pub(crate) async fn follow(
    client: &mut Client,
    stream: &mut WatchStream,
    key: &str,
    revision: i64,
    prefix: &str,
) -> Result<()> {
    let told = stream.message().await?.ok_or("the stream has ended")?;
    if !told.events().iter().any(|event| event.event_type() == EventType::Delete) {
        return Err("something else than a deletion".into());
    }
    let won = client.txn(sure(key, revision, prefix)).await?;
    if won.succeeded() { Ok(()) } else { Err("the own key is gone".into()) }
}

/// A transaction that reads this party's key, the first key, and the key just before this party's.
fn sure(key: &str, revision: i64, prefix: &str) -> Txn {
    let all = || GetOptions::new().with_prefix().with_limit(1);
    let first = all().with_sort(SortTarget::Create, SortOrder::Ascend);
    let before = all().with_sort(SortTarget::Create, SortOrder::Descend);
    let before = before.with_max_create_revision(revision - 1);
    let own = Compare::create_revision(key, CompareOp::Equal, revision);
    Txn::new()
        .when([own])
        .and_then([TxnOp::get(prefix, Some(first)), TxnOp::get(prefix, Some(before))])
        .or_else([TxnOp::get(key, None)])
}

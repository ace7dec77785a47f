//! Leases: their length, the answers to renewals, and the keys that go with a lease.

use std::time::Duration;

use etcd_client::{PutOptions, WatchFilterType, WatchOptions};

use crate::stage::{Fact, Stage, now, outcome, words};
use tenure_testkit::facts::{Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        keep_alive_of_a_lost_lease,
        "TTL 0, no error",
        "A renewal of a lease that is gone is answered without a TTL, and is not an error."
    ),
    fact!(
        key_of_a_revoked_lease,
        "NotFound: etcdserver: requested lease not found",
        "Nobody can make a key on a lease that is gone."
    ),
    fact!(
        key_on_another_lease,
        "created at the same revision, its value as it was; there when the first is revoked",
        "A key that is put on another lease keeps its create revision, and the first takes nothing."
    ),
    fact!(
        lease_ends_no_earlier,
        "after its TTL",
        "A lease of 5 s ends no earlier than 5 s after it was asked for."
    ),
];

async fn keep_alive_of_a_lost_lease(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    client.lease_revoke(lease).await?;
    keeper.keep_alive().await?;
    let answer = answers.message().await?.ok_or("the stream has ended")?;
    Ok(format!("TTL {}, no error", answer.ttl()))
}

async fn key_on_another_lease(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let first = client.lease_grant(60, None).await?.id();
    let second = client.lease_grant(60, None).await?.id();
    let key = stage.name();
    client.put(key, "value", Some(PutOptions::new().with_lease(first))).await?;
    let before = client.get(key, None).await?;
    let before = before.kvs().first().ok_or("no key")?.create_revision();
    let moved = PutOptions::new().with_lease(second).with_ignore_value();
    client.put(key, "", Some(moved)).await?;
    client.lease_revoke(first).await?;
    let after = client.get(key, None).await?;
    client.lease_revoke(second).await?;
    let Some(after) = after.kvs().first() else { return Ok("gone with the first".to_owned()) };
    if after.create_revision() != before || after.lease() != second {
        return Ok(format!("created at {before}, then {after:?}"));
    }
    let value = if after.value() == b"value" { "its value as it was" } else { "another value" };
    Ok(format!("created at the same revision, {value}; there when the first is revoked"))
}

async fn key_of_a_revoked_lease(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    client.lease_revoke(lease).await?;
    let options = PutOptions::new().with_lease(lease);
    let put = client.put(stage.name(), "", Some(options)).await;
    Ok(outcome(&put))
}

async fn lease_ends_no_earlier(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let only_deletions = WatchOptions::new().with_filters([WatchFilterType::NoPut]);
    let mut watch = client.watch(stage.name(), Some(only_deletions)).await?;
    // If the machine stands still for longer than the lease, the loop tries again with another
    // lease.
    let asked = loop {
        let asked = now();
        let lease = client.lease_grant(5, None).await?.id();
        let options = PutOptions::new().with_lease(lease);
        match client.put(stage.name(), "", Some(options)).await {
            Ok(_) => break asked,
            Err(error) if words(&error).contains("requested lease not found") => {}
            Err(error) => return Err(error.into()),
        }
    };
    while watch.message().await?.ok_or("the stream has ended")?.events().is_empty() {}
    let early = now() - asked < Duration::from_secs(5);
    Ok(if early { "earlier" } else { "after its TTL" }.to_owned())
}

//! Leases: what is granted, what a renewal answers, what goes with a lease.

use std::time::Duration;

use etcd_client::{
    Client, Error as EtcdError, LeaseGrantOptions, PutOptions, Txn, TxnOp, WatchFilterType,
    WatchOptions, WatchStream,
};

use crate::stage::{Fact, Stage, connect, now, outcome, words};
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        small_ttl_is_raised,
        Always("asked 1, granted 2; asked 2, granted 2; asked 5, granted 5"),
        "The server raises small TTLs: asked 1 s, granted 2 s."
    ),
    fact!(
        grant_of_a_taken_id,
        Always("FailedPrecondition: etcdserver: lease already exists"),
        "A lease that is there is not granted again: the server answers `lease already exists`."
    ),
    fact!(largest_id, Always("accepted"), "A lease id may be as large as 2^63 - 1."),
    fact!(
        keep_alive_of_a_lost_lease,
        Always("TTL 0, no error"),
        "A renewal of a lease that is gone is answered without a TTL, and is not an error."
    ),
    fact!(
        keep_alive_through_a_follower,
        Always("TTL 60; the header is the follower's"),
        "The header of a renewal's answer is that of the member we are connected to."
    ),
    fact!(
        revoke_deletes_in_one_revision,
        Always("3 keys in 1 revision"),
        "A revoke deletes the keys of its lease in one revision."
    ),
    fact!(
        expiry_deletes_in_one_revision,
        Always("3 keys in 1 revision"),
        "A lease that ends deletes its keys in one revision."
    ),
    fact!(
        key_on_another_lease,
        Always(
            "created at the same revision, its value as it was; there when the first is revoked"
        ),
        "A key that is put on another lease keeps its create revision, and the first takes nothing."
    ),
    fact!(
        lease_ends_no_earlier,
        Always("after its TTL"),
        "A lease of 5 s ends no earlier than 5 s after it was asked for."
    ),
];

async fn small_ttl_is_raised(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let mut said = Vec::new();
    for asked in [1, 2, 5] {
        let lease = client.lease_grant(asked, None).await?;
        said.push(format!("asked {asked}, granted {}", lease.ttl()));
        client.lease_revoke(lease.id()).await?;
    }
    Ok(said.join("; "))
}

async fn grant_of_a_taken_id(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let again = client.lease_grant(60, Some(LeaseGrantOptions::new().with_id(lease))).await;
    client.lease_revoke(lease).await?;
    Ok(outcome(&again))
}

async fn largest_id(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = LeaseGrantOptions::new().with_id(i64::MAX);
    let granted = client.lease_grant(60, Some(lease)).await;
    client.lease_revoke(i64::MAX).await?;
    Ok(outcome(&granted))
}

async fn keep_alive_of_a_lost_lease(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    client.lease_revoke(lease).await?;
    keeper.keep_alive().await?;
    let answer = answers.message().await?.ok_or("the stream has ended")?;
    Ok(format!("TTL {}, no error", answer.ttl()))
}

async fn keep_alive_through_a_follower(stage: Stage) -> Seen {
    let cluster = stage.trio()?;
    let mut statuses = Vec::new();
    for member in cluster.members() {
        statuses.push(member.status()?);
    }
    let follower = statuses.iter().position(|status| !status.leads()).ok_or("no follower")?;
    let mut client = connect(cluster, follower).await?;
    let lease = client.lease_grant(60, None).await?.id();
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    keeper.keep_alive().await?;
    let answer = answers.message().await?.ok_or("the stream has ended")?;
    client.lease_revoke(lease).await?;
    let from = answer.header().ok_or("no header")?.member_id();
    let whose = statuses.iter().position(|status| status.member == from);
    let whose = if whose == Some(follower) { "the follower's" } else { "another's" };
    Ok(format!("TTL {}; the header is {whose}", answer.ttl()))
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

/// A lease with three keys, when it was asked for, and a watch for what becomes of them. On a
/// machine that stood still for longer than the lease it is another one.
async fn lease_with_keys(
    client: &mut Client,
    name: &str,
    ttl: i64,
) -> Result<(i64, Duration, WatchStream), EtcdError> {
    let only_deletions = WatchOptions::new().with_prefix().with_filters([WatchFilterType::NoPut]);
    let watch = client.watch(name, Some(only_deletions)).await?;
    loop {
        let asked = now();
        let lease = client.lease_grant(ttl, None).await?.id();
        let put = |n| {
            let options = PutOptions::new().with_lease(lease);
            TxnOp::put(format!("{name}/{n}"), "", Some(options))
        };
        match client.txn(Txn::new().and_then([0, 1, 2].map(put))).await {
            Err(error) if words(&error).contains("requested lease not found") => {}
            put => return put.map(|_| (lease, asked, watch)),
        }
    }
}

async fn revoke_deletes_in_one_revision(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let (lease, _, watch) = lease_with_keys(&mut client, stage.name(), 60).await?;
    client.lease_revoke(lease).await?;
    deletions(watch).await
}

async fn expiry_deletes_in_one_revision(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let (_, _, watch) = lease_with_keys(&mut client, stage.name(), 5).await?;
    deletions(watch).await
}

/// In how many revisions three keys go.
async fn deletions(mut watch: WatchStream) -> Seen {
    let mut revisions = Vec::new();
    while revisions.len() < 3 {
        let message = watch.message().await?.ok_or("the stream has ended")?;
        // A deleted key's revision is that of its deletion.
        revisions.extend(message.events().iter().filter_map(|e| Some(e.kv()?.mod_revision())));
    }
    let keys = revisions.len();
    revisions.dedup();
    Ok(format!("{keys} keys in {} revision", revisions.len()))
}

async fn lease_ends_no_earlier(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let (_, asked, mut watch) = lease_with_keys(&mut client, stage.name(), 5).await?;
    while watch.message().await?.ok_or("the stream has ended")?.events().is_empty() {}
    let early = now() - asked < Duration::from_secs(5);
    Ok(if early { "earlier" } else { "after its TTL" }.to_owned())
}

//! The wire of elections, as `etcdctl elect` and Go's `clientv3/concurrency` speak it.
//!
//! The server's election service runs Go's package for whoever asks, so what it does with a
//! lease of our choice is what a Go program does.

use std::fs;
use std::time::Duration;

use etcd_client::{GetOptions, LeaseGrantOptions, ProclaimOptions, PutOptions, ResignOptions};
use tenure_services::etcd::Cluster;

use crate::stage::{Fact, Stage, connect, outcome, silent};
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        key_of_etcdctl,
        Always("name/hex of the lease, the value, on the lease"),
        "`etcdctl elect` makes the key `<name>/<lease id in hex>` with the candidate's value, on \
         the lease."
    ),
    fact!(
        key_is_lower_case_and_unpadded,
        Always("/1abcdef"),
        "The lease id in the key is in lower-case hex, unpadded."
    ),
    fact!(
        negative_lease_id,
        Always("granted, key ends in /-5"),
        "The server takes -5 for a lease id, and Go would print it."
    ),
    fact!(
        name_with_its_slash,
        Always("no leader of test, and testa has one"),
        "The trailing `/` matters: election `test` does not see keys of `testa`."
    ),
    fact!(
        nested_names,
        Always("ne/b/77 leads ne"),
        "Names nest: election `ne` takes `ne/b/77` for its leader."
    ),
    fact!(
        nested_names_listen,
        Always("ne/b/77 leads ne"),
        "`etcdctl elect --listen` takes `ne/b/77` for the leader of `ne`, too."
    ),
    fact!(
        go_waits_for_the_first_key,
        Always("waits, then wins"),
        "Go's Campaign waits for a key that somebody else made before, and wins when it is gone."
    ),
    fact!(
        proclaim_keeps_the_fence,
        Always("new value, same creation revision"),
        "Proclaiming a new value does not change the creation revision."
    ),
    fact!(
        resign_deletes_the_key,
        Always("no key, and the lease is there"),
        "Resigning deletes the key, and leaves the lease."
    ),
    fact!(
        dead_waiters,
        Always("silent for 5 s"),
        "200 dead waiters in the server's own election service wedge every election there."
    )
    .in_most_trials(),
    fact!(
        key_of_a_revoked_lease,
        Always("NotFound: etcdserver: requested lease not found"),
        "Nobody can make a key on a lease that is gone."
    ),
];

async fn key_of_etcdctl(stage: Stage) -> Seen {
    let cluster = stage.single()?;
    let log = cluster.folder().join(stage.name());
    let elect = cluster.etcdctl_beside(&["elect", stage.name(), "candidate"], &log)?;
    let mut client = stage.client().await?;
    let prefix = format!("{}/", stage.name());
    let options = GetOptions::new().with_prefix();
    let kv = loop {
        let found = client.get(prefix.as_str(), Some(options.clone())).await?;
        match found.kvs().first() {
            Some(kv) => break kv.clone(),
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    drop(elect);
    let as_expected = kv.key_str()? == format!("{prefix}{:x}", kv.lease())
        && kv.value_str()? == "candidate"
        && kv.lease() != 0;
    if as_expected {
        return Ok("name/hex of the lease, the value, on the lease".to_owned());
    }
    Ok(format!("{}={} on {:x}", kv.key_str()?, kv.value_str()?, kv.lease()))
}

async fn key_is_lower_case_and_unpadded(stage: Stage) -> Seen {
    campaign_with(stage, 0x1ABCDEF).await
}

async fn negative_lease_id(stage: Stage) -> Seen {
    Ok(format!("granted, key ends in {}", campaign_with(stage, -5).await?))
}

/// The end of the key that Go's Campaign makes with this lease.
async fn campaign_with(stage: Stage, lease: i64) -> Seen {
    let mut client = stage.client().await?;
    client.lease_grant(60, Some(LeaseGrantOptions::new().with_id(lease))).await?;
    let won = client.campaign(stage.name(), "value", lease).await?;
    let key = won.leader().ok_or("no leader in the answer")?.key_str()?.to_owned();
    client.lease_revoke(lease).await?;
    Ok(key.trim_start_matches(stage.name()).to_owned())
}

async fn name_with_its_slash(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let longer = format!("{}a", stage.name());
    client.campaign(longer.as_str(), "value", lease).await?;
    let none = client.leader(stage.name()).await;
    let some = client.leader(longer.as_str()).await;
    client.lease_revoke(lease).await?;
    match (none, some) {
        (Err(_), Ok(_)) => Ok("no leader of test, and testa has one".to_owned()),
        (none, some) => Ok(format!("{none:?}, {some:?}")),
    }
}

async fn nested_names(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    client.put(format!("{}/b/77", stage.name()), "stranger", None).await?;
    let leader = client.leader(stage.name()).await?;
    let kv = leader.kv().ok_or("no leader in the answer")?;
    Ok(format!("{} leads ne", kv.key_str()?.replace(stage.name(), "ne")))
}

async fn nested_names_listen(stage: Stage) -> Seen {
    let cluster = stage.single()?;
    let mut client = stage.client().await?;
    client.put(format!("{}/b/77", stage.name()), "stranger", None).await?;
    let log = cluster.folder().join(stage.name());
    let listen = cluster.etcdctl_beside(&["elect", "--listen", stage.name()], &log)?;
    let said = loop {
        let said = fs::read_to_string(&log)?;
        if said.contains("stranger") {
            break said;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    drop(listen);
    let key = said.lines().next().unwrap_or_default();
    Ok(format!("{} leads ne", key.replace(stage.name(), "ne")))
}

async fn go_waits_for_the_first_key(stage: Stage) -> Seen {
    let (mut client, name) = (stage.client().await?, stage.name());
    let first = format!("{name}/first");
    client.put(first.as_str(), "ours", None).await?;
    let lease = client.lease_grant(60, None).await?.id();
    let mut other = client.clone();
    let campaign = async move { other.campaign(name, "theirs", lease).await };
    let mut campaign = tokio::spawn(campaign);
    let options = GetOptions::new().with_prefix().with_count_only();
    while client.get(format!("{name}/"), Some(options.clone())).await?.count() < 2 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let waits = silent(&mut campaign, Duration::from_millis(500)).await;
    if !waits {
        return Ok("does not wait".to_owned());
    }
    client.delete(first, None).await?;
    campaign.await??;
    Ok("waits, then wins".to_owned())
}

async fn proclaim_keeps_the_fence(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let won = client.campaign(stage.name(), "old", lease).await?;
    let leader = won.leader().ok_or("no leader in the answer")?.clone();
    let (key, fence) = (leader.key().to_vec(), leader.rev());
    client.proclaim("new", Some(ProclaimOptions::new().with_leader(leader))).await?;
    let found = client.get(key, None).await?;
    let kv = found.kvs().first().ok_or("the key is gone")?;
    let same = if kv.create_revision() == fence { "same" } else { "another" };
    Ok(format!("{} value, {same} creation revision", kv.value_str()?))
}

async fn resign_deletes_the_key(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    let won = client.campaign(stage.name(), "value", lease).await?;
    let leader = won.leader().ok_or("no leader in the answer")?.clone();
    let key = leader.key().to_vec();
    client.resign(Some(ResignOptions::new().with_leader(leader))).await?;
    let keys = client.get(key, None).await?.kvs().len();
    let ttl = client.lease_time_to_live(lease, None).await?.ttl();
    match (keys, ttl) {
        (0, 1..) => Ok("no key, and the lease is there".to_owned()),
        (keys, ttl) => Ok(format!("{keys} keys, and TTL {ttl}")),
    }
}

async fn key_of_a_revoked_lease(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    client.lease_revoke(lease).await?;
    let options = PutOptions::new().with_lease(lease);
    let put = client.put(stage.name(), "", Some(options)).await;
    Ok(outcome(&put))
}

/// So many that it happens nearly each time: 50 wedge 3.4, and 3.7.3 in one of five trials.
const DEAD: usize = 200;

async fn dead_waiters(stage: Stage) -> Seen {
    for _ in 0..5 {
        // Of its own: nobody can use the service there afterwards.
        let cluster = stage.own(1)?;
        if wedged(&cluster).await? {
            return Ok("silent for 5 s".to_owned());
        }
    }
    Ok("answered in five trials".to_owned())
}

/// Whether a fresh waiter of another election waits after the one before it is gone.
async fn wedged(cluster: &Cluster) -> Result<bool, Failure> {
    let mut client = connect(cluster, 0).await?;
    client.put("busy/first", "", None).await?;
    let waiters = connect(cluster, 0).await?;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..DEAD {
        let lease = client.lease_grant(600, None).await?.id();
        let mut waiter = waiters.clone();
        tasks.spawn(async move { waiter.campaign("busy", "", lease).await.map(drop) });
    }
    drop(waiters);
    let options = GetOptions::new().with_prefix();
    while client.get("busy/", Some(options.clone())).await?.kvs().len() <= DEAD {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tasks.shutdown().await;
    client.put("other/first", "", None).await?;
    let lease = client.lease_grant(600, None).await?.id();
    let mut fresh = client.clone();
    let campaign = tokio::spawn(async move { fresh.campaign("other", "", lease).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.delete("other/first", None).await?;
    Ok(silent(campaign, Duration::from_secs(5)).await)
}

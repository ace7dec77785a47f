//! A cluster that is restored from a snapshot.

use std::path::PathBuf;

use etcd_client::{Client, LeaseGrantOptions, PutOptions};
use tenure_services::etcd::{Cluster, Restore, Version};

use crate::stage::{Fact, Stage, connect};
use tenure_testkit::facts::{Failure, Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        restore_rolls_back,
        "revision 4 after 9, same cluster id, member id and term",
        "With the same token and addresses, a restored cluster comes back with revision 4 after 9, \
         the same cluster id, member id and term."
    ),
    fact!(
        restore_with_a_new_token,
        "another cluster id, revision 4 after 9",
        "A new token changes the cluster id, yet the revision still rolls back."
    ),
    fact!(
        bumped_restore,
        "revision above 1000000, key and lease kept, CREATE kept",
        "The newest etcdutl bumps a snapshot of any version; that changes no creation revision of \
         keys that survive, and keeps leases."
    ),
];

fn bumped() -> Restore {
    let arguments = ["--bump-revision=1000000", "--mark-compacted"].map(str::to_owned).to_vec();
    Restore { tool: Some(Version::Newest), arguments, token: None }
}

/// Makes a cluster, takes a snapshot at revision 4, and writes on until revision 9. Returns the
/// cluster and the snapshot.
async fn past(stage: &Stage) -> Result<(Cluster, PathBuf), Failure> {
    let cluster = stage.own()?;
    let mut client = connect(&cluster, 0).await?;
    puts(&mut client, 3).await?;
    let snapshot = cluster.folder().join("snapshot");
    cluster.save(&snapshot)?;
    puts(&mut client, 5).await?;
    Ok((cluster, snapshot))
}

async fn puts(client: &mut Client, count: usize) -> Result<(), etcd_client::Error> {
    for n in 0..count {
        client.put("key", n.to_string(), None).await?;
    }
    Ok(())
}

/// Revision, cluster id, member id and term of a linearizable read's header.
async fn header(cluster: &Cluster) -> Result<(i64, u64, u64, u64), etcd_client::Error> {
    // The client is new, as the member was killed in between.
    let answer = connect(cluster, 0).await?.get("key", None).await?;
    Ok(answer.header().map_or((0, 0, 0, 0), |header| {
        (header.revision(), header.cluster_id(), header.member_id(), header.raft_term())
    }))
}

async fn restore_rolls_back(stage: Stage) -> Seen {
    let (cluster, snapshot) = past(&stage).await?;
    let before = header(&cluster).await?;
    cluster.restore(&snapshot, &Restore::default())?;
    let after = header(&cluster).await?;
    let same = |is: bool| if is { "same" } else { "another" };
    if before.1 == after.1 && before.2 == after.2 && before.3 == after.3 {
        let later = before.0;
        let earlier = after.0;
        return Ok(format!(
            "revision {earlier} after {later}, same cluster id, member id and term"
        ));
    }
    Ok(format!(
        "revision {} after {}, {} cluster id, {} member id, term {} after {}",
        after.0,
        before.0,
        same(before.1 == after.1),
        same(before.2 == after.2),
        after.3,
        before.3
    ))
}

async fn restore_with_a_new_token(stage: Stage) -> Seen {
    let (cluster, snapshot) = past(&stage).await?;
    let before = header(&cluster).await?;
    let token = Some("another".to_owned());
    cluster.restore(&snapshot, &Restore { token, ..Restore::default() })?;
    let after = header(&cluster).await?;
    let id = if before.1 == after.1 { "same" } else { "another" };
    Ok(format!("{id} cluster id, revision {} after {}", after.0, before.0))
}

async fn bumped_restore(stage: Stage) -> Seen {
    let cluster = stage.own()?;
    let mut client = connect(&cluster, 0).await?;
    client.lease_grant(600, Some(LeaseGrantOptions::new().with_id(77))).await?;
    client.put("key", "", Some(PutOptions::new().with_lease(77))).await?;
    let created = client.get("key", None).await?.kvs()[0].create_revision();
    let snapshot = cluster.folder().join("snapshot");
    cluster.save(&snapshot)?;
    cluster.restore(&snapshot, &bumped())?;
    let mut client = connect(&cluster, 0).await?;
    let found = client.get("key", None).await?;
    let revision = found.header().ok_or("no header")?.revision();
    let kept = |is: bool| if is { "kept" } else { "lost" };
    let kv = found.kvs().first();
    let lease = client.lease_time_to_live(77, None).await?.ttl() > 0;
    let on_it = kv.is_some_and(|kv| kv.lease() == 77);
    let create = kv.is_some_and(|kv| kv.create_revision() == created);
    let above =
        if revision > 1_000_000 { "above 1000000".to_owned() } else { revision.to_string() };
    let lease = kept(lease && on_it);
    let create = kept(create);
    Ok(format!("revision {above}, key and lease {lease}, CREATE {create}"))
}

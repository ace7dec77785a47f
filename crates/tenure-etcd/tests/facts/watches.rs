//! Watches: where they begin, how they end.

use std::time::Duration;

use etcd_client::{Client, Error as EtcdError, PutOptions, WatchOptions};

use crate::stage::{Fact, Stage, connect, silent};
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Seen, fact};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        watch_resumes,
        Always("everything from there on"),
        "A watch from a past revision tells everything from there on."
    ),
    fact!(
        watch_from_the_future,
        Always("silent, then from there on"),
        "A watch from a future revision is silent until that revision is reached, and what \
         happens before is not told."
    ),
    fact!(
        compacted_watch,
        Always("cancelled with the compact revision"),
        "A watch from a revision that is compacted is cancelled, with the compact revision."
    ),
    fact!(
        put_without_the_lease,
        Always("detached"),
        "A Put without the lease detaches the key from it."
    ),
];

/// Puts so many values, and returns the revision of each.
async fn puts(client: &mut Client, key: &str, count: usize) -> Result<Vec<i64>, EtcdError> {
    let mut revisions = Vec::new();
    for n in 0..count {
        let put = client.put(key, n.to_string(), None).await?;
        revisions.push(put.header().map_or(0, |header| header.revision()));
    }
    Ok(revisions)
}

async fn watch_resumes(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let revisions = puts(&mut client, stage.name(), 4).await?;
    let options = WatchOptions::new().with_start_revision(revisions[1]);
    let mut watch = client.watch(stage.name(), Some(options)).await?;
    let mut told = Vec::new();
    while told.len() < 3 {
        let message = watch.message().await?.ok_or("the stream has ended")?;
        told.extend(message.events().iter().filter_map(|event| event.kv()?.mod_revision().into()));
    }
    let all = told == revisions[1..];
    Ok(if all { "everything from there on".to_owned() } else { format!("{told:?}") })
}

/// On a server of its own: others would make revisions pass.
async fn watch_from_the_future(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let mut client = connect(&cluster, 0).await?;
    let now = puts(&mut client, "key", 1).await?[0];
    let options = WatchOptions::new().with_start_revision(now + 3);
    let mut watch = client.watch("key", Some(options)).await?;
    puts(&mut client, "key", 2).await?;
    let mut told = Vec::new();
    // What says that the watch is there holds no event.
    let early = async {
        while told.is_empty() {
            let message = watch.message().await.unwrap().unwrap();
            told.extend(message.events().iter().filter_map(|e| Some(e.kv()?.mod_revision())));
        }
    };
    if !silent(early, Duration::from_secs(2)).await {
        return Ok(format!("told {told:?}, asked from {}", now + 3));
    }
    puts(&mut client, "key", 1).await?;
    while told.is_empty() {
        let message = watch.message().await?.ok_or("the stream has ended")?;
        told.extend(message.events().iter().filter_map(|event| Some(event.kv()?.mod_revision())));
    }
    let right = told == [now + 3];
    Ok(if right { "silent, then from there on".to_owned() } else { format!("{told:?}") })
}

/// On a server of its own: others would lose their past.
async fn compacted_watch(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let mut client = connect(&cluster, 0).await?;
    let revisions = puts(&mut client, "key", 4).await?;
    client.compact(revisions[2], None).await?;
    let options = WatchOptions::new().with_start_revision(revisions[0]);
    let mut watch = client.watch("key", Some(options)).await?;
    loop {
        let message = watch.message().await?.ok_or("the stream has ended")?;
        if message.canceled() {
            let right = message.compact_revision() == revisions[2];
            let wrong = || format!("cancelled, compact revision {}", message.compact_revision());
            return Ok(if right { "cancelled with the compact revision".into() } else { wrong() });
        }
        if !message.events().is_empty() {
            return Ok(format!("told {:?}", message.events()));
        }
    }
}

async fn put_without_the_lease(stage: Stage) -> Seen {
    let mut client = stage.client().await?;
    let lease = client.lease_grant(60, None).await?.id();
    client.put(stage.name(), "", Some(PutOptions::new().with_lease(lease))).await?;
    client.put(stage.name(), "", None).await?;
    client.lease_revoke(lease).await?;
    let left = client.get(stage.name(), None).await?.kvs().len();
    Ok(if left == 1 { "detached" } else { "deleted with the lease" }.to_owned())
}

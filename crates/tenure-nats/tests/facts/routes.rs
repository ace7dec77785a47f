//! Clusters whose routes are cut.

use tenure_services::nats::Cluster;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{A_WHILE, Fact, SOON, Stage, heard, subscribe};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        through_a_cluster,
        Always("heard at each server"),
        "What is published at one server of a cluster is heard by clients of all."
    ),
    fact!(
        half_a_cluster,
        Always("its own half hears it, the other does not"),
        "When routes are cut each half hears only itself, and no client is told."
    ),
    fact!(
        after_the_heal,
        Always("heard again, without what was said meanwhile"),
        "When routes are restored messages pass again; what was published meanwhile is lost."
    ),
    fact!(
        held_routes,
        Always("late, all of them and in order"),
        "Routes that stand still for a moment lose nothing: messages come late."
    ),
];

/// Tries until it is heard: that somebody listens takes a moment to be known at other servers.
async fn reaches(cluster: &Cluster, from: usize, to: usize) -> Result<bool, Failure> {
    let hears = async_nats::connect(cluster.server(to).url()).await?;
    let says = async_nats::connect(cluster.server(from).url()).await?;
    let mut subscriber = subscribe(&hears, "x").await?;
    for _ in 0..10 {
        says.publish("x", "hi".into()).await?;
        if heard(&mut subscriber, A_WHILE / 2).await.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn through_a_cluster(stage: Stage) -> Seen {
    let cluster = stage.own(3)?;
    for to in 0..3 {
        if !reaches(&cluster, 0, to).await? {
            return Ok(format!("not heard at server {to}"));
        }
    }
    Ok("heard at each server".to_owned())
}

async fn half_a_cluster(stage: Stage) -> Seen {
    let cluster = stage.own(3)?;
    cluster.isolate(0);
    cluster.server(0).wait_routes(0)?;
    cluster.server(1).wait_routes(1)?;
    let (own, across) = (reaches(&cluster, 1, 2).await?, reaches(&cluster, 0, 1).await?);
    let alone = reaches(&cluster, 0, 0).await?;
    Ok(match (own && alone, across) {
        (true, false) => "its own half hears it, the other does not".to_owned(),
        other => format!("{other:?}"),
    })
}

async fn after_the_heal(stage: Stage) -> Seen {
    let cluster = stage.own(2)?;
    if !reaches(&cluster, 0, 1).await? {
        return Ok("not heard at all".to_owned());
    }
    let hears = async_nats::connect(cluster.server(1).url()).await?;
    let says = async_nats::connect(cluster.server(0).url()).await?;
    let mut subscriber = subscribe(&hears, "y").await?;
    cluster.cut(0, 1);
    cluster.server(0).wait_routes(0)?;
    says.publish("y", "meanwhile".into()).await?;
    says.flush().await?;
    cluster.heal();
    cluster.wait_ready()?;
    for _ in 0..100 {
        says.publish("y", "after".into()).await?;
        match heard(&mut subscriber, A_WHILE).await.as_deref() {
            None => {}
            Some("after") => return Ok("heard again, without what was said meanwhile".to_owned()),
            Some(other) => return Ok(format!("{other} comes first")),
        }
    }
    Ok("not heard again".to_owned())
}

async fn held_routes(stage: Stage) -> Seen {
    let cluster = stage.own(2)?;
    let hears = async_nats::connect(cluster.server(1).url()).await?;
    let says = async_nats::connect(cluster.server(0).url()).await?;
    let mut subscriber = subscribe(&hears, "y").await?;
    while heard(&mut subscriber, A_WHILE / 5).await.is_none() {
        says.publish("y", "early".into()).await?;
    }
    while heard(&mut subscriber, A_WHILE).await.is_some() {}
    cluster.hold(0, 1);
    let told: Vec<_> = (0..1_000).map(|n: u32| n.to_string()).collect();
    for text in &told {
        says.publish("y", text.clone().into()).await?;
    }
    if heard(&mut subscriber, A_WHILE).await.is_some() {
        return Ok("not held".to_owned());
    }
    cluster.restore(0, 1);
    let mut all = Vec::new();
    while all.len() < told.len() {
        all.push(heard(&mut subscriber, SOON).await.ok_or("some are missing")?);
    }
    Ok(if all == told { "late, all of them and in order" } else { "in another order" }.to_owned())
}

//! Clusters whose routes are cut.

use async_nats::{Client, Subscriber};
use tenure_services::nats::Cluster;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{A_WHILE, Fact, SOON, Stage, connect, heard, subscribe};

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

/// Waits until what is said at one server is heard at the other: that somebody listens takes a
/// moment to be known there.
async fn reaches(cluster: &Cluster, from: usize, to: usize) -> Result<(), Failure> {
    let hears = connect(cluster.server(to).url()).await?;
    let says = connect(cluster.server(from).url()).await?;
    let mut subscriber = subscribe(&hears, "x").await?;
    until_heard(&says, &mut subscriber, "x").await
}

async fn until_heard(
    says: &Client,
    subscriber: &mut Subscriber,
    subject: &'static str,
) -> Result<(), Failure> {
    while heard(subscriber, A_WHILE / 5).await.is_none() {
        says.publish(subject, "hi".into()).await?;
    }
    Ok(())
}

async fn through_a_cluster(stage: Stage) -> Seen {
    let cluster = stage.own(3)?;
    for to in 0..3 {
        reaches(&cluster, 0, to).await?;
    }
    Ok("heard at each server".to_owned())
}

async fn half_a_cluster(stage: Stage) -> Seen {
    let cluster = stage.own(3)?;
    cluster.isolate(0);
    cluster.server(0).wait_routes(0)?;
    cluster.server(1).wait_routes(1)?;
    let other = connect(cluster.server(1).url()).await?;
    let mut other = subscribe(&other, "x").await?;
    reaches(&cluster, 0, 0).await?;
    if heard(&mut other, A_WHILE).await.is_some() {
        return Ok("the other half hears it, too".to_owned());
    }
    reaches(&cluster, 1, 2).await?;
    Ok("its own half hears it, the other does not".to_owned())
}

async fn after_the_heal(stage: Stage) -> Seen {
    let cluster = stage.own(2)?;
    reaches(&cluster, 0, 1).await?;
    let hears = connect(cluster.server(1).url()).await?;
    let says = connect(cluster.server(0).url()).await?;
    let mut subscriber = subscribe(&hears, "y").await?;
    cluster.cut(0, 1);
    cluster.server(0).wait_routes(0)?;
    says.publish("y", "meanwhile".into()).await?;
    says.flush().await?;
    cluster.heal();
    cluster.wait_ready()?;
    loop {
        says.publish("y", "after".into()).await?;
        match heard(&mut subscriber, A_WHILE / 5).await.as_deref() {
            None => {}
            Some("after") => return Ok("heard again, without what was said meanwhile".to_owned()),
            Some(other) => return Ok(format!("{other} comes first")),
        }
    }
}

async fn held_routes(stage: Stage) -> Seen {
    let cluster = stage.own(2)?;
    let hears = connect(cluster.server(1).url()).await?;
    let says = connect(cluster.server(0).url()).await?;
    let mut subscriber = subscribe(&hears, "y").await?;
    until_heard(&says, &mut subscriber, "y").await?;
    says.publish("y", "last".into()).await?;
    while heard(&mut subscriber, SOON).await.ok_or("the last is missing")? != "last" {}
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

//! Messages: their receivers and their order.

use tenure_testkit::facts::{Seen, fact};

use crate::stage::{A_WHILE, Fact, SOON, Stage, connect, heard, subscribe};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        own_echo,
        "heard",
        "What a client publishes comes back to its own subscription: a round is valid only then."
    ),
    fact!(
        one_publisher_one_order,
        "in order",
        "What one client publishes on several subjects is heard in that order."
    ),
    fact!(
        through_a_cluster,
        "heard at each server",
        "What is published at one server of a cluster is heard by clients of all."
    ),
];

async fn own_echo(stage: Stage) -> Seen {
    let client = stage.client().await?;
    let mut subscriber = subscribe(&client, stage.name()).await?;
    client.publish(stage.name(), "hi".into()).await?;
    Ok(heard(&mut subscriber, SOON).await.map_or("not heard", |_| "heard").to_owned())
}

async fn one_publisher_one_order(stage: Stage) -> Seen {
    let says = stage.client().await?;
    let hears = stage.client().await?;
    let mut subscriber = subscribe(&hears, &format!("{}.*", stage.name())).await?;
    let told: Vec<_> = (0..2_000).map(|n: u32| n.to_string()).collect();
    for (nth, text) in told.iter().enumerate() {
        says.publish(format!("{}.{}", stage.name(), nth % 4), text.clone().into()).await?;
    }
    let mut all = Vec::new();
    while all.len() < told.len() {
        all.push(heard(&mut subscriber, SOON).await.ok_or("some are missing")?);
    }
    Ok(if all == told { "in order" } else { "in another order" }.to_owned())
}

async fn through_a_cluster(stage: Stage) -> Seen {
    let cluster = stage.own(3)?;
    let says = connect(cluster.server(0).url()).await?;
    for server in cluster.servers() {
        let hears = connect(server.url()).await?;
        let mut subscriber = subscribe(&hears, "x").await?;
        // The other servers need a moment to learn of a subscription.
        while heard(&mut subscriber, A_WHILE).await.is_none() {
            says.publish("x", "hi".into()).await?;
        }
    }
    Ok("heard at each server".to_owned())
}

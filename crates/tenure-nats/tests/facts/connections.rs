//! Connections that end, and unsent messages.

use std::time::Duration;

use tenure_nats::Options;
use tenure_nats::bus::{Bus, Incoming, News, Published};
use tenure_services::nats::Cluster;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{Fact, SOON, Stage};

pub(crate) const FACTS: &[Fact] = &[fact!(
    ours_drops_what_it_cannot_send,
    "dropped",
    "With a connection of ours nothing is sent later, told of the loss already or not."
)];

/// A connection of Tenure's own bus, which is up.
async fn ours(cluster: &Cluster, subject: &str) -> Result<Bus, Failure> {
    let servers: Result<_, _> = cluster.urls().iter().map(|url| url.parse()).collect();
    let options = Options { connect_within: SOON, ..Options::new(servers?) }.check()?;
    let mut bus = Bus::new(options, subject.to_owned(), "fact".into(), Duration::from_secs(1));
    until_up(&mut bus).await?;
    Ok(bus)
}

async fn until_up(bus: &mut Bus) -> Result<(), Failure> {
    let up = async {
        loop {
            if let Incoming::News(News::Up(up)) = bus.next().await {
                return bus.use_connection(up);
            }
        }
    };
    tokio::time::timeout(SOON, up).await?;
    Ok(())
}

async fn until_down(bus: &mut Bus) -> Result<(), Failure> {
    let down = async { while !matches!(bus.next().await, Incoming::News(News::Down)) {} };
    tokio::time::timeout(SOON, down).await?;
    bus.forget_connection();
    Ok(())
}

async fn ours_drops_what_it_cannot_send(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let mut bus = ours(&cluster, "x").await?;
    cluster.server(0).kill()?;
    // The bus has read nothing since the kill, so it cannot know yet that the connection is lost.
    for _ in 0..500 {
        if bus.publish("x", b"kept".to_vec()) != Published::Handed {
            return Ok("known before it can be known".to_owned());
        }
    }
    until_down(&mut bus).await?;
    if bus.publish("x", b"kept".to_vec()) != Published::NotConnected {
        return Ok("taken while there is no connection".to_owned());
    }
    cluster.server(0).restart()?;
    cluster.server(0).wait_ready()?;
    until_up(&mut bus).await?;
    let _ = bus.publish("x", b"new".to_vec());
    let first = async {
        loop {
            if let Incoming::Delivery(heard) = bus.next().await {
                return heard.payload;
            }
        }
    };
    let first = tokio::time::timeout(SOON, first).await?;
    Ok(if &*first == b"new" { "dropped" } else { "sent later" }.to_owned())
}

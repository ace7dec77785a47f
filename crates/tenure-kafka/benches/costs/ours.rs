//! Two processes of the protocol, one partition, one role.

use std::time::Duration;

use tenure::clock;
use tenure_kafka::{Class, Node};
use tenure_services::kafka::Cluster;

use crate::Result;
use crate::stage::node;
use crate::take_over::{Departure, moment};

pub(crate) struct Measurement {
    /// The time from the end of the leadership to the start of the next.
    pub(crate) after: Duration,
    /// Whether the leader still led when the next began.
    pub(crate) without_gap: bool,
}

/// Measures the time until the other process leads. With `leaves` the leader leaves its group, and
/// leads on if its mode allows that.
pub(crate) async fn round<C: Class>(
    cluster: &Cluster,
    way: usize,
    goes: Departure,
    number: u32,
    leaves: impl AsyncFn(&Node<C>),
) -> Result<Measurement> {
    let group = format!("{}-{goes:?}-{number}", C::MODE);
    let first: Node<C> = node(&cluster.way(way).addresses(), &group, "first", 1).await?;
    let led = first.role(0).campaign("10.0.0.7:8080").await?;
    let leader = led.leader();
    let second: Node<C> = node(&cluster.addresses(), &group, "second", 1).await?;
    let election = second.role(0);
    let waits = tokio::spawn(async move {
        let won = election.campaign("10.0.0.8:8080").await;
        (won, clock::now())
    });
    moment(number).await;
    let began = clock::now();
    let closes = match goes {
        Departure::Lost => {
            cluster.way(way).cut();
            None
        }
        Departure::Closed => {
            let first = first.clone();
            Some(tokio::spawn(async move { first.close().await }))
        }
        Departure::Left => {
            leaves(&first).await;
            None
        }
    };
    let (won, at) = waits.await?;
    let without_gap = leader.is_current();
    let won = won?;
    cluster.way(way).open();
    drop((led, won));
    if let Some(closes) = closes {
        closes.await?;
    }
    first.close().await;
    second.close().await;
    Ok(Measurement { after: at.since(began), without_gap })
}

//! Connections that end, and what is done with them; with the library as it comes and with ours.

use std::time::Duration;

use async_nats::{ConnectOptions, Event};
use tenure_nats::Options;
use tenure_nats::bus::{Bus, Incoming, News, Published};
use tenure_services::nats::Cluster;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::stage::{Fact, SOON, Stage, event, heard, subscribe, watched};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        the_library_keeps_what_it_cannot_send,
        Always("sent after the reconnection"),
        "async-nats as it comes keeps what is published while disconnected, and sends it later."
    ),
    fact!(
        ours_drops_what_it_cannot_send,
        Always("dropped"),
        "With a connection of ours nothing is sent later, told of the loss already or not."
    ),
    fact!(
        a_killed_server,
        Always("told at once"),
        "A client is told at once that its server was killed."
    ),
    fact!(
        a_stopped_server,
        Always("left after three pings"),
        "Of a server that stands still async-nats says nothing until three pings are due."
    ),
    fact!(
        a_lame_duck,
        Always("told at once, and still in use"),
        "A server that is about to end says so, and passes messages on until it does."
    ),
];

/// A connection of ours, which is up.
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

fn start_again(cluster: &Cluster) -> Result<(), Failure> {
    cluster.server(0).restart()?;
    Ok(cluster.server(0).wait_ready()?)
}

async fn the_library_keeps_what_it_cannot_send(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let (client, mut events) = watched(ConnectOptions::new(), cluster.server(0).url()).await?;
    let mut subscriber = subscribe(&client, "x").await?;
    cluster.server(0).kill()?;
    event(&mut events, |event| *event == Event::Disconnected).await?;
    client.publish("x", "kept".into()).await?;
    start_again(&cluster)?;
    Ok(match heard(&mut subscriber, SOON).await.as_deref() {
        Some("kept") => "sent after the reconnection".to_owned(),
        other => format!("{other:?}"),
    })
}

async fn ours_drops_what_it_cannot_send(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let mut bus = ours(&cluster, "x").await?;
    cluster.server(0).kill()?;
    // Nothing was read since, so that nobody knows yet that the connection is gone.
    for _ in 0..500 {
        if bus.publish("x", b"kept".to_vec()) != Published::Handed {
            return Ok("known before it can be known".to_owned());
        }
    }
    until_down(&mut bus).await?;
    if bus.publish("x", b"kept".to_vec()) != Published::NotConnected {
        return Ok("taken while there is no connection".to_owned());
    }
    start_again(&cluster)?;
    until_up(&mut bus).await?;
    let _ = bus.publish("x", b"new".to_vec());
    let first = async {
        loop {
            if let Incoming::Heard(heard) = bus.next().await {
                return heard.payload;
            }
        }
    };
    let first = tokio::time::timeout(SOON, first).await?;
    Ok(if &*first == b"new" { "dropped" } else { "sent later" }.to_owned())
}

async fn a_killed_server(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let (_client, mut events) = watched(ConnectOptions::new(), cluster.server(0).url()).await?;
    cluster.server(0).kill()?;
    event(&mut events, |event| *event == Event::Disconnected).await?;
    Ok("told at once".to_owned())
}

async fn a_stopped_server(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let ping = Duration::from_millis(500);
    let options = ConnectOptions::new().ping_interval(ping);
    let (_client, mut events) = watched(options, cluster.server(0).url()).await?;
    let began = tenure::clock::now();
    cluster.server(0).stop()?;
    event(&mut events, |event| *event == Event::Disconnected).await?;
    cluster.server(0).cont()?;
    // The one that is due at the stop counts.
    let early = tenure::clock::now().since(began) < ping * 2;
    Ok(if early { "left at once" } else { "left after three pings" }.to_owned())
}

async fn a_lame_duck(stage: Stage) -> Seen {
    let cluster = stage.own(1)?;
    let (client, mut events) = watched(ConnectOptions::new(), cluster.server(0).url()).await?;
    let mut subscriber = subscribe(&client, "x").await?;
    cluster.server(0).lame_duck()?;
    event(&mut events, |event| *event == Event::LameDuckMode).await?;
    client.publish("x", "hi".into()).await?;
    Ok(match heard(&mut subscriber, SOON).await {
        Some(_) => "told at once, and still in use".to_owned(),
        None => "told at once, and of no use any more".to_owned(),
    })
}

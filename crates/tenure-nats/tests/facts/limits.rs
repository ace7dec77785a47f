//! What is too large or too much.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use async_nats::{ConnectOptions, Event};
use tenure_services::nats::ClusterConfig;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Seen, fact};

use crate::stage::{Fact, SOON, Stage, connect, event, heard, subscribe, watched};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        max_payload,
        Always("1048576 by default, 20000 as set"),
        "A server says at each connection how long a message may be."
    ),
    fact!(
        refused_by_the_client,
        Always("payload size limit"),
        "async-nats refuses what is longer, before it is sent."
    ),
    fact!(
        closed_by_the_server,
        Always("-ERR 'Maximum Payload Violation', and closed"),
        "A server closes the connection of a client that sends what is longer."
    ),
    fact!(
        slow_reader,
        Always("the newest are lost, and it is told"),
        "What finds a full subscription is dropped by async-nats, which says so."
    ),
];

async fn max_payload(stage: Stage) -> Seen {
    let by_default = stage.client().await?.server_info().max_payload;
    let small = ClusterConfig::new(stage.version(), 1).settings("max_payload: 20000").start()?;
    let set = connect(small.server(0).url()).await?.server_info().max_payload;
    Ok(format!("{by_default} by default, {set} as set"))
}

async fn refused_by_the_client(stage: Stage) -> Seen {
    let client = stage.client().await?;
    let error = client.publish(stage.name(), vec![0; 1_048_577].into()).await.unwrap_err();
    Ok(if error.to_string().contains("Payload size limit") {
        "payload size limit".to_owned()
    } else {
        error.to_string()
    })
}

async fn closed_by_the_server(stage: Stage) -> Seen {
    let mut stream = TcpStream::connect(stage.single()?.server(0).address())?;
    stream.set_read_timeout(Some(SOON))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    stream.write_all(b"CONNECT {\"verbose\":false}\r\nPUB x 1048577\r\n")?;
    let mut line = String::new();
    while !line.starts_with("-ERR") {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok("closed without a word".to_owned());
        }
    }
    let mut rest = Vec::new();
    // A reset is as closed as an end.
    let _ = lines.read_to_end(&mut rest);
    Ok(format!("{}, and closed", line.trim_end()))
}

async fn slow_reader(stage: Stage) -> Seen {
    let options = ConnectOptions::new().subscription_capacity(4);
    let (client, mut events) = watched(options, stage.single()?.server(0).url()).await?;
    let mut subscriber = subscribe(&client, stage.name()).await?;
    let says = stage.client().await?;
    for n in 0..8 {
        says.publish(stage.name(), n.to_string().into()).await?;
    }
    event(&mut events, |event| matches!(event, Event::SlowConsumer(_))).await?;
    let mut all = String::new();
    for _ in 0..4 {
        all += &heard(&mut subscriber, SOON).await.ok_or("fewer than there is room for")?;
    }
    Ok(match &*all {
        "0123" => "the newest are lost, and it is told".to_owned(),
        other => format!("{other} are heard"),
    })
}

//! Members that stand still for longer than their session.

use std::time::Duration;

use rdkafka::ClientConfig;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::member::{Apart, Event, Member, classic, newer, settings};
use crate::stage::{Fact, Stage, append, producer};

/// A busy machine does not miss so many heartbeats.
const SESSION: &str = "10000";

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        stopped_beyond_the_session,
        Always("its successor owns it, and it is told when it goes on"),
        "A member that was stopped for longer than its session is told of the loss afterwards."
    ),
    fact!(
        stopped_beyond_the_session_newer,
        Always("its successor owns it, and it is told when it goes on"),
        "With the newer protocol as well."
    ),
    fact!(
        killed,
        Always("after the session"),
        "What a killed member owned is given away when its session is over."
    ),
    fact!(killed_newer, Always("after the session"), "With the newer protocol as well."),
];

fn plain(brokers: &str, stage: &Stage) -> ClientConfig {
    let mut config = settings(brokers, stage.name());
    classic(&mut config, SESSION, SESSION);
    config
}

fn new(brokers: &str, stage: &Stage) -> Result<ClientConfig, Failure> {
    stage.set_session(SESSION)?;
    let mut config = settings(brokers, stage.name());
    newer(&mut config, SESSION);
    Ok(config)
}

/// Stops the owner until another one has read what was written since.
async fn stopped(stage: &Stage, brokers: &str, config: &ClientConfig) -> Seen {
    let first = Apart::join(config, stage.name())?;
    first.wait(|line| line == "assigned [0]").await?;
    let mut second = Member::join(config, stage.name())?;
    let producer = producer(brokers)?;
    // Each begins at the end, wherever that is when it looks: until it is known that it reads.
    while !first.said().iter().any(|line| line.starts_with("read 0 ")) {
        append(&producer, stage.name(), 0)?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    first.process.stop()?;
    second.owns(1).await?;
    let reads = |event: &Event| matches!(event, Event::Read(..));
    while second.wait(Duration::from_millis(50), reads).await.is_none() {
        append(&producer, stage.name(), 0)?;
    }
    first.process.cont()?;
    // Whether it has read on meanwhile is a race.
    first.wait(|line| line.starts_with("lost")).await?;
    Ok("its successor owns it, and it is told when it goes on".to_owned())
}

async fn stopped_beyond_the_session(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    stopped(&stage, &brokers, &plain(&brokers, &stage)).await
}

async fn stopped_beyond_the_session_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    stopped(&stage, &brokers, &new(&brokers, &stage)?).await
}

async fn after_kill(stage: &Stage, config: &ClientConfig) -> Seen {
    let first = Apart::join(config, stage.name())?;
    first.wait(|line| line == "assigned [0]").await?;
    let mut second = Member::join(config, stage.name())?;
    // Nobody tells it that it has joined.
    tokio::time::sleep(Duration::from_secs(1)).await;
    second.so_far();
    let began = tenure::clock::now();
    first.process.kill()?;
    second.owns(1).await?;
    let took = tenure::clock::now().since(began);
    // The last heartbeat was 300 ms before, and more on a busy machine.
    Ok(if took > Duration::from_secs(2) {
        "after the session".to_owned()
    } else {
        format!("after {took:?}")
    })
}

async fn killed(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    after_kill(&stage, &plain(&brokers, &stage)).await
}

async fn killed_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    after_kill(&stage, &new(&brokers, &stage)?).await
}

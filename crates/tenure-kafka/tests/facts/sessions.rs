//! Members that stand still for longer than their session.

use std::time::Duration;

use rdkafka::ClientConfig;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Seen, fact};

use crate::member::{Apart, Event, Member, classic, newer, settings};
use crate::stage::{Fact, SOON, Stage, append, producer};

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
    classic(&mut config, "1500", "3000");
    config
}

fn new(brokers: &str, stage: &Stage) -> ClientConfig {
    let mut config = settings(brokers, stage.name());
    newer(&mut config, "3000");
    config
}

/// Stops the owner until another one has read what was written since.
async fn stopped(stage: &Stage, brokers: &str, config: &ClientConfig) -> Seen {
    let first = Apart::join(config, stage.name())?;
    first.wait(|line| line == "assigned [0]").await?;
    let mut second = Member::join(config, stage.name())?;
    let producer = producer(brokers)?;
    // Until it is known that it reads.
    append(&producer, stage.name(), 0)?;
    first.wait(|line| line.starts_with("read 0 ")).await?;
    first.process.stop()?;
    second.owns(1).await?;
    for _ in 0..5 {
        append(&producer, stage.name(), 0)?;
    }
    let last = second.wait(SOON, |event| matches!(event, Event::Read(_, 5..))).await;
    last.ok_or("the successor reads nothing")?;
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
    stopped(&stage, &brokers, &new(&brokers, &stage)).await
}

async fn after_kill(stage: &Stage, config: &ClientConfig) -> Seen {
    let first = Apart::join(config, stage.name())?;
    first.wait(|line| line == "assigned [0]").await?;
    let mut second = Member::join(config, stage.name())?;
    // It has joined when nothing more happens.
    tokio::time::sleep(Duration::from_secs(2)).await;
    second.so_far();
    let began = tenure::clock::now();
    first.process.kill()?;
    second.owns(1).await?;
    let took = tenure::clock::now().since(began);
    // The last heartbeat was up to 300 ms before.
    Ok(if took > Duration::from_millis(1100) {
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
    after_kill(&stage, &new(&brokers, &stage)).await
}

//! Members that stand still for longer than their session.

use std::time::Duration;

use rdkafka::ClientConfig;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::member::{Member, classic, newer, settings};
use crate::stage::{Fact, Stage, append, producer};

/// In milliseconds: a busy machine does not miss heartbeats for so long.
const SESSION: &str = "10000";

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        stopped_beyond_the_session,
        "its successor owns it, and it is told when it goes on",
        "A member that was stopped for longer than its session is told of the loss afterwards."
    ),
    fact!(
        stopped_beyond_the_session_newer,
        "its successor owns it, and it is told when it goes on",
        "With the newer protocol as well."
    ),
];

/// Stops the owner until another member has read the records that were written meanwhile.
async fn stopped(stage: &Stage, brokers: &str, config: &ClientConfig) -> Seen {
    let first = Member::join(config, stage.name())?;
    first.wait("assigned [0]").await?;
    let second = Member::join(config, stage.name())?;
    let producer = producer(brokers)?;
    // Each member begins at the end that it finds: wait until the member reads.
    let until_it_reads = async |one: &Member| {
        while !one.has_said("read 0 ") {
            append(&producer, stage.name(), 0)?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok::<_, Failure>(())
    };
    until_it_reads(&first).await?;
    first.process.stop()?;
    second.wait("assigned [0]").await?;
    until_it_reads(&second).await?;
    first.process.cont()?;
    // The owner may or may not read on before it learns of its loss: assert only the loss.
    first.wait("lost").await?;
    Ok("its successor owns it, and it is told when it goes on".to_owned())
}

async fn stopped_beyond_the_session(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let mut config = settings(&brokers, stage.name());
    classic(&mut config, SESSION, SESSION);
    stopped(&stage, &brokers, &config).await
}

async fn stopped_beyond_the_session_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    stage.set_session(SESSION)?;
    let mut config = settings(&brokers, stage.name());
    newer(&mut config, SESSION);
    stopped(&stage, &brokers, &config).await
}

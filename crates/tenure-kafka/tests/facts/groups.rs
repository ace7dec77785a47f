//! Who gets which partitions, and who is disturbed by it.

use std::time::Duration;

use rdkafka::ClientConfig;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::member::{Event, Member, classic, newer, settings};
use crate::stage::{Fact, SOON, Stage, append, producer};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        not_given_back,
        Always("never"),
        "Giving back is waited for without end, as long as the owner asks its library."
    ),
    fact!(
        not_given_back_newer,
        Always("after max.poll.interval.ms, and its owner is not told"),
        "With the newer protocol it is waited for no longer than max.poll.interval.ms."
    ),
    fact!(
        nobody_asks,
        Always("given away, and lost"),
        "A member that asks its library for nothing leaves after max.poll.interval.ms; it is \
         told when it asks again."
    ),
    fact!(
        a_member_joins,
        Always("2 of 4 are revoked, 2 are kept"),
        "With cooperative-sticky an owner is told only of the partitions that it gives away."
    ),
    fact!(
        a_member_joins_newer,
        Always("2 of 4 are revoked, 2 are kept"),
        "With the newer protocol as well."
    ),
    fact!(
        a_member_joins_roundrobin,
        Always("4 of 4 are revoked, 0 are kept"),
        "With roundrobin an owner loses all partitions whenever somebody joins."
    ),
    fact!(
        a_member_leaves,
        Always("handed over before its session ends"),
        "What a member owned that leaves is given to others at once."
    ),
    fact!(
        a_member_leaves_newer,
        Always("handed over before its session ends"),
        "With the newer protocol as well."
    ),
    fact!(
        giving_back_is_waited_for,
        Always("nobody owns it meanwhile, its owner stays a member"),
        "What is revoked is given to the next only when its owner has given it back."
    ),
    fact!(
        giving_back_is_waited_for_newer,
        Always("nobody owns it meanwhile, its owner stays a member"),
        "With the newer protocol as well."
    ),
];

/// A session, and a time to give back, that end in no fact.
const LASTING: &str = "300000";
/// A time to give back whose end is waited for.
const SHORT: &str = "8000";

fn plain(brokers: &str, stage: &Stage) -> ClientConfig {
    let mut config = settings(brokers, stage.name());
    classic(&mut config, LASTING, LASTING);
    config
}

fn new(brokers: &str, stage: &Stage) -> ClientConfig {
    let mut config = settings(brokers, stage.name());
    newer(&mut config, LASTING);
    config
}

/// A member that owns all of so many partitions and reads: `rdkafka` may never hear of a newer
/// assignment that comes while it takes the first one.
async fn settled(
    stage: &Stage,
    config: &ClientConfig,
    partitions: usize,
) -> Result<Member, Failure> {
    let mut first = Member::join(config, stage.name())?;
    first.owns(partitions).await?;
    let producer = producer(&stage.single()?.addresses())?;
    let reads = |event: &Event| matches!(event, Event::Read(..));
    while first.wait(Duration::from_millis(50), reads).await.is_none() {
        append(&producer, stage.name(), 0)?;
    }
    Ok(first)
}

/// A second member joins; what becomes of the partitions of the first.
async fn joined(stage: &Stage, config: &ClientConfig) -> Seen {
    let mut first = settled(stage, config, 4).await?;
    let mut second = Member::join(config, stage.name())?;
    second.owns(2).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut revoked = Vec::new();
    for event in first.so_far() {
        match event {
            Event::Revoked(partitions) => revoked.extend(partitions),
            Event::Lost(partitions) => return Ok(format!("{partitions:?} are lost")),
            _ => {}
        }
    }
    Ok(format!("{} of 4 are revoked, {} are kept", revoked.len(), 4 - revoked.len()))
}

async fn a_member_joins(stage: Stage) -> Seen {
    let brokers = stage.topic(4).await?;
    joined(&stage, &plain(&brokers, &stage)).await
}

async fn a_member_joins_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(4).await?;
    joined(&stage, &new(&brokers, &stage)).await
}

async fn a_member_joins_roundrobin(stage: Stage) -> Seen {
    let brokers = stage.topic(4).await?;
    let mut config = plain(&brokers, &stage);
    config.set("partition.assignment.strategy", "roundrobin");
    joined(&stage, &config).await
}

/// The first of two members leaves; whether the other gets what it had though no session ends.
async fn left(stage: &Stage, config: &ClientConfig) -> Seen {
    stage.set_session(LASTING)?;
    let first = settled(stage, config, 2).await?;
    let mut second = Member::join(config, stage.name())?;
    second.owns(1).await?;
    first.leave();
    second.owns(1).await?;
    Ok("handed over before its session ends".to_owned())
}

async fn a_member_leaves(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    left(&stage, &plain(&brokers, &stage)).await
}

async fn a_member_leaves_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    left(&stage, &new(&brokers, &stage)).await
}

/// A member that owns both of two partitions, does not give back what is revoked when another
/// joins, and goes on asking its library.
async fn holds_back(stage: &Stage, config: &ClientConfig) -> Result<(Member, Member), Failure> {
    let mut first = settled(stage, config, 2).await?;
    first.gives_back(false);
    let second = Member::join(config, stage.name())?;
    let revoked = first.wait(SOON, |event| matches!(event, Event::Revoked(_))).await;
    revoked.ok_or("nothing is revoked")?;
    Ok((first, second))
}

async fn waited_for(stage: &Stage, config: &ClientConfig) -> Seen {
    let (mut first, mut second) = holds_back(stage, config).await?;
    let owned = |event: &Event| matches!(event, Event::Assigned(all) if !all.is_empty());
    if second.wait(Duration::from_secs(3), owned).await.is_some() {
        return Ok("given away at once".to_owned());
    }
    let lost = |event: &Event| matches!(event, Event::Lost(_) | Event::Failed(_));
    Ok(match first.so_far().into_iter().find(lost) {
        None => "nobody owns it meanwhile, its owner stays a member".to_owned(),
        Some(event) => format!("nobody owns it meanwhile; its owner: {event}"),
    })
}

async fn giving_back_is_waited_for(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    waited_for(&stage, &plain(&brokers, &stage)).await
}

async fn giving_back_is_waited_for_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    waited_for(&stage, &new(&brokers, &stage)).await
}

/// Twice as long as `max.poll.interval.ms`, and a second.
const NEVER: Duration = Duration::from_secs(17);

/// Whether it is given back `within` that time.
async fn given_back(stage: &Stage, mut config: ClientConfig, within: Duration) -> Seen {
    let config = config.set("max.poll.interval.ms", SHORT);
    let began = tenure::clock::now();
    let (mut first, mut second) = holds_back(stage, config).await?;
    let owned = |event: &Event| matches!(event, Event::Assigned(all) if !all.is_empty());
    let given = second.wait(within, owned).await;
    let took = tenure::clock::now().since(began);
    let lost = first.so_far().into_iter().any(|event| matches!(event, Event::Lost(_)));
    Ok(match given {
        None => "never".to_owned(),
        Some(_) if took < Duration::from_secs(6) => format!("after {took:?}"),
        Some(_) if lost => "after max.poll.interval.ms, and its owner is told".to_owned(),
        Some(_) => "after max.poll.interval.ms, and its owner is not told".to_owned(),
    })
}

async fn not_given_back(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    let mut config = plain(&brokers, &stage);
    config.set("session.timeout.ms", SHORT);
    given_back(&stage, config, NEVER).await
}

async fn not_given_back_newer(stage: Stage) -> Seen {
    let brokers = stage.topic(2).await?;
    given_back(&stage, new(&brokers, &stage), SOON).await
}

async fn nobody_asks(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let mut config = plain(&brokers, &stage);
    config.set("session.timeout.ms", SHORT).set("max.poll.interval.ms", SHORT);
    let mut first = Member::join(&config, stage.name())?;
    first.owns(1).await?;
    let mut second = Member::join(&config, stage.name())?;
    first.polls(false);
    second.owns(1).await?;
    first.polls(true);
    let lost = first.wait(SOON, |event| matches!(event, Event::Lost(_))).await;
    Ok(if lost.is_some() { "given away, and lost" } else { "given away" }.to_owned())
}

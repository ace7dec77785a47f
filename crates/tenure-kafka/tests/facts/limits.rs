//! Times and protocols of groups that are refused, and where one reads what is allowed.

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminOptions, ResourceSpecifier};
use rdkafka::consumer::BaseConsumer;
use tenure_services::kafka::quick;
use tenure_testkit::facts::Expected::Always;
use tenure_testkit::facts::{Failure, Seen, fact};

use crate::member::{Event, Member, classic, newer, settings};
use crate::stage::{Fact, SOON, Stage, admin, create};

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        session_below_the_minimum,
        Always("InvalidSessionTimeout"),
        "A session timeout below the broker's minimum is refused when one joins."
    ),
    fact!(
        minimum_is_read,
        Always("classic 1000 to 1800000 ms; newer 45000 ms, 1000 to 600000 ms"),
        "What a broker allows, and the newer protocol's session timeout, can be read."
    ),
    fact!(
        group_is_read,
        Always("consumer.session.timeout.ms 45000, consumer.heartbeat.interval.ms 300"),
        "So can what is in use in a group of the newer protocol, whether it is set for it or not."
    ),
    fact!(
        newer_takes_no_session,
        Always("refused by the library"),
        "With the newer protocol a member cannot choose its session timeout."
    ),
    fact!(
        newer_takes_no_heartbeat,
        Always("refused by the library"),
        "Nor how often it says that it is there."
    ),
    fact!(
        newer_is_unknown,
        Always("UnsupportedVersion"),
        "A broker without the newer protocol says so to those that join with it."
    ),
    fact!(
        poll_below_session,
        Always("refused by the library"),
        "max.poll.interval.ms is no shorter than session.timeout.ms."
    ),
    fact!(
        two_with_one_static_id,
        Always("the first is fenced"),
        "When a second member has the static id of the first, the first is told, for good."
    ),
    fact!(
        no_delivery_without_time,
        Always("refused by the library"),
        "A producer must have more time to deliver than it lingers."
    ),
];

/// What a member is told before anything else goes wrong.
async fn failure(member: &mut Member, sign: &str) -> Result<String, Failure> {
    let is_it = |event: &Event| matches!(event, Event::Failed(why) if why.contains(sign));
    let found = member.wait(SOON, is_it).await;
    Ok(if found.is_some() { sign.to_owned() } else { "nothing of it".to_owned() })
}

async fn session_below_the_minimum(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let mut config = settings(&brokers, stage.name());
    classic(&mut config, "900", "6000");
    let mut member = Member::join(&config, stage.name())?;
    failure(&mut member, "InvalidSessionTimeout").await
}

async fn minimum_is_read(stage: Stage) -> Seen {
    let brokers = stage.single()?.addresses();
    let broker = ResourceSpecifier::Broker(0);
    let found = admin(&brokers)?.describe_configs([&broker], &AdminOptions::new()).await?;
    let found = found.into_iter().next().ok_or("nothing")??;
    let value = |name: &str| found.get(name)?.value.clone();
    let names = [
        "group.min.session.timeout.ms",
        "group.max.session.timeout.ms",
        "group.consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ];
    let [least, most, newer, newer_least, newer_most] =
        names.map(|name| value(name).unwrap_or_else(|| "?".to_owned()));
    Ok(format!("classic {least} to {most} ms; newer {newer} ms, {newer_least} to {newer_most} ms"))
}

async fn group_is_read(stage: Stage) -> Seen {
    let brokers = stage.single()?.addresses();
    let group = ResourceSpecifier::Group(stage.name());
    let found = admin(&brokers)?.describe_configs([&group], &AdminOptions::new()).await?;
    let found = found.into_iter().next().ok_or("nothing")??;
    let shown = |name: &str| {
        let value = found.get(name).and_then(|entry| entry.value.clone());
        format!("{name} {}", value.unwrap_or_default())
    };
    let names = ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"];
    Ok(names.map(shown).join(", "))
}

/// Whether the library refuses settings before anybody is asked.
fn refused(config: &ClientConfig) -> String {
    match config.create::<BaseConsumer>() {
        Ok(_) => "taken".to_owned(),
        Err(_) => "refused by the library".to_owned(),
    }
}

async fn newer_takes_no_session(stage: Stage) -> Seen {
    let mut config = settings("127.0.0.1:1", stage.name());
    newer(&mut config, "6000");
    Ok(refused(config.set("session.timeout.ms", "3000")))
}

async fn newer_takes_no_heartbeat(stage: Stage) -> Seen {
    let mut config = settings("127.0.0.1:1", stage.name());
    newer(&mut config, "6000");
    Ok(refused(config.set("heartbeat.interval.ms", "300")))
}

async fn newer_is_unknown(stage: Stage) -> Seen {
    let cluster =
        quick(stage.version()).setting("group.coordinator.rebalance.protocols=classic").start()?;
    let brokers = cluster.addresses();
    create(&brokers, "t", 1, &[]).await?;
    let mut config = settings(&brokers, "g");
    newer(&mut config, "6000");
    let mut member = Member::join(&config, "t")?;
    failure(&mut member, "UnsupportedVersion").await
}

async fn poll_below_session(stage: Stage) -> Seen {
    let mut config = settings("127.0.0.1:1", stage.name());
    classic(&mut config, "3000", "2999");
    Ok(refused(&config))
}

async fn two_with_one_static_id(stage: Stage) -> Seen {
    let brokers = stage.topic(1).await?;
    let mut config = settings(&brokers, stage.name());
    classic(&mut config, "20000", "20000");
    config.set("group.instance.id", "one");
    let mut first = Member::join(&config, stage.name())?;
    first.owns(1).await?;
    let _second = Member::join(&config, stage.name())?;
    let is_it = |event: &Event| matches!(event, Event::Failed(why) if why.contains("Fenced"));
    let told = first.wait(SOON, is_it).await;
    Ok(if told.is_some() { "the first is fenced" } else { "both are members" }.to_owned())
}

async fn no_delivery_without_time(_: Stage) -> Seen {
    let mut config = crate::stage::client("127.0.0.1:1");
    config
        .set("enable.idempotence", "true")
        .set("delivery.timeout.ms", "100")
        .set("linger.ms", "200");
    Ok(match config.create::<rdkafka::producer::BaseProducer>() {
        Ok(_) => "taken".to_owned(),
        Err(_) => "refused by the library".to_owned(),
    })
}

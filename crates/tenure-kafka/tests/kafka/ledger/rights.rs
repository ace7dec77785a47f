//! Rights that somebody takes away, for a moment or for good.

use std::time::Duration;

use tenure_core::nele::{
    Change, Config, Kind, Membership, Partition, RebalanceId, Report, Request, Target,
};
use tenure_kafka::{GroupProtocol, Login, Mechanism, Options, Password, topic};
use tenure_services::kafka::{Cluster, Resource, Security, Version};

use crate::common::{quick, tests};
use crate::ledger::process::{Hand, SOON, config, options, records};

tests!(
    who_may_not_read_the_topic_for_a_moment_reads_on,
    who_may_not_be_a_member_for_a_moment_is_one_again,
    who_may_not_read_the_topic_any_more_is_told_so,
    who_may_not_be_a_member_any_more_is_told_so,
    who_may_not_be_a_member_at_the_start_is_told_at_once;
    the_first_record_that_is_written_again_is_told,
);

/// A broker at which ann may do with the topic and the group what is said, and nothing else.
fn guarded(config: &Config, topic: &str) -> Cluster {
    let cluster = quick(Version::V41)
        .security(Security::Logins(vec![("ann".into(), "secret".into())]))
        .setting("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer")
        .setting("super.users=User:ANONYMOUS")
        .setting("group.consumer.session.timeout.ms=6000")
        .start()
        .unwrap();
    cluster.allow("ann", Resource::Topic(topic), true).unwrap();
    cluster.allow("ann", Resource::Group(&config.group_id()), true).unwrap();
    cluster
}

/// Ann's process.
async fn ann(cluster: &Cluster, config: Config, by: GroupProtocol) -> Hand {
    let options = options(&cluster.addresses(), config.group.as_str());
    let login = Login {
        mechanism: Mechanism::Plain,
        user: "ann".into(),
        password: Password::Text("secret".into()),
    };
    let options = Options { group_protocol: by, login: Some(login), ..options }.check().unwrap();
    // A right that was given a moment ago is not there at once.
    let made = async {
        while topic::ensure(&options, &config).await.is_err() {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    tokio::time::timeout(SOON, made).await.unwrap();
    Hand::at(&options, config)
}

/// Settings that a busy machine does not break, of one that may be without a right for so long.
fn patient(name: &str, takeover: Duration) -> Config {
    let mut config = config(name, "ann", 1);
    let session = Duration::from_secs(6);
    (config.session_timeout, config.max_poll_interval) = (session, session);
    (config.takeover, config.seek) = (takeover, SOON / 8);
    config
}

/// Of one that is not without it for good.
fn lasting(name: &str) -> Config {
    patient(name, SOON * 3)
}

/// Joins, and reads what it writes.
async fn member(hand: &mut Hand) -> RebalanceId {
    hand.ledger.request(&Request::Join(Membership(1)));
    let assigned = hand.rebalance(Change::Assigned, 1).await.id;
    let (reading, _) = hand.read(Partition(0), assigned).await;
    hand.write(Target::Every, reading).await;
    assigned
}

/// Reads again what it writes, as a core would have it read. Nothing is over.
async fn reads_again(hand: &mut Hand, mut assigned: Option<RebalanceId>) {
    let again = async {
        loop {
            if let Some(by) = assigned
                && let Some(reading) = hand.try_read(Partition(0), by).await
            {
                let beat = hand.publish(Target::Every, Kind::Beat);
                let back = |report: &Report| {
                    records(report, reading)?.iter().any(|record| record.offset > 0).then_some(())
                };
                if hand.within(Duration::from_secs(3), back).await.is_ok() {
                    return beat;
                }
            }
            let news = |report: &Report| match report {
                Report::Rebalance(one) => Some(one.clone()),
                Report::Fatal { why } => panic!("{why}"),
                _ => None,
            };
            if let Ok(change) = hand.within(Duration::from_secs(1), news).await {
                assert_eq!(change.membership, Membership(1));
                assigned = match change.change {
                    Change::Assigned if change.partitions.is_empty() => assigned,
                    Change::Assigned => Some(change.id),
                    Change::Revoked | Change::Lost => None,
                };
                hand.ledger.request(&Request::GiveBack(change.id));
            }
        }
    };
    tokio::time::timeout(SOON * 2, again).await.unwrap();
}

async fn who_may_not_read_the_topic_for_a_moment_reads_on(by: GroupProtocol, name: &str) {
    let config = lasting(name);
    let topic = config.group.to_string();
    let cluster = guarded(&config, &topic);
    let mut hand = ann(&cluster, config, by).await;
    let assigned = member(&mut hand).await;
    cluster.allow("ann", Resource::Topic(&topic), false).unwrap();
    let mut kept = Some(assigned);
    let noticed = hand.until(|report| match report {
        Report::Broken { .. } => Some(Some(assigned)),
        Report::Rebalance(one) if one.change != Change::Assigned => Some(None),
        Report::Fatal { why } => panic!("{why}"),
        _ => None,
    });
    if noticed.await.is_none() {
        kept = None;
        hand.ledger.request(&Request::GiveBack(RebalanceId(assigned.0 + 1)));
    }
    cluster.allow("ann", Resource::Topic(&topic), true).unwrap();
    reads_again(&mut hand, kept).await;
}

async fn who_may_not_be_a_member_for_a_moment_is_one_again(by: GroupProtocol, name: &str) {
    let config = lasting(name);
    let (topic, group) = (config.group.to_string(), config.group_id());
    let cluster = guarded(&config, &topic);
    let mut hand = ann(&cluster, config, by).await;
    let first = member(&mut hand).await;
    cluster.allow("ann", Resource::Group(&group), false).unwrap();
    let lost = hand.until(|report| match report {
        Report::Rebalance(one) if one.change == Change::Lost => Some(one.clone()),
        Report::Fatal { why } => panic!("{why}"),
        _ => None,
    });
    let lost = lost.await;
    assert!(lost.id > first && lost.partitions == [Partition(0)], "{lost}");
    // It is refused for a while.
    tokio::time::sleep(Duration::from_secs(3)).await;
    cluster.allow("ann", Resource::Group(&group), true).unwrap();
    reads_again(&mut hand, None).await;
}

/// Waits for the end of it.
async fn is_over(hand: &Hand, says: &str) {
    let why = hand.until(|report| match report {
        Report::Fatal { why } => Some(why.to_string()),
        _ => None,
    });
    let why = why.await;
    assert!(why.contains(says), "{why}");
    hand.until(|report| matches!(report, Report::Left(Membership(1))).then_some(())).await;
}

/// Of one that is.
fn impatient(name: &str) -> Config {
    patient(name, Duration::from_secs(7))
}

async fn who_may_not_read_the_topic_any_more_is_told_so(by: GroupProtocol, name: &str) {
    let config = impatient(name);
    let topic = config.group.to_string();
    let cluster = guarded(&config, &topic);
    let mut hand = ann(&cluster, config, by).await;
    let assigned = member(&mut hand).await;
    cluster.allow("ann", Resource::Topic(&topic), false).unwrap();
    let began = tenure::clock::now();
    // Whoever has a core is asked again and again.
    let asks = async {
        loop {
            hand.ask_to_read(Partition(0), assigned);
            let over = |report: &Report| match report {
                Report::Fatal { why } => Some(why.to_string()),
                Report::Rebalance(one) if one.change == Change::Revoked => Some(String::new()),
                _ => None,
            };
            match hand.within(Duration::from_secs(1), over).await {
                Ok(why) if !why.is_empty() => return why,
                Ok(_) => hand.ledger.request(&Request::GiveBack(RebalanceId(assigned.0 + 1))),
                Err(_) => {}
            }
        }
    };
    let why = tokio::time::timeout(SOON, asks).await.unwrap();
    assert!(why.contains("must be allowed to read, write and describe the topic"), "{why}");
    assert!(tenure::clock::now().since(began) > Duration::from_secs(7));
}

async fn who_may_not_be_a_member_any_more_is_told_so(by: GroupProtocol, name: &str) {
    let config = impatient(name);
    let (topic, group) = (config.group.to_string(), config.group_id());
    let cluster = guarded(&config, &topic);
    let mut hand = ann(&cluster, config, by).await;
    member(&mut hand).await;
    cluster.allow("ann", Resource::Group(&group), false).unwrap();
    let began = tenure::clock::now();
    is_over(&hand, "must be allowed to read the group").await;
    assert!(tenure::clock::now().since(began) > Duration::from_secs(7));
}

async fn who_may_not_be_a_member_at_the_start_is_told_at_once(by: GroupProtocol, name: &str) {
    let config = lasting(name);
    let (topic, group) = (config.group.to_string(), config.group_id());
    let cluster = guarded(&config, &topic);
    let mut hand = ann(&cluster, config, by).await;
    cluster.allow("ann", Resource::Group(&group), false).unwrap();
    // It holds a moment later.
    tokio::time::sleep(Duration::from_secs(3)).await;
    hand.ledger.request(&Request::Join(Membership(1)));
    is_over(&hand, "must be allowed to read the group").await;
}

async fn the_first_record_that_is_written_again_is_told() {
    let cluster = quick(Version::V41).ways(1).start().unwrap();
    let mut config = config("written", "one", 2);
    // So long a busy machine may take.
    (config.takeover, config.delivery_timeout) = (SOON, SOON / 8);
    let addresses = cluster.way(0).addresses();
    let mut hand = Hand::new(&addresses, config, GroupProtocol::Classic).await;
    let outcome = |number| {
        move |report: &Report| match report {
            Report::Published { number: of, partition, outcome } if *of == number => {
                Some((*partition, outcome.is_ok()))
            }
            _ => None,
        }
    };
    let first = hand.publish(Target::Every, Kind::Beat);
    let quiet = hand.within(SOON / 4, outcome(first)).await;
    assert!(quiet.is_err(), "{quiet:?}");
    cluster.way(0).cut();
    let missed = hand.publish(Target::Every, Kind::Beat);
    for _ in 0..2 {
        assert!(!hand.until(outcome(missed)).await.1);
    }
    cluster.way(0).open();
    let mut back = Vec::new();
    let worked = |report: &Report| match report {
        Report::Published { partition, outcome: Ok(_), .. } => Some(*partition),
        _ => None,
    };
    // It connects again in a while; until then each fails.
    while back.len() < 2 {
        hand.publish(Target::Every, Kind::Beat);
        back.extend(hand.within(Duration::from_secs(1), worked).await.ok());
    }
    back.sort_unstable();
    assert_eq!(back, [Partition(0), Partition(1)]);
    let last = hand.publish(Target::Every, Kind::Beat);
    let quiet = hand.within(SOON / 4, outcome(last)).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

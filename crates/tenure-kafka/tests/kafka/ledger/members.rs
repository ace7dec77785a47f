//! Members of a group: partitions that are assigned, read, given back and lost.

use std::time::Duration;

use tenure_core::nele::{Change, Kind, Membership, Partition, Report, Request, Target};
use tenure_kafka::{Assignor, Config, GroupProtocol, Options, topic};
use tenure_services::kafka::{ClusterConfig, SHARED_VERSION, Shared, Way};
use tenure_testkit::handles::{PATIENCE, soon};

use crate::common::{cluster, make_anew, quick, tests, unique};
use crate::ledger::process::{Hand, config, options, rebalance, records};

tests!(
    newcomer_gets_only_revoked_partitions,
    late_revocation_is_answered_in_time,
    leaving_member_hands_over_at_once,
    empty_assignment_is_reported,
    topic_is_reported_before_its_end;
    claim_is_read_back_in_place,
    a_partition_can_be_read_anew,
    isolated_member_loses_its_partitions,
    unanswered_member_leaves_in_time,
    silent_broker_delays_no_leaving,
    brief_session_is_kept,
    eager_member_reads_without_gaps,
    short_session_is_explained,
    missing_protocol_is_explained,
);

/// Reads the process's own records after an assignment of this number of partitions: the library
/// may miss a newer assignment that comes while it takes the first one.
async fn settle(hand: &mut Hand, partitions: usize) {
    let assigned = hand.rebalance(Change::Assigned, partitions).await;
    let (reading, _) = hand.read(Partition(0), assigned.id).await;
    hand.write(Target::Every, reading).await;
}

/// The settings `config`, with this session timeout in the group, by either protocol.
pub(super) fn with_session(cluster: &Shared, config: Config, session: Duration) -> Config {
    let millis = session.as_millis().to_string();
    let group = config.group_id();
    cluster.set_of_group(&group, "consumer.session.timeout.ms", &millis).unwrap();
    Config { session_timeout: session, max_poll_interval: session, ..config }
}

async fn claim_is_read_back_in_place() {
    let cluster = cluster();
    let name = &unique("claimed");
    let by = GroupProtocol::Classic;
    let mut one = Hand::join(&cluster.addresses(), config(name, "one", 2), by).await;
    let assigned = one.rebalance(Change::Assigned, 2).await;
    for partition in [0, 1].map(Partition) {
        let (reading, end) = one.read(partition, assigned.id).await;
        let beat = one.write(Target::Every, reading).await;
        assert_eq!(beat.offset, end);
        let claim = one.publish(Target::One(partition), Kind::Claim);
        // The report of the publication and the record itself may come in any order.
        let mut at = None;
        let mut read = None;
        while at.is_none() || read.is_none() {
            match soon(one.ledger.next()).await {
                Report::Published { number, partition: of, outcome } if number == claim => {
                    assert_eq!(of, partition);
                    at = Some(outcome.unwrap());
                }
                report => {
                    let last = records(&report, reading).and_then(<[_]>::last);
                    read = read.or(last.filter(|record| record.offset > beat.offset).cloned());
                }
            }
        }
        let at = at.unwrap();
        let read = read.unwrap();
        assert_eq!((read.offset, read.epoch), (at, Some(0)));
    }
}

async fn newcomer_gets_only_revoked_partitions(by: GroupProtocol, name: &str) {
    let cluster = cluster();
    let addresses = cluster.addresses();
    let mut one = Hand::join(&addresses, config(name, "one", 2), by).await;
    let assigned = one.rebalance(Change::Assigned, 2).await;
    let mut readings = Vec::new();
    for partition in [0, 1].map(Partition) {
        let (reading, _) = one.read(partition, assigned.id).await;
        one.write(Target::One(partition), reading).await;
        readings.push((partition, reading));
    }
    let two = Hand::join(&addresses, config(name, "two", 2), by).await;
    let revoked = one.rebalance(Change::Revoked, 1).await;
    assert!(revoked.id > assigned.id);
    // The library reads nothing during a revocation.
    let kept = readings.iter().find(|(partition, _)| *partition != revoked.partitions[0]);
    let &(partition, reading) = kept.unwrap();
    let meanwhile = one.publish(Target::One(partition), Kind::Beat);
    let early =
        two.within(Duration::from_secs(2), |report| rebalance(report, Change::Assigned, 1)).await;
    assert!(early.is_err(), "nobody gets it before it is given back: {early:?}");
    one.ledger.request(&Request::GiveBack(revoked.id));
    let given = two.rebalance(Change::Assigned, 1).await;
    assert_eq!(given.partitions, revoked.partitions);
    // The kept partition is read on, from its offset.
    one.read_back(reading, meanwhile).await;
    one.write(Target::One(partition), reading).await;
}

async fn late_revocation_is_answered_in_time(by: GroupProtocol, name: &str) {
    let cluster = cluster();
    let addresses = cluster.addresses();
    let settings = |id| with_session(&cluster, config(name, id, 2), Duration::from_secs(16));
    let mut one = Hand::join(&addresses, settings("one"), by).await;
    settle(&mut one, 2).await;
    let began = tenure::clock::now();
    let two = Hand::join(&addresses, settings("two"), by).await;
    let revoked = one.rebalance(Change::Revoked, 1).await;
    let given = two.rebalance(Change::Assigned, 1).await;
    assert_eq!(given.partitions, revoked.partitions);
    // The answer comes after three quarters of R (`max_poll_interval`), and not at once.
    assert!(tenure::clock::now().since(began) > Duration::from_secs(8));
    let lost = one.within(Duration::from_secs(1), |report| match report {
        Report::Rebalance(one) => Some(one.clone()),
        _ => None,
    });
    // The process stays a member, and may get an empty assignment.
    if let Ok(other) = lost.await {
        assert_eq!((other.change, other.partitions.len()), (Change::Assigned, 0));
    }
}

/// The session lasts longer than the test, so only the departure frees the partitions.
async fn leaving_member_hands_over_at_once(by: GroupProtocol, name: &str) {
    let cluster = cluster();
    let addresses = cluster.addresses();
    let settings = |id| with_session(&cluster, config(name, id, 2), PATIENCE * 10);
    let mut one = Hand::join(&addresses, settings("one"), by).await;
    settle(&mut one, 2).await;
    let mut two = Hand::join(&addresses, settings("two"), by).await;
    let revoked = one.rebalance(Change::Revoked, 1).await;
    one.ledger.request(&Request::GiveBack(revoked.id));
    two.rebalance(Change::Assigned, 1).await;
    one.ledger.request(&Request::Leave(Membership(1)));
    let left = one.until(|report| matches!(report, Report::Left(Membership(1))).then_some(()));
    left.await;
    let given = two.rebalance(Change::Assigned, 1).await;
    assert_ne!(given.partitions, revoked.partitions);
    one.ledger.request(&Request::Join(Membership(2)));
    let revoked = two.rebalance(Change::Revoked, 1).await;
    two.ledger.request(&Request::GiveBack(revoked.id));
    let again = one.until(|report| match report {
        Report::Rebalance(one) => Some(one.membership),
        _ => None,
    });
    assert_eq!(again.await, Membership(2));
}

/// Runs `test` with both group protocols. The broker has two addresses, which only this test uses
/// and cuts.
async fn on_ways(name: &str, test: impl AsyncFn(GroupProtocol, Config, &str, Way<'_>)) {
    let session = Duration::from_secs(10);
    let millis = session.as_millis();
    let cluster = quick()
        .setting(&format!("group.consumer.session.timeout.ms={millis}"))
        .ways(2)
        .start()
        .unwrap();
    let addresses = cluster.addresses();
    let run = async |by, name: String, way| {
        let mut config = config(&name, "one", 1);
        config.session_timeout = session;
        config.max_poll_interval = session;
        test(by, config, &addresses, cluster.way(way)).await;
    };
    tokio::join!(
        run(GroupProtocol::Classic, format!("{name}-c"), 0),
        run(GroupProtocol::Consumer, format!("{name}-n"), 1),
    );
}

async fn isolated_member_loses_its_partitions() {
    on_ways("cut", async |by, config, addresses, way| {
        let other = Config { id: "two".parse().unwrap(), ..config.clone() };
        let mut one = Hand::join(&way.addresses(), config, by).await;
        let first = one.rebalance(Change::Assigned, 1).await;
        one.read(Partition(0), first.id).await;
        let two = Hand::join(addresses, other, by).await;
        way.cut();
        let taken = two.rebalance(Change::Assigned, 1).await;
        assert_eq!(taken.partitions, [Partition(0)]);
        way.open();
        let lost = one.rebalance(Change::Lost, 1).await;
        assert!(lost.id > first.id);
    })
    .await;
}

async fn unanswered_member_leaves_in_time() {
    on_ways("held", async |by, config, _, way| {
        let mut one = Hand::join(&way.addresses(), config, by).await;
        let first = one.rebalance(Change::Assigned, 1).await;
        one.read(Partition(0), first.id).await;
        way.hold();
        one.ledger.request(&Request::Leave(Membership(1)));
        // The library waits for the coordinator's answer, for one second or five.
        one.until(|report| matches!(report, Report::Left(_)).then_some(())).await;
    })
    .await;
}

async fn a_partition_can_be_read_anew() {
    let cluster = cluster();
    let name = &unique("read-anew");
    let by = GroupProtocol::Classic;
    let mut one = Hand::join(&cluster.addresses(), config(name, "one", 1), by).await;
    let assigned = one.rebalance(Change::Assigned, 1).await;
    let (old, _) = one.read(Partition(0), assigned.id).await;
    one.write(Target::Every, old).await;
    let (new, end) = one.read(Partition(0), assigned.id).await;
    assert_eq!(end, 1);
    assert_eq!(one.write(Target::Every, new).await.offset, 1);
}

/// The newer protocol sends no empty assignment: a whole session without any assignment is the
/// sign.
async fn empty_assignment_is_reported(by: GroupProtocol, name: &str) {
    let cluster = cluster();
    let addresses = cluster.addresses();
    let settings = |id| with_session(&cluster, config(name, id, 1), Duration::from_secs(16));
    let one = Hand::join(&addresses, settings("one"), by).await;
    one.rebalance(Change::Assigned, 1).await;
    let two = Hand::join(&addresses, settings("two"), by).await;
    two.rebalance(Change::Assigned, 0).await;
}

async fn topic_is_reported_before_its_end(by: GroupProtocol, name: &str) {
    let cluster = cluster();
    let addresses = cluster.addresses();
    let config = config(name, "one", 1);
    let topic = config.group.to_string();
    let mut one = Hand::join(&addresses, config, by).await;
    let mut assigned = Some(one.rebalance(Change::Assigned, 1).await.id);
    // The old topic ends after a record, and the new one has none.
    let mut old = None;
    loop {
        let Some(by) = assigned else {
            assigned = Some(one.rebalance(Change::Assigned, 1).await.id);
            continue;
        };
        let reading = one.ask_to_read(Partition(0), by);
        let mut told = Vec::new();
        let end = loop {
            match one.until(|report| Some(report.clone())).await {
                Report::Topic { id, .. } => told.push(id.topic),
                Report::Position { reading: of, end, .. } if of == reading => break end,
                Report::Rebalance(change) if change.change != Change::Assigned => {
                    one.ledger.request(&Request::GiveBack(change.id));
                    assigned = None;
                    break Err("its partition is gone".into());
                }
                _ => {}
            }
        };
        if end.is_ok() {
            assert!(!told.is_empty(), "it is told since it was asked");
        }
        match (&old, end) {
            (None, Ok(_)) => {
                one.write(Target::Every, reading).await;
                old = Some(told);
                make_anew(&addresses, &topic).await;
            }
            (Some(old), Ok(0)) => {
                assert!(
                    told.iter().any(|id| !old.contains(id)),
                    "whoever hears where the new one ends knows that it is another one"
                );
                return;
            }
            // A broker may know the old topic for a while.
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Questions to a silent broker last long, and do not delay the other members of the group.
async fn silent_broker_delays_no_leaving() {
    let by = GroupProtocol::Classic;
    let cluster = ClusterConfig::new(SHARED_VERSION, 3)
        .setting("offsets.topic.num.partitions=1")
        // Otherwise the coordinator waits for a copy on the broker that stands still.
        .setting("offsets.topic.replication.factor=1")
        .setting("broker.session.timeout.ms=120000")
        .start()
        .unwrap();
    let addresses = cluster.addresses();
    let mut config = config("left", "one", 12);
    // Neither a question nor a session ends during the test.
    config.seek = PATIENCE * 2;
    config.session_timeout = PATIENCE * 2;
    config.max_poll_interval = PATIENCE * 2;
    let topic = config.group.to_string();
    let other = Config { id: "two".parse().unwrap(), ..config.clone() };
    let mut one = Hand::join(&addresses, config, by).await;
    let assigned = one.rebalance(Change::Assigned, 12).await;
    let two = Hand::join(&addresses, other, by).await;
    let revoked = one.rebalance(Change::Revoked, 6).await;
    one.ledger.request(&Request::GiveBack(revoked.id));
    two.rebalance(Change::Assigned, 6).await;
    let kept = assigned.partitions.iter().filter(|kept| !revoked.partitions.contains(kept));
    let kept: Vec<_> = kept.copied().collect();
    // Find a broker that is not the coordinator, and leads a partition of the topic.
    let coordinator = leaders(&addresses, "__consumer_offsets")[0];
    let of = leaders(&addresses, &topic);
    let leads = |id: i32| kept.iter().any(|partition| of[partition.0 as usize] == id);
    let still = cluster.brokers().find(|broker| broker.id() != coordinator && leads(broker.id()));
    let still = still.unwrap();
    one.read(kept[0], assigned.id).await;
    still.stop().unwrap();
    for _ in 0..2 {
        for partition in &kept {
            one.ask_to_read(*partition, assigned.id);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    one.ledger.request(&Request::Leave(Membership(1)));
    let given = two.rebalance(Change::Assigned, 6).await;
    still.cont().unwrap();
    assert_eq!(given.partitions.len(), kept.len());
    one.until(|report| matches!(report, Report::Left(Membership(1))).then_some(())).await;
}

/// The leading broker of each partition of a topic.
fn leaders(addresses: &str, topic: &str) -> Vec<i32> {
    let mut config = rdkafka::ClientConfig::new();
    config.set("bootstrap.servers", addresses);
    let asks: rdkafka::consumer::BaseConsumer = config.create().unwrap();
    let metadata =
        rdkafka::consumer::Consumer::fetch_metadata(&asks, Some(topic), PATIENCE).unwrap();
    let mut all: Vec<_> =
        metadata.topics()[0].partitions().iter().map(|one| (one.id(), one.leader())).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, leader)| leader).collect()
}

/// The report to a process that can never be a member.
async fn fatal(mut ledger: tenure_kafka::Ledger) -> String {
    ledger.request(&Request::Join(Membership(1)));
    let told = async {
        loop {
            if let Report::Fatal { why } = ledger.next().await {
                return why.to_string();
            }
        }
    };
    soon(told).await
}

async fn short_session_is_explained() {
    let cluster = cluster();
    let name = &unique("too-short");
    let mut settings = config(name, "one", 1);
    settings.session_timeout = Duration::from_millis(900);
    let options = options(&cluster.addresses(), name).check().unwrap();
    let said = topic::ensure(&options, &settings).await.unwrap_err().to_string();
    let begins = "session timeout is 900ms; brokers allow 1s to 1800s: change --session-timeout";
    assert!(said.starts_with(begins), "{said}");
    // Without a check of the limits, the process learns the same from the coordinator's own error.
    let ledger = tenure_kafka::Ledger::new(&options, settings.check().unwrap()).unwrap();
    let said = fatal(ledger).await;
    assert!(said.contains("lower group.min.session.timeout.ms at the brokers"), "{said}");
}

async fn missing_protocol_is_explained() {
    let cluster = quick().setting("group.coordinator.rebalance.protocols=classic").start().unwrap();
    let settings = config("too-new", "one", 1);
    let by = GroupProtocol::Consumer;
    let said = fatal(Hand::new(&cluster.addresses(), settings, by).await.ledger).await;
    let told = "the brokers do not have this group protocol: give --group-protocol classic";
    assert!(said.contains(told), "{said}");
}

/// Ten sessions pass without a loss. By itself the client library reports only twice a second: a
/// session of 100 ms would end again and again.
async fn brief_session_is_kept() {
    let cluster = quick().setting("group.min.session.timeout.ms=100").start().unwrap();
    let mut config = config("brief", "one", 1);
    config.session_timeout = Duration::from_millis(100);
    config.heartbeat_interval = Duration::from_millis(10);
    let sessions = config.session_timeout * 10;
    let one = Hand::join(&cluster.addresses(), config, GroupProtocol::Classic).await;
    let kept = async {
        let mut held = false;
        loop {
            let change = |report: &Report| match report {
                Report::Rebalance(one) => Some(one.change == Change::Assigned),
                _ => None,
            };
            match one.within(sessions, change).await {
                Ok(assigned) => held = assigned,
                Err(_) if held => return,
                Err(_) => {}
            }
        }
    };
    soon(kept).await;
}

/// Each begun reading goes on from its offset when another reading begins. When another member
/// joins, the owner of all partitions loses them all.
async fn eager_member_reads_without_gaps() {
    let cluster = cluster();
    let name = &unique("eager");
    let join = async |id| {
        let config = config(name, id, 2);
        let options = options(&cluster.addresses(), config.group.as_str());
        let options = Options { assignor: Assignor::RoundRobin, ..options }.check().unwrap();
        topic::ensure(&options, &config).await.unwrap();
        let mut hand = Hand::at(&options, config);
        hand.ledger.request(&Request::Join(Membership(1)));
        hand
    };
    let mut one = join("one").await;
    let assigned = one.rebalance(Change::Assigned, 2).await;
    let (first, end) = one.read(Partition(0), assigned.id).await;
    let beat = one.write(Target::One(Partition(0)), first).await;
    assert_eq!(beat.offset, end);
    one.publish(Target::One(Partition(0)), Kind::Beat);
    let second = one.ask_to_read(Partition(1), assigned.id);
    let mut offsets = vec![beat.offset];
    let mut begun = false;
    while !begun || offsets.len() < 3 {
        let report = soon(one.ledger.next()).await;
        offsets.extend(records(&report, first).into_iter().flatten().map(|record| record.offset));
        if let Report::Position { reading, end, .. } = &report
            && *reading == second
        {
            end.clone().unwrap();
            begun = true;
            one.publish(Target::One(Partition(0)), Kind::Beat);
        }
    }
    assert_eq!(offsets, [end, end + 1, end + 2]);
    one.write(Target::One(Partition(1)), second).await;
    let two = join("two").await;
    let revoked = one.rebalance(Change::Revoked, 2).await;
    one.ledger.request(&Request::GiveBack(revoked.id));
    let mut owned = Vec::new();
    for hand in [&one, &two] {
        owned.extend(hand.rebalance(Change::Assigned, 1).await.partitions);
    }
    owned.sort();
    assert_eq!(owned, [0, 1].map(Partition));
}

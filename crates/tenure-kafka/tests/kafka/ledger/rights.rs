//! Rights that an operator takes away, for a moment or for good.

use std::time::Duration;

use tenure_core::nele::{
    Change, Config, EntryNumber, Kind, Membership, Partition, RebalanceId, Report, Request, Target,
};
use tenure_kafka::{GroupProtocol, Login, Mechanism, Options, Password, topic};
use tenure_services::kafka::{Resource, Shared};
use tenure_testkit::handles::{PATIENCE, soon};

use crate::common::{cluster, quick, tests, unique};
use crate::ledger::members::with_session;
use crate::ledger::process::{Hand, config, options, records};

tests!(
    brief_loss_of_topic_right_heals,
    brief_loss_of_group_right_heals,
    lost_topic_right_is_reported,
    lost_group_right_is_reported,
    missing_group_right_shows_at_start,
    first_success_after_failures_is_reported,
);

/// A session whose end some of these tests await.
const SESSION: Duration = Duration::from_secs(10);

/// Ann's process, and the resources of her rights.
struct Ann<'a> {
    hand: Hand,
    cluster: &'a Shared,
    topic: String,
    group: String,
}

impl<'a> Ann<'a> {
    async fn new(cluster: &'a Shared, config: Config, by: GroupProtocol) -> Self {
        let topic = config.group.to_string();
        let group = config.group_id();
        cluster.allow(Resource::Topic(&topic), true).unwrap();
        let options = options(&cluster.guarded(), &topic);
        let login = Login {
            mechanism: Mechanism::Plain,
            user: "ann".into(),
            password: Password::Text("secret".into()),
        };
        let options =
            Options { group_protocol: by, login: Some(login), ..options }.check().unwrap();
        // A right takes effect a moment after it was given.
        let made = async {
            while topic::ensure(&options, &config).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        soon(made).await;
        Self { hand: Hand::at(&options, config), cluster, topic, group }
    }

    /// A member that has read its own record.
    async fn member(cluster: &'a Shared, config: Config, by: GroupProtocol) -> (Self, RebalanceId) {
        // Brokers hear of this right first. The test then waits for the right to the topic, so this
        // right holds by then.
        cluster.allow(Resource::Group(&config.group_id()), true).unwrap();
        let mut ann = Self::new(cluster, config, by).await;
        ann.hand.ledger.request(&Request::Join(Membership(1)));
        let assigned = ann.hand.rebalance(Change::Assigned, 1).await.id;
        let (reading, _) = ann.hand.read(Partition(0), assigned).await;
        let reads = |report: &Report| records(report, reading).map(drop);
        // A record may be lost: its time ends while a busy machine stands still.
        let written = async {
            ann.hand.publish(Target::Every, Kind::Beat);
            while ann.hand.within(Duration::from_secs(1), reads).await.is_err() {
                ann.hand.publish(Target::Every, Kind::Beat);
            }
        };
        soon(written).await;
        (ann, assigned)
    }

    fn may_read(&self, allowed: bool) {
        self.cluster.allow(Resource::Topic(&self.topic), allowed).unwrap();
    }

    fn may_be_a_member(&self, allowed: bool) {
        self.cluster.allow(Resource::Group(&self.group), allowed).unwrap();
    }

    /// Waits for the end of the membership.
    async fn is_over(&self, says: &str) {
        let why = self.hand.until(|report| match report {
            Report::Fatal { why } => Some(why.to_string()),
            _ => None,
        });
        let why = why.await;
        assert!(why.contains(says), "{why}");
        self.hand.until(|report| matches!(report, Report::Left(Membership(1))).then_some(())).await;
    }
}

/// Runs `test` with both group protocols, on one broker. A right may be missing for as long as
/// `takeover`.
async fn by_both(
    name: &str,
    takeover: Duration,
    test: impl AsyncFn(&Shared, Config, GroupProtocol),
) {
    let cluster = cluster();
    let run = async |by, name: String| {
        let mut config = with_session(&cluster, config(&name, "ann", 1), SESSION);
        config.takeover = takeover;
        config.delivery_timeout = takeover / 2;
        config.seek = takeover.min(SESSION);
        test(&cluster, config, by).await;
    };
    tokio::join!(
        run(GroupProtocol::Classic, unique(&format!("{name}-c"))),
        run(GroupProtocol::Consumer, unique(&format!("{name}-n"))),
    );
}

/// The patience of a process whose missing right may come back.
const LASTING: Duration = PATIENCE.saturating_mul(4);

/// The patience of a process whose right is missing for good.
const IMPATIENT: Duration = Duration::from_secs(7);

/// The member reads its own record again, as a core would read it: the membership goes on.
async fn reads_again(hand: &mut Hand, mut assigned: Option<RebalanceId>) {
    let mut reading = assigned.map(|by| hand.ask_to_read(Partition(0), by));
    loop {
        // A record may be lost, and the outcome of a beat is unknown: another one follows soon.
        let next = tokio::time::timeout(Duration::from_secs(1), hand.ledger.next()).await;
        let Ok(report) = next else {
            hand.publish(Target::Every, Kind::Beat);
            continue;
        };
        match report {
            Report::Rebalance(one) => {
                assert_eq!(one.membership, Membership(1));
                match one.change {
                    Change::Assigned if one.partitions.is_empty() => {}
                    Change::Assigned => {
                        assigned = Some(one.id);
                        reading = Some(hand.ask_to_read(Partition(0), one.id));
                    }
                    Change::Revoked | Change::Lost => (assigned, reading) = (None, None),
                }
                hand.ledger.request(&Request::GiveBack(one.id));
            }
            Report::Position { reading: of, end: Ok(_), .. } if Some(of) == reading => {
                hand.publish(Target::Every, Kind::Beat);
            }
            Report::Position { reading: of, end: Err(_), .. }
            | Report::Broken { reading: of, .. }
                if Some(of) == reading =>
            {
                tokio::time::sleep(Duration::from_millis(100)).await;
                reading = assigned.map(|by| hand.ask_to_read(Partition(0), by));
            }
            Report::Fatal { why } => panic!("{why}"),
            report => {
                let read = reading.and_then(|reading| records(&report, reading));
                if read.is_some_and(|read| read.iter().any(|record| record.offset > 0)) {
                    return;
                }
            }
        }
    }
}

async fn brief_loss_of_topic_right_heals() {
    by_both("reads-on", LASTING, async |cluster, config, by| {
        let (mut ann, assigned) = Ann::member(cluster, config, by).await;
        ann.may_read(false);
        let noticed = ann.hand.until(|report| match report {
            Report::Broken { .. } => Some(None),
            Report::Rebalance(one) if one.change != Change::Assigned => Some(Some(one.id)),
            Report::Fatal { why } => panic!("{why}"),
            _ => None,
        });
        let mut kept = Some(assigned);
        if let Some(gone) = noticed.await {
            kept = None;
            ann.hand.ledger.request(&Request::GiveBack(gone));
        }
        ann.may_read(true);
        soon(reads_again(&mut ann.hand, kept)).await;
    })
    .await;
}

async fn brief_loss_of_group_right_heals() {
    by_both("one-again", LASTING, async |cluster, config, by| {
        let (mut ann, first) = Ann::member(cluster, config, by).await;
        ann.may_be_a_member(false);
        let lost = ann.hand.until(|report| match report {
            Report::Rebalance(one) if one.change == Change::Lost => Some(one.clone()),
            Report::Fatal { why } => panic!("{why}"),
            _ => None,
        });
        let lost = lost.await;
        assert!(lost.id > first && lost.partitions == [Partition(0)], "{lost}");
        // The coordinator refuses the member for a while.
        tokio::time::sleep(Duration::from_secs(2)).await;
        ann.may_be_a_member(true);
        soon(reads_again(&mut ann.hand, None)).await;
    })
    .await;
}

async fn lost_topic_right_is_reported() {
    by_both("not-read", IMPATIENT, async |cluster, config, by| {
        let (mut ann, assigned) = Ann::member(cluster, config, by).await;
        let began = tenure::clock::now();
        ann.may_read(false);
        // A core asks again after each answer: an answer to an earlier question does not count.
        let asks = async {
            loop {
                let asked = ann.hand.ask_to_read(Partition(0), assigned);
                let told = |report: &Report| match report {
                    Report::Fatal { why } => Some(Ok(why.to_string())),
                    Report::Rebalance(one) if one.change == Change::Revoked => {
                        Some(Err(Some(one.id)))
                    }
                    Report::Position { reading, .. } if *reading == asked => Some(Err(None)),
                    _ => None,
                };
                match ann.hand.within(Duration::from_secs(10), told).await {
                    Ok(Ok(why)) => return why,
                    Ok(Err(Some(revoked))) => ann.hand.ledger.request(&Request::GiveBack(revoked)),
                    Ok(Err(None)) => tokio::time::sleep(Duration::from_secs(1)).await,
                    Err(_) => {}
                }
            }
        };
        let why = soon(asks).await;
        assert!(why.contains("must be allowed to read, write and describe the topic"), "{why}");
        assert!(tenure::clock::now().since(began) > IMPATIENT);
    })
    .await;
}

async fn lost_group_right_is_reported() {
    by_both("no-member", IMPATIENT, async |cluster, config, by| {
        let (ann, _) = Ann::member(cluster, config, by).await;
        let began = tenure::clock::now();
        ann.may_be_a_member(false);
        ann.is_over("must be allowed to read the group").await;
        assert!(tenure::clock::now().since(began) > IMPATIENT);
    })
    .await;
}

async fn missing_group_right_shows_at_start() {
    by_both("at-the-start", LASTING, async |cluster, config, by| {
        let mut ann = Ann::new(cluster, config, by).await;
        ann.hand.ledger.request(&Request::Join(Membership(1)));
        ann.is_over("must be allowed to read the group").await;
    })
    .await;
}

/// The first `count` outcomes of a record, with their partitions.
async fn told(hand: &Hand, number: EntryNumber, count: usize) -> Vec<(Partition, bool)> {
    let mut told = Vec::new();
    while told.len() < count {
        let outcome = hand.until(|report| match report {
            Report::Published { number: of, partition, outcome } if *of == number => {
                Some((*partition, outcome.is_ok()))
            }
            _ => None,
        });
        told.push(outcome.await);
    }
    told
}

/// Publishes a beat to both partitions, and then two claims. No report about the beat comes before
/// the outcomes of the claims.
async fn nothing_is_told_of_a_report(hand: &mut Hand) {
    let beat = hand.publish(Target::Every, Kind::Beat);
    let claims = [0, 1].map(|one| hand.publish(Target::One(Partition(one)), Kind::Claim));
    let mut told = 0;
    while told < claims.len() {
        let number = hand.until(|report| match report {
            Report::Published { number, outcome, .. } => Some((*number, outcome.is_ok())),
            _ => None,
        });
        let (number, is_written) = number.await;
        assert_ne!(number, beat, "a report that is written is told");
        told += usize::from(is_written && claims.contains(&number));
    }
}

async fn first_success_after_failures_is_reported() {
    let cluster = quick().ways(1).start().unwrap();
    let mut config = config("written", "one", 2);
    // The test awaits the end of the delivery timeout.
    config.delivery_timeout = SESSION;
    let addresses = cluster.way(0).addresses();
    let mut hand = Hand::new(&addresses, config, GroupProtocol::Classic).await;
    nothing_is_told_of_a_report(&mut hand).await;
    cluster.way(0).cut();
    let missed = hand.publish(Target::Every, Kind::Beat);
    assert!(told(&hand, missed, 2).await.iter().all(|(_, is_written)| !is_written));
    cluster.way(0).open();
    let mut back = Vec::new();
    let worked = |report: &Report| match report {
        Report::Published { partition, outcome: Ok(_), .. } => Some(*partition),
        _ => None,
    };
    // The client connects again in a while; each record fails before that.
    while back.len() < 2 {
        hand.publish(Target::Every, Kind::Beat);
        back.extend(hand.within(Duration::from_secs(1), worked).await.ok());
    }
    back.sort_unstable();
    assert_eq!(back, [Partition(0), Partition(1)]);
    nothing_is_told_of_a_report(&mut hand).await;
}

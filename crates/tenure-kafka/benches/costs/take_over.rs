//! The time without a leader after a leadership has ended, beside a plain consumer group whose
//! owner ends in the same way at the same time.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use tenure::{AtMostOne, MayOverlap};
use tenure_core::nele::Mode;
use tenure_kafka::{Config, Node};
use tenure_services::kafka::Cluster;

use crate::ours::Measurement;
use crate::stage::{self, seconds};
use crate::target::Targets;
use crate::{Result, bare, ours};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Departure {
    /// The process is cut off from the broker, like a lost machine.
    Lost,
    /// The process gives up all leaderships, and leaves.
    Closed,
    /// The process leaves, and leads on until others can have taken over.
    Left,
}

const BARE: &str = "bare";

/// Waits for more than two heartbeats, so that the second member has joined. The wait differs from
/// round to round, so that rounds end at different points of a heartbeat interval.
pub(crate) async fn moment(number: u32) {
    tokio::time::sleep(Duration::from_secs(4) + Duration::from_millis(370) * number).await;
}

fn settings(mode: Mode) -> Result<Config> {
    Ok(Config::new("bench".parse()?, "g".parse()?, "n".parse()?, 1, mode))
}

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let (rounds, closed) = if quick { (2, 4) } else { (5, 20) };
    let cluster = stage::start(3)?;
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", cluster.addresses()).create()?;
    let topic = NewTopic::new(BARE, 1, TopicReplication::Fixed(1));
    let made = admin.create_topics([&topic], &AdminOptions::new()).await?;
    made.into_iter().next().ok_or("nothing")?.map_err(|(_, code)| code)?;
    let times = settings(Mode::AtLeastOne)?;
    let exact = settings(Mode::AtMostOne)?;
    println!(
        "takeover: two processes, session timeout {:?}, heartbeat {:?}, publish interval {:?}, \
         T {:?} in at-least-one and {:?} in at-most-one; {rounds} \
         rounds, {closed} of those that close, all three at a time",
        times.session_timeout,
        times.heartbeat_interval,
        times.publish_interval,
        times.takeover,
        exact.takeover,
    );
    for (goes, rounds) in [(Departure::Lost, rounds), (Departure::Closed, closed)] {
        let mut all = [const { Vec::new() }; 3];
        for number in 0..rounds {
            let (bare, least, most) = tokio::join!(
                bare::round(&cluster, 0, BARE, &times, goes, number),
                ours::round::<MayOverlap>(&cluster, 1, goes, number, Node::leave),
                ours::round::<AtMostOne>(&cluster, 2, goes, number, Node::close),
            );
            for (all, took) in all.iter_mut().zip([bare?, least?.after, most?.after]) {
                all.push(took);
            }
        }
        judge(goes, &all, [&times, &exact], targets);
    }
    without_gap(&cluster, rounds, targets).await
}

fn judge(
    goes: Departure,
    all: &[Vec<Duration>; 3],
    [times, exact]: [&Config; 2],
    targets: &mut Targets,
) {
    println!("  {goes:?}:");
    for (name, all) in ["bare group", "at-least-one", "at-most-one"].iter().zip(all) {
        let each = all.iter().copied().map(seconds).collect::<Vec<_>>().join(", ");
        println!("    {name:14} {each}; mean {}", seconds(mean(all)));
    }
    // A member learns of a change with its next heartbeat, so the results lie near two extremes.
    // Compare means: the median of a few rounds would be one of these extremes.
    let [bare, least, most] = [0, 1, 2].map(|nth| mean(&all[nth]).as_secs_f64());
    // The group's hand-over comes first: after it, a record must still be written and read.
    let read = (times.publish_interval + times.fetch_wait).as_secs_f64();
    let grace = exact.grace_period().as_secs_f64();
    println!(
        "    a record is written and read {read:.2} s, G {grace:.2} s; to the bare group \
         {:.2} × and {:.2} ×, less G {:.2} ×",
        least / bare,
        most / bare,
        (most - grace) / bare,
    );
    let sum = |name: &str| format!("{name}, {goes:?}, of the sum of its parts");
    targets.at_most(&sum("at-least-one"), least / (bare + read), 1.2, " ×");
    targets.at_most(&sum("at-most-one"), most / (bare + read + grace), 1.2, " ×");
    if goes == Departure::Lost {
        // The bound for a single failure; T (`takeover`) has room for a failed coordinator, too.
        let config = Config { failover: false, ..times.clone() };
        let bound = config.handover().as_secs_f64();
        let longest = |nth: usize| all[nth].iter().max().map_or(0.0, Duration::as_secs_f64);
        targets.at_most("at-least-one, Lost, the longest", longest(1), bound, " s");
        targets.at_most("at-most-one, Lost, the longest", longest(2), bound + grace, " s");
    }
}

/// Measures a process that leaves its group and leads on.
async fn without_gap(cluster: &Cluster, rounds: u32, targets: &mut Targets) -> Result<()> {
    let mut all: Vec<Measurement> = Vec::new();
    for number in 0..rounds {
        let round = ours::round::<MayOverlap>(cluster, 1, Departure::Left, number, Node::leave);
        all.push(round.await?);
    }
    let each: Vec<_> = all.iter().map(|taken| seconds(taken.after)).collect();
    println!("  Left, at-least-one: the next leader leads after {}", each.join(", "));
    let led = all.iter().filter(|taken| taken.without_gap).count();
    targets.all("led when the next leader began", led, all.len());
    Ok(())
}

fn mean(all: &[Duration]) -> Duration {
    all.iter().sum::<Duration>() / u32::try_from(all.len().max(1)).unwrap_or(u32::MAX)
}

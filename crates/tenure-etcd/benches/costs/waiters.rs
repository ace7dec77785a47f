//! Many candidates that wait in one election, and how many of them a departure wakes up.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::{AtMostOne, Leadership, clock};
use tenure_etcd::Node;
use tokio::task::{JoinHandle, JoinSet};

use crate::sample::Samples;
use crate::stage::{self, LONG, Party};
use crate::target::Targets;
use crate::{Result, bare};

/// The pause after a departure, in which every woken candidate gets its event.
const STIR: Duration = Duration::from_millis(100);

type Campaign = JoinHandle<std::result::Result<Leadership<AtMostOne>, tenure::CampaignError>>;

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let (count, departures) = if quick { (200, 20) } else { (1_000, 100) };
    let cluster = stage::start()?;
    let mut client = Party::start(&cluster).await?.client;
    // The lease is a part of a key's name, so each candidate needs a lease, and a connection of its
    // own.
    let mut nodes = BTreeMap::from([(0, stage::node(&cluster, LONG)?)]);
    let mut leadership = nodes[&0].election("queue")?.campaign("10.0.0.7:8080").await?;
    let mut leader = 0;
    let mut campaigns = BTreeMap::new();
    let mut gone = Vec::new();
    for number in 1..=count {
        let node = stage::node(&cluster, LONG)?;
        campaigns.insert(number, campaign(&node)?);
        nodes.insert(number, node);
        // The candidates start in turn, so that they wait in the order of their numbers.
        bare::count(&mut client, "queue/", i64::try_from(number + 1)?).await?;
    }
    // All watches open during this pause.
    tokio::time::sleep(10 * STIR).await;
    println!(
        "waiters: {count} in one election, each with a session (lease and connection) of its own"
    );
    let mut woken = Vec::new();
    let mut handovers = Samples::new();
    for departure in 0..departures {
        let before = heard(&nodes).await?;
        // The leader and a candidate from the middle of the queue leave by turns.
        if departure % 2 == 0 {
            let (next, won) = campaigns.pop_first().ok_or("nobody waits")?;
            let began = clock::now();
            let ((), (won, took)) =
                tokio::join!(leadership.resign(), async { (won.await, clock::now().since(began)) });
            handovers.push_span(took);
            leadership = won??;
            gone.extend(nodes.remove(&std::mem::replace(&mut leader, next)));
        } else {
            let middle = *campaigns.keys().nth(campaigns.len() / 2).ok_or("nobody waits")?;
            campaigns.remove(&middle).ok_or("nobody waits")?.abort();
            gone.extend(nodes.remove(&middle));
        }
        tokio::time::sleep(STIR).await;
        let after = heard(&nodes).await?;
        woken.push(after.iter().filter(|(node, heard)| before.get(node) != Some(heard)).count());
    }
    handovers.print("resign() to the end of the next campaign()");
    let mean = woken.iter().sum::<usize>() as f64 / woken.len() as f64;
    println!(
        "  {} departures, half of them from the middle: {mean:.2} woken up by each",
        woken.len()
    );
    let most = woken.iter().max().copied().unwrap_or_default();
    targets.at_most("most woken up by one departure", most as f64, 1.0, "");
    drop((leadership, campaigns));
    let mut closing = JoinSet::new();
    for node in nodes.into_values().chain(gone) {
        closing.spawn(async move { node.close().await });
    }
    closing.join_all().await;
    Ok(())
}

fn campaign(node: &Node) -> Result<Campaign> {
    let election = node.election("queue")?;
    Ok(tokio::spawn(async move { election.campaign("10.0.0.7:8080").await }))
}

/// The number of answers and events that each candidate has got from etcd.
async fn heard(nodes: &BTreeMap<usize, Node>) -> Result<BTreeMap<usize, u64>> {
    let mut heard = BTreeMap::new();
    for (number, node) in nodes {
        let counters = node.counters().await.ok_or("a node is closed")?;
        heard.insert(*number, counters.answers);
    }
    Ok(heard)
}

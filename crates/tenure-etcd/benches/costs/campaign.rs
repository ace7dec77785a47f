//! The time of winning an election without other candidates.

use std::time::Duration;

use etcd_client::ResignOptions;
use tenure::clock;
use tenure_etcd::Node;

use crate::sample::Samples;
use crate::stage::{self, LONG, Party};
use crate::{Result, bare};

/// A pause in which background work ends.
const IDLE: Duration = Duration::from_millis(5);

/// Measures in turn the bare requests, a campaign of Tenure, and a campaign of etcd's election
/// service: first with a new lease each time, then all on one lease.
pub(crate) async fn measure(quick: bool) -> Result<()> {
    let rounds = if quick { 100 } else { 500 };
    let cluster = stage::start()?;
    let party = Party::start(&cluster).await?;
    let node = stage::node(&cluster, LONG)?;
    println!("campaign, uncontended: {rounds} rounds of each in turn, {IDLE:?} idle");
    series(
        rounds,
        &party,
        &node,
        None,
        [
            "bare: grant, put, range",
            "campaign().await, with a new lease",
            "v3election: grant, Campaign",
        ],
    )
    .await?;
    // The node leads another election meanwhile, and so keeps its lease between campaigns.
    let held = node.election("held")?.campaign("10.0.0.7:8080").await?;
    let lease = bare::grant(&mut party.client.clone()).await?;
    series(
        rounds,
        &party,
        &node,
        Some(lease),
        [
            "bare: put, range",
            "campaign().await, on the lease that is there",
            "v3election: Campaign",
        ],
    )
    .await?;
    held.resign().await;
    Ok(())
}

async fn series(
    rounds: u32,
    party: &Party,
    node: &Node,
    lease: Option<i64>,
    names: [&str; 3],
) -> Result<()> {
    let mut all = [const { Samples::new() }; 3];
    for round in 0..=rounds {
        let took = [requests(party, lease).await?, ours(node).await?, theirs(party, lease).await?];
        // Do not count the first round, in which clients connect.
        if round > 0 {
            all.iter_mut().zip(took).for_each(|(samples, took)| samples.push_span(took));
        }
    }
    all.iter().zip(names).for_each(|(samples, name)| samples.print(name));
    let [bare, ours, theirs] = all.map(|samples| samples.median());
    println!("  ratio to the bare requests: {:.2}, v3election {:.2}", ours / bare, theirs / bare);
    Ok(())
}

async fn requests(party: &Party, lease: Option<i64>) -> Result<Duration> {
    tokio::time::sleep(IDLE).await;
    let began = clock::now();
    let done = party.run(async move |mut client| {
        let own = match lease {
            Some(lease) => lease,
            None => bare::grant(&mut client).await?,
        };
        bare::put(&mut client, "bare/1", own).await?;
        bare::first(&mut client, "bare/").await?;
        Ok(own)
    });
    let own = done.await?;
    let took = clock::now().since(began);
    let mut client = party.client.clone();
    client.delete("bare/1", None).await?;
    if lease.is_none() {
        client.lease_revoke(own).await?;
    }
    Ok(took)
}

async fn ours(node: &Node) -> Result<Duration> {
    let election = node.election("ours")?;
    tokio::time::sleep(IDLE).await;
    let began = clock::now();
    let leadership = election.campaign("10.0.0.7:8080").await?;
    let took = clock::now().since(began);
    leadership.resign().await;
    Ok(took)
}

async fn theirs(party: &Party, lease: Option<i64>) -> Result<Duration> {
    tokio::time::sleep(IDLE).await;
    let began = clock::now();
    let done = party.run(async move |mut client| {
        let own = match lease {
            Some(lease) => lease,
            None => bare::grant(&mut client).await?,
        };
        Ok((client.campaign("theirs", "10.0.0.7:8080", own).await?, own))
    });
    let (mut won, own) = done.await?;
    let took = clock::now().since(began);
    let leader = won.take_leader().ok_or("won without a key")?;
    let mut client = party.client.clone();
    client.resign(Some(ResignOptions::new().with_leader(leader))).await?;
    if lease.is_none() {
        client.lease_revoke(own).await?;
    }
    Ok(took)
}

//! A hand-over: a leader resigns, and the next candidate's key is new.

use std::time::Duration;

use etcd_client::{Client, LeaderKey, ResignOptions, WatchStream};
use tenure::{AtMostOne, Election, Leadership, clock};
use tenure_services::etcd::Cluster;

use crate::sample::Samples;
use crate::stage::{self, LONG, Party};
use crate::target::Targets;
use crate::{Result, bare};

/// Ages of the waiting candidate's key when the leader resigns.
const JUST: [Duration; 2] = [Duration::ZERO, Duration::from_millis(10)];

/// Measures in turn the bare requests, a hand-over of Tenure, and a hand-over of etcd's election
/// service. No measured hand-over makes or revokes a lease.
pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 50 } else { 200 };
    let cluster = stage::start()?;
    let mut bare = Bare::new(&cluster).await?;
    let mut ours = Ours::new(&cluster).await?;
    let mut theirs = Theirs::new(&cluster).await?;
    for just in JUST {
        let mut all = [const { Samples::new() }; 3];
        for round in 0..=rounds {
            let took =
                [bare.round(just).await?, ours.round(just).await?, theirs.round(just).await?];
            if round > 0 {
                all.iter_mut().zip(took).for_each(|(samples, took)| samples.push_span(took));
            }
        }
        println!(
            "hand-over by resign to one whose key has been there for {just:?}: {rounds} rounds of \
             each in turn"
        );
        let names = [
            "bare: delete, watch, transaction",
            "resign() to the end of campaign().await",
            "v3election: Resign to the end of Campaign",
        ];
        all.iter().zip(names).for_each(|(samples, name)| samples.print(name));
        let [bare, ours, theirs] = all.map(|samples| samples.median());
        println!("  v3election to the bare requests: {:.1}", theirs / bare);
        targets.at_most(&format!("ratio of medians after {just:?}"), ours / bare, 1.3, "");
    }
    Ok(())
}

struct Bare {
    leader: Party,
    waiter: Party,
    /// The waiter's stream of watches; `None` while the waiter's thread uses the stream in a round.
    stream: Option<WatchStream>,
    lease: i64,
    rounds: u32,
}

impl Bare {
    async fn new(cluster: &Cluster) -> Result<Self> {
        let leader = Party::start(cluster).await?;
        let waiter = Party::start(cluster).await?;
        let stream = waiter.run(async |mut client| bare::stream(&mut client).await).await?;
        let lease = bare::grant(&mut leader.client.clone()).await?;
        Ok(Self { leader, waiter, stream: Some(stream), lease, rounds: 0 })
    }

    async fn round(&mut self, just: Duration) -> Result<Duration> {
        self.rounds += 1;
        // Each round uses new keys, because the stream keeps the watches of earlier rounds.
        let [first, second] = [1, 2].map(|place| format!("bare/{}-{place}", self.rounds));
        let Self { leader, waiter, stream, lease, .. } = self;
        let mut open = stream.take().ok_or("a round failed")?;
        bare::put(&mut leader.client, &first, *lease).await?;
        let revision = bare::put(&mut waiter.client, &second, *lease).await?;
        let seen = bare::first(&mut waiter.client, "bare/").await?;
        bare::watch(&mut open, &first, seen + 1).await?;
        let own = second.clone();
        let following = waiter.run(async move |mut client| {
            bare::follow(&mut client, &mut open, &own, revision, "bare/").await?;
            Ok(open)
        });
        tokio::time::sleep(just).await;
        let began = clock::now();
        let deleting = leader.run(async |mut client| Ok(client.delete(first, None).await?));
        let (deleted, (followed, took)) =
            tokio::join!(deleting, async { (following.await, clock::now().since(began)) });
        deleted?;
        *stream = Some(followed?);
        waiter.client.delete(second, None).await?;
        Ok(took)
    }
}

/// Waits until a second candidate's key has existed for `just`.
async fn came(watcher: &mut Client, prefix: &str, just: Duration) -> Result<()> {
    bare::count(watcher, prefix, 2).await?;
    tokio::time::sleep(just).await;
    Ok(())
}

struct Ours {
    watcher: Client,
    /// The election of the party that leads next.
    next: Election<AtMostOne>,
    after: Election<AtMostOne>,
    leadership: Leadership<AtMostOne>,
    /// Leaderships of another election, by which each node keeps its lease.
    _held: [Leadership<AtMostOne>; 2],
}

impl Ours {
    async fn new(cluster: &Cluster) -> Result<Self> {
        let one = stage::node(cluster, LONG)?;
        let two = stage::node(cluster, LONG)?;
        let held = [
            one.election("one")?.campaign("10.0.0.7:8080").await?,
            two.election("two")?.campaign("10.0.0.8:8080").await?,
        ];
        let after = one.election("ours")?;
        let next = two.election("ours")?;
        let leadership = after.campaign("10.0.0.7:8080").await?;
        let watcher = Party::start(cluster).await?.client;
        Ok(Self { watcher, next, after, leadership, _held: held })
    }

    async fn round(&mut self, just: Duration) -> Result<Duration> {
        let Self { watcher, next, after, leadership, .. } = self;
        let mut waiting = Box::pin(next.campaign("10.0.0.8:8080"));
        tokio::select! {
            _ = &mut waiting => return Err("two leaders at once".into()),
            came = came(watcher, "ours/", just) => came?,
        }
        let began = clock::now();
        let ((), (won, took)) =
            tokio::join!(leadership.resign(), async { (waiting.await, clock::now().since(began)) });
        let won = won?;
        if won.fence() <= leadership.fence() {
            return Err("a fence did not grow".into());
        }
        *leadership = won;
        std::mem::swap(next, after);
        Ok(took)
    }
}

struct Theirs {
    watcher: Client,
    next: (Party, i64),
    after: (Party, i64),
    leader: LeaderKey,
}

impl Theirs {
    async fn new(cluster: &Cluster) -> Result<Self> {
        let one = Party::start(cluster).await?;
        let two = Party::start(cluster).await?;
        let after = (one.clone(), bare::grant(&mut one.client.clone()).await?);
        let next = (two.clone(), bare::grant(&mut two.client.clone()).await?);
        let leader = elect(one.client, after.1).await?;
        let watcher = Party::start(cluster).await?.client;
        Ok(Self { watcher, next, after, leader })
    }

    async fn round(&mut self, just: Duration) -> Result<Duration> {
        let Self { watcher, next, after, leader } = self;
        let lease = next.1;
        let mut waiting = Box::pin(next.0.run(move |client| elect(client, lease)));
        tokio::select! {
            _ = &mut waiting => return Err("two leaders at once".into()),
            came = came(watcher, "theirs/", just) => came?,
        }
        let resign = ResignOptions::new().with_leader(leader.clone());
        let began = clock::now();
        let resigning = after.0.run(async |mut client| Ok(client.resign(Some(resign)).await?));
        let (resigned, (won, took)) =
            tokio::join!(resigning, async { (waiting.await, clock::now().since(began)) });
        resigned?;
        *leader = won?;
        std::mem::swap(next, after);
        Ok(took)
    }
}

async fn elect(mut client: Client, lease: i64) -> Result<LeaderKey> {
    let mut won = client.campaign("theirs", "10.0.0.7:8080", lease).await?;
    won.take_leader().ok_or_else(|| "won without a key".into())
}

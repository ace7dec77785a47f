//! Winning an uncontended election, and taking one over from a leader that resigns.

use std::thread::sleep;
use std::time::Duration;

use tenure::clock;
use tokio::runtime::{Builder, Runtime};

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::floor::Floor;
use crate::node;
use crate::sample::Samples;
use crate::target::Targets;

/// Idle time of the application before a campaign, and before its floor.
pub(crate) const IDLE: Duration = Duration::from_millis(2);
/// Pause between refreshes of a waiting request. A short pause keeps the rounds short.
pub(crate) const REFRESH: Duration = Duration::from_millis(20);
/// Refreshes before a hand-over. The second one proposes the right fence.
const REFRESHES: u32 = 3;
/// Idle time of the application before a hand-over, and before its floor.
pub(crate) const IDLE_WAITING: Duration = Duration::from_millis(70);

pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_time().build()?)
}

/// The time of one exchange of the floor.
fn floor_round(runtime: &Runtime, floor: &Floor) -> Result<Duration> {
    let began = clock::now();
    runtime.block_on(floor.exchange())?;
    Ok(clock::now().since(began))
}

/// Measures a candidate that knows the election's fence, until it has its own.
pub(crate) fn campaign(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 300 } else { 2_000 };
    let runtime = runtime()?;
    let floor = Floor::start()?;
    let cluster = Cluster::start(Settings::new()?)?;
    let election = node(&cluster, "one")?.election("billing")?;
    let mut bare = Samples::new();
    let mut campaigns = Samples::new();
    let mut fence = None;
    for round in 0..=rounds {
        sleep(IDLE);
        let took_bare = floor_round(&runtime, &floor)?;
        sleep(IDLE);
        let began = clock::now();
        let leadership = runtime.block_on(election.campaign("10.0.0.7:8080"))?;
        let took = clock::now().since(began);
        if fence.replace(leadership.fence()).is_some_and(|fence| fence >= leadership.fence()) {
            return Err("a fence did not grow".into());
        }
        runtime.block_on(async {
            leadership.settled().await?;
            leadership.resign().await;
            Ok::<_, tenure::Loss>(())
        })?;
        // The first round learns the fence.
        if round > 0 {
            bare.push_span(took_bare);
            campaigns.push_span(took);
        }
    }
    println!(
        "campaign, uncontended, with its fence: {rounds} rounds of each in turn, {IDLE:?} idle"
    );
    bare.print("floor: bare exchange with 2 of 3 over UDP");
    campaigns.print("campaign().await");
    targets.at_most("ratio of medians", campaigns.median() / bare.median(), 1.7, "");
    Ok(())
}

/// Measures from the call of `resign` until the campaign of a waiting candidate resolves.
pub(crate) fn handover(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 50 } else { 200 };
    let runtime = runtime()?;
    let floor = Floor::start()?;
    let cluster = Cluster::start(Settings { refresh: REFRESH, ..Settings::new()? })?;
    let mut next = node(&cluster, "one")?.election("billing")?;
    let mut after = node(&cluster, "two")?.election("billing")?;
    let mut bare = Samples::new();
    let mut handovers = Samples::new();
    let mut leadership = runtime.block_on(next.campaign("10.0.0.7:8080"))?;
    for round in 0..=rounds {
        std::mem::swap(&mut next, &mut after);
        floor.refresh(REFRESH, REFRESHES)?;
        sleep(IDLE_WAITING);
        let took_bare = floor_round(&runtime, &floor)?;
        let (won, took) = runtime.block_on(async {
            leadership.settled().await?;
            let mut waiting = Box::pin(next.campaign("10.0.0.8:8080"));
            // Wait long enough that all grantors know the candidate, with the present fence.
            tokio::select! {
                _ = &mut waiting => return Err("two leaders at once".into()),
                () = tokio::time::sleep(IDLE_WAITING) => {}
            }
            let began = clock::now();
            let ((), (won, took)) = tokio::join!(leadership.resign(), async {
                (waiting.await, clock::now().since(began))
            });
            Ok::<_, Box<dyn std::error::Error>>((won?, took))
        })?;
        if won.fence() <= leadership.fence() {
            return Err("a fence did not grow".into());
        }
        leadership = won;
        if round > 0 {
            bare.push_span(took_bare);
            handovers.push_span(took);
        }
    }
    println!(
        "hand-over by resign to one who waits: {rounds} rounds of each in turn, {IDLE_WAITING:?} \
         idle (one who waits asks every {REFRESH:?})"
    );
    bare.print("floor: bare exchange with 2 of 3 over UDP");
    handovers.print("resign() to the end of campaign().await");
    targets.at_most("ratio of medians", handovers.median() / bare.median(), 2.0, "");
    Ok(())
}

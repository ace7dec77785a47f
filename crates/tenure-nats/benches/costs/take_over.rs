//! The time without a leader.

use std::time::Duration;

use tenure::clock;
use tenure_nats::{Callers, Config};
use tenure_services::relay::Relay;
use tokio::task::JoinSet;

use crate::Result;
use crate::stage::{self, ELECTION, seconds};
use crate::target::Targets;

/// Measures with the defaults: L (`lease`) is 10 s, K (`max_clock_skew`) 1 s, H (`heartbeat`) 1 s.
pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 1 } else { 3 };
    for count in [3, 50] {
        println!("takeover: {count} participants, lease 10 s, {rounds} rounds");
        let mut took = RoundTimes::default();
        for _ in 0..rounds {
            round(count, &mut took).await?;
        }
        took.judge(&stage::config(0, Callers::All)?, &format!("{count} participants"), targets);
    }
    Ok(())
}

#[derive(Default)]
struct RoundTimes {
    first: Vec<Duration>,
    after_stop: Vec<Duration>,
    after_loss: Vec<Duration>,
}

impl RoundTimes {
    fn judge(&self, config: &Config, who: &str, targets: &mut Targets) {
        let Self { first, after_stop, after_loss } = self;
        // The initial wait, and at most three heartbeats: a call, an announcement, the election.
        let begins = config.lease + config.max_clock_skew + 3 * config.heartbeat;
        // The longest time without a leader after a loss, in true time.
        let bound = config.lease + 3 * config.max_clock_skew + 2 * config.heartbeat;
        let all =
            |all: &[Duration]| all.iter().copied().map(seconds).collect::<Vec<_>>().join(", ");
        println!("  the first leader after {}", all(first));
        println!("  the next one after a clean stop after {}", all(after_stop));
        println!("  the next one after a loss after {}", all(after_loss));
        let most = |all: &[Duration]| all.iter().max().copied().unwrap_or_default().as_secs_f64();
        let mut within = |what: &str, all: &[Duration], bound: f64| {
            targets.at_most(&format!("{who}: {what}"), most(all), bound, " s");
        };
        within("the first leader", first, begins.as_secs_f64());
        // The margin is two round trips of a busy machine.
        within("after a clean stop: a heartbeat and two round trips", after_stop, 1.05);
        within("after a loss", after_loss, bound.as_secs_f64());
    }
}

/// The first leader stops, and the second leader is cut off. All others wait.
async fn round(count: u64, took: &mut RoundTimes) -> Result<()> {
    let cluster = stage::start()?;
    // The second participant reaches the server only through this relay, which can be cut.
    let relay = Relay::start(cluster.server(0).address())?;
    let through = format!("nats://{}", relay.address());
    let began = clock::now();
    let election = |rank| -> Result<_> {
        let url = if rank == 1 { &through } else { cluster.server(0).url() };
        Ok(stage::node(stage::config(rank, Callers::All)?, url)?.election(ELECTION)?)
    };
    let elections: Result<Vec<_>> = (0..count).map(election).collect();
    let elections = elections?;
    let mut others = JoinSet::new();
    for election in elections.iter().skip(3) {
        let campaign = election.campaign("v");
        others.spawn(async move { campaign.await.is_ok() });
    }
    let mut second = elections[1].campaign("v");
    let mut third = elections[2].campaign("v");
    let leadership = tokio::select! {
        won = elections[0].campaign("v") => won?,
        _ = &mut second => return Err("the second best leads".into()),
        _ = &mut third => return Err("the third best leads".into()),
    };
    took.first.push(clock::now().since(began));
    // The leader stops at a moment that has no relation to the rounds.
    tokio::time::sleep(Duration::from_millis(4_321)).await;
    let stopped = clock::now();
    leadership.resign().await;
    let leadership = tokio::select! {
        won = &mut second => won?,
        _ = &mut third => return Err("the third best leads".into()),
    };
    took.after_stop.push(clock::now().since(stopped));
    tokio::time::sleep(Duration::from_millis(6_543)).await;
    let lost = clock::now();
    relay.cut();
    let _leads = third.await?;
    took.after_loss.push(clock::now().since(lost));
    if leadership.is_current() || others.try_join_next().is_some() {
        return Err("two leaders".into());
    }
    Ok(())
}

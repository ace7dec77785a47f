//! How long there is no leader.

use std::time::Duration;

use tenure::clock;
use tenure_nats::Callers;
use tenure_services::relay::Relay;

use crate::Result;
use crate::stage::{self, ELECTION, seconds};
use crate::target::Targets;

/// With the defaults: L = 10 s, K = 1 s, H = 1 s.
pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 1 } else { 5 };
    println!("takeover: three participants, lease 10 s, {rounds} rounds");
    let (mut first, mut next, mut after_loss) = (Vec::new(), Vec::new(), Vec::new());
    let (mut begins, mut bound) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        let cluster = stage::start()?;
        // The first two have a way to the server that can be cut.
        let relay = Relay::start(cluster.server(0).address())?;
        let through = format!("nats://{}", relay.address());
        let urls = [cluster.server(0).url(), &through, cluster.server(0).url()];
        let began = clock::now();
        let nodes: Result<Vec<_>> = (0_u64..)
            .zip(urls)
            .map(|(rank, url)| stage::node(stage::config(rank, Callers::All)?, url))
            .collect();
        let nodes = nodes?;
        let config = nodes[0].config();
        // The initial wait, and at most three heartbeats: to call, to announce, to elect.
        begins = config.lease + config.max_clock_skew + 3 * config.heartbeat;
        // In true time.
        bound = config.lease + 3 * config.max_clock_skew + 2 * config.heartbeat;
        let campaigns: std::result::Result<Vec<_>, _> =
            nodes.iter().map(|node| node.election(ELECTION)).collect();
        let campaigns = campaigns?;
        let (mut second, mut third) = (campaigns[1].campaign("v"), campaigns[2].campaign("v"));
        let leadership = tokio::select! {
            won = campaigns[0].campaign("v") => won?,
            _ = &mut second => return Err("the second best leads".into()),
            _ = &mut third => return Err("the third best leads".into()),
        };
        first.push(clock::now().since(began));
        // At no particular moment of a round.
        tokio::time::sleep(Duration::from_millis(4_321)).await;
        let stopped = clock::now();
        leadership.resign().await;
        let leadership = tokio::select! {
            won = &mut second => won?,
            _ = &mut third => return Err("the third best leads".into()),
        };
        next.push(clock::now().since(stopped));
        tokio::time::sleep(Duration::from_millis(6_543)).await;
        let lost = clock::now();
        relay.cut();
        let _leads = third.await?;
        after_loss.push(clock::now().since(lost));
        if leadership.is_current() {
            return Err("two leaders".into());
        }
    }
    let most = |all: &[Duration]| all.iter().max().copied().unwrap_or_default();
    let all = |all: &[Duration]| all.iter().copied().map(seconds).collect::<Vec<_>>().join(", ");
    println!("  the first leader after {}", all(&first));
    println!("  the next one after a clean stop after {}", all(&next));
    println!("  the next one after a loss after {}", all(&after_loss));
    let began = most(&first).as_secs_f64();
    targets.at_most("the first leader", began, begins.as_secs_f64(), " s");
    // Two round trips of a busy machine.
    let clean = most(&next).as_secs_f64();
    targets.at_most("after a clean stop: a heartbeat and two round trips", clean, 1.05, " s");
    let lost = most(&after_loss).as_secs_f64();
    targets.at_most("after a loss", lost, bound.as_secs_f64(), " s");
    Ok(())
}

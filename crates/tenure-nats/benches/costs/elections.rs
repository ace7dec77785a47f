//! Costs of a hundred elections beside those of one.

use std::time::Duration;

use tenure_nats::Callers;

use crate::Result;
use crate::meter::{Meter, Rates};
use crate::stage;
use crate::target::Targets;

const PARTICIPANTS: u64 = 3;

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let span = Duration::from_secs(if quick { 10 } else { 30 });
    println!("elections: {PARTICIPANTS} participants, heartbeat 1 s; over {span:?}");
    let one = hold(1, span, targets).await?;
    let hundred = hold(100, span, targets).await?;
    let ratio = |of: fn(&Rates) -> f64| of(&hundred) / of(&one);
    println!("  bytes: {:.1} times those of one", ratio(|rates| rates.came[1]));
    println!("  processor time here: {:.1} times that of one", ratio(|rates| rates.own));
    // Calls and replies are batched (ruling 9 of `tenure_core::allcall`). They name each of the
    // hundred elections.
    targets.at_most("messages, beside one election", ratio(|rates| rates.came[0]), 2.0, " ×");
    targets.at_most("deliveries, beside one election", ratio(|rates| rates.left[0]), 2.0, " ×");
    Ok(())
}

/// The first participant leads this number of elections.
async fn hold(elections: usize, span: Duration, targets: &mut Targets) -> Result<Rates> {
    let cluster = stage::start()?;
    let nodes: Result<Vec<_>> = (0..PARTICIPANTS)
        .map(|rank| stage::node(stage::config(rank, Callers::All)?, cluster.server(0).url()))
        .collect();
    let nodes = nodes?;
    let mut leading = tokio::task::JoinSet::new();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..elections {
        for (rank, node) in nodes.iter().enumerate() {
            let election = node.election(&format!("service-{number:03}"))?;
            let set = if rank == 0 { &mut leading } else { &mut waiting };
            set.spawn(async move { election.campaign("10.0.0.7:8080").await });
        }
    }
    let mut held = Vec::new();
    while let Some(won) = leading.join_next().await {
        held.push(won??);
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let rates = Meter::over(span, &cluster).await?;
    rates.print(&format!("{elections} elections"));
    let current = held.iter().filter(|leadership| leadership.is_current()).count();
    targets.all("elections held in the end", current, elections);
    waiting.abort_all();
    Ok(rates)
}

//! Costs of an election with a leader.

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_nats::Callers;

use crate::Result;
use crate::meter::Meter;
use crate::stage::{self, Company};
use crate::target::Targets;

/// The number of callers with `few`.
const FEW: u16 = 3;

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let few = Callers::Few(NonZeroU16::new(FEW).ok_or("three")?);
    let span = Duration::from_secs(if quick { 5 } else { 30 });
    println!("load: one election with a leader, heartbeat 1 s; over {span:?}");
    for count in [3, 50, 500] {
        for (mode, callers) in [("all", Callers::All), ("few:3", few)] {
            // In each heartbeat, each participant would hear 500 calls and even more replies.
            if count == 500 && callers == Callers::All {
                println!("  500 participants, all: not measured, see docs/internals/simulation.md");
                continue;
            }
            let cluster = stage::start()?;
            let config = |rank| stage::config(rank, callers);
            let company = Company::start(count, &cluster, config).await?;
            // The new candidates settle during this pause.
            tokio::time::sleep(Duration::from_secs(12)).await;
            let rates = Meter::over(span, &cluster).await?;
            rates.print(&format!("{count} participants, {mode}"));
            let led = usize::from(company.leadership.is_current());
            targets.all("the best one leads in the end", led, 1);
        }
    }
    Ok(())
}

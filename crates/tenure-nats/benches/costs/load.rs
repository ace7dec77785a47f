//! What an election costs that has a leader.

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_nats::{Callers, Config};

use crate::Result;
use crate::meter::Meter;
use crate::stage::{self, Company};
use crate::target::Targets;

/// How many call with `few`.
const FEW: u16 = 3;
/// The heartbeat where all of 500 call. Each hears 500 calls and more replies in each: within a
/// second that is more than two cores read.
const SLOW: Duration = Duration::from_secs(20);

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let few = Callers::Few(NonZeroU16::new(FEW).ok_or("three")?);
    let beats = if quick { 5 } else { 30 };
    println!("load: one election with a leader; over {beats} heartbeats of 1 s");
    for count in [3, 50, 500] {
        for (mode, callers) in [("all", Callers::All), ("few:3", few)] {
            let slow = count == 500 && callers == Callers::All;
            // Minutes, of which most is the initial wait.
            if slow && quick {
                continue;
            }
            let cluster = stage::start()?;
            let config = |rank| {
                let config = stage::config(rank, callers)?;
                Ok(if slow { slowed(config) } else { config })
            };
            let company = Company::start(count, &cluster, config).await?;
            let (heartbeat, lease) = (company.config.heartbeat, company.config.lease);
            // Those that came meanwhile have settled.
            tokio::time::sleep(if slow { 2 * heartbeat } else { lease + 2 * heartbeat }).await;
            let rates = Meter::over(heartbeat * if slow { 3 } else { beats }, &cluster).await?;
            let every = if slow { ", heartbeat 20 s" } else { "" };
            rates.print(&format!("{count} participants, {mode}{every}"));
            let led = usize::from(company.leadership.is_current());
            targets.all("the best one leads in the end", led, 1);
        }
    }
    Ok(())
}

/// With as long a lease as it needs.
fn slowed(config: Config) -> Config {
    let mut config = Config { heartbeat: SLOW, ..config };
    config.lease = config.lease_needed();
    config
}

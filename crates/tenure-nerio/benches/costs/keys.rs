//! Costs of keys: two clusters in turn, one of which seals its datagrams.

use std::thread::sleep;
use std::time::Duration;

use tenure::{AtMostOne, Election, Leadership, clock};
use tokio::runtime::Runtime;

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::latency::{IDLE, IDLE_WAITING, REFRESH, runtime};
use crate::node;
use crate::sample::Samples;
use crate::target::Targets;

/// Two candidates of one cluster, one of which leads at times.
struct Pair {
    _cluster: Cluster,
    one: Election<AtMostOne>,
    two: Election<AtMostOne>,
    leads: Option<Leadership<AtMostOne>>,
}

impl Pair {
    fn start(sealed: bool) -> Result<Self> {
        let cluster = Cluster::start(Settings { sealed, refresh: REFRESH, ..Settings::new()? })?;
        let one = node(&cluster, "one")?.election("billing")?;
        let two = node(&cluster, "two")?.election("billing")?;
        Ok(Self { _cluster: cluster, one, two, leads: None })
    }

    /// The time of an uncontended campaign.
    fn campaign(&mut self, runtime: &Runtime) -> Result<Duration> {
        sleep(IDLE);
        let began = clock::now();
        let leadership = runtime.block_on(self.one.campaign("10.0.0.7:8080"))?;
        let took = clock::now().since(began);
        runtime.block_on(async {
            leadership.settled().await?;
            leadership.resign().await;
            Ok::<_, tenure::Loss>(())
        })?;
        Ok(took)
    }

    /// The time from a leader's resignation to the next leader's first lease.
    fn hand_over(&mut self, runtime: &Runtime) -> Result<Duration> {
        let leader = match self.leads.take() {
            Some(leader) => leader,
            None => runtime.block_on(self.one.campaign("10.0.0.7:8080"))?,
        };
        std::mem::swap(&mut self.one, &mut self.two);
        let (won, took) = runtime.block_on(async {
            leader.settled().await?;
            let mut waiting = Box::pin(self.one.campaign("10.0.0.8:8080"));
            tokio::select! {
                _ = &mut waiting => return Err("two leaders at once".into()),
                () = tokio::time::sleep(IDLE_WAITING) => {}
            }
            let began = clock::now();
            let ((), (won, took)) =
                tokio::join!(leader.resign(), async { (waiting.await, clock::now().since(began)) });
            Ok::<_, Box<dyn std::error::Error>>((won?, took))
        })?;
        self.leads = Some(won);
        Ok(took)
    }
}

/// Measures campaigns and hand-overs with keys, beside those without.
pub(crate) fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let (campaigns, hand_overs) = if quick { (300, 50) } else { (2_000, 200) };
    let runtime = runtime()?;
    let mut plain = Pair::start(false)?;
    let mut sealed = Pair::start(true)?;
    type Act = fn(&mut Pair, &Runtime) -> Result<Duration>;
    let acts: [(&str, usize, Act); 2] =
        [("campaign", campaigns, Pair::campaign), ("hand-over", hand_overs, Pair::hand_over)];
    for (what, rounds, act) in acts {
        let mut without = Samples::new();
        let mut with = Samples::new();
        for round in 0..=rounds {
            // The cluster that goes first has the warmer processor.
            let took = match round % 2 {
                0 => (act(&mut plain, &runtime)?, act(&mut sealed, &runtime)?),
                _ => {
                    let sealed = act(&mut sealed, &runtime)?;
                    (act(&mut plain, &runtime)?, sealed)
                }
            };
            // The first round greets, and learns the fence.
            if round > 0 {
                without.push_span(took.0);
                with.push_span(took.1);
            }
        }
        println!("{what}: {rounds} rounds of each in turn");
        without.print("without keys");
        with.print("with keys");
        let ratio = with.median() / without.median();
        targets.at_most(&format!("{what}, ratio of medians"), ratio, 1.15, "");
    }
    Ok(())
}

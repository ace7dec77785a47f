//! Costs of keys: two clusters in turn, one of which seals its datagrams.

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::common::Result;
use crate::common::cluster::Settings;
use crate::latency::{REFRESH, runtime};
use crate::pair::Pair;
use crate::placements::{CLUSTERS, compare};
use crate::target::Targets;

/// Measures campaigns and hand-overs with keys, beside those without.
pub(crate) fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    type Act = fn(&mut Pair, &Runtime) -> Result<Duration>;
    let (campaigns, hand_overs) = if quick { (40, 7) } else { (250, 25) };
    let acts: [(&str, usize, Act); 2] =
        [("campaign", campaigns, Pair::campaign), ("hand-over", hand_overs, Pair::hand_over)];
    let runtime = runtime()?;
    for (what, rounds, act) in acts {
        let compared = compare(rounds, || {
            let start =
                |sealed| Pair::start(Settings { sealed, refresh: REFRESH, ..Settings::new()? });
            let (mut plain, mut sealed) = (start(false)?, start(true)?);
            let runtime = &runtime;
            Ok(move |round: usize| {
                // The cluster that goes first has the warmer processor, so the two clusters take
                // turns.
                if round.is_multiple_of(2) {
                    return Ok([act(&mut plain, runtime)?, act(&mut sealed, runtime)?]);
                }
                let with = act(&mut sealed, runtime)?;
                Ok([act(&mut plain, runtime)?, with])
            })
        })?;
        println!("{what}: {rounds} rounds of each in turn in each of {CLUSTERS} pairs of clusters");
        let names = ["without keys", "with keys"];
        compared.judge(names, &format!("{what}, mean ratio"), 1.15, targets);
    }
    Ok(())
}

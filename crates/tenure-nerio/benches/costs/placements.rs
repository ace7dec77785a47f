//! Two costs side by side, on several clusters one after the other.
//!
//! The scheduler chooses a processor for each thread when a cluster starts, and then moves few
//! threads. So the ratio of one cluster is that of one placement, and two runs may find two ratios.
//! Therefore every cluster is compared with the processes that ran beside it. The target is for the
//! mean of all clusters.

use std::time::Duration;

use crate::common::Result;
use crate::sample::Samples;
use crate::target::Targets;

pub(crate) const CLUSTERS: usize = 8;

/// The spans of one round: of the floor, and of the work that is compared with it.
pub(crate) type Round = [Duration; 2];

pub(crate) struct Compared {
    all: [Samples; 2],
    ratios: [f64; CLUSTERS],
}

/// Measures `rounds` on each of the clusters: `start` starts a new cluster, and returns a function
/// that measures a round there. The first round of a cluster does not count, because nodes learn
/// the fence and greet each other in that round.
pub(crate) fn compare<T: FnMut(usize) -> Result<Round>>(
    rounds: usize,
    mut start: impl FnMut() -> Result<T>,
) -> Result<Compared> {
    let mut compared =
        Compared { all: [const { Samples::new() }; 2], ratios: [f64::NAN; CLUSTERS] };
    for ratio in &mut compared.ratios {
        let mut measure = start()?;
        measure(0)?;
        let mut here = [const { Samples::new() }; 2];
        for round in 1..=rounds {
            let spans = measure(round)?;
            for (samples, span) in here.iter_mut().chain(&mut compared.all).zip(spans.repeat(2)) {
                samples.push_span(span);
            }
        }
        let [floor, cost] = here;
        *ratio = cost.median() / floor.median();
    }
    Ok(compared)
}

impl Compared {
    /// Prints both costs under their names, and judges the mean of the clusters' ratios.
    pub(crate) fn judge(self, names: [&str; 2], ratio: &str, most: f64, targets: &mut Targets) {
        for (samples, name) in self.all.iter().zip(names) {
            samples.print(name);
        }
        let mut sorted = self.ratios;
        sorted.sort_by(f64::total_cmp);
        let [least, .., greatest] = sorted;
        println!("  ratio of medians in each of {CLUSTERS} clusters: {least:.3} to {greatest:.3}");
        let mean = sorted.iter().sum::<f64>() / CLUSTERS as f64;
        targets.at_most(ratio, mean, most, "");
    }
}

//! The benchmarks' targets, which must be able to fail.

#![expect(clippy::print_stdout, reason = "the module is a benchmark's")]

#[path = "../benches/costs/target.rs"]
mod target;

use target::{Targets, conclude};

#[test]
fn missed_target_is_an_error() {
    let mut handover = Targets::of("handover");
    handover.at_most("ratio", 2.5, 2.5, "");
    handover.at_most("other ratio", 2.501, 2.5, "");
    handover.at_most("unmeasured", f64::NAN, 1.0, " %");
    let mut load = Targets::of("load");
    load.all("held", 10_000, 10_000);
    load.all("held", 9_999, 10_000);
    load.at_most("processor time", 5.1, 5.0, " %");
    assert_eq!(
        conclude([handover, load]).unwrap_err(),
        "not met: 4\n  \
         handover: other ratio: 2.501, target ≤ 2.5\n  \
         handover: unmeasured: NaN %, target ≤ 1 %\n  \
         load: held: 9999 of 10000, target all\n  \
         load: processor time: 5.100 %, target ≤ 5 %\n\
         On a busy machine, measure again before looking for the reason: \
         docs/internals/simulation.md."
    );
}

#[test]
fn met_targets_are_no_error() {
    let mut campaign = Targets::of("campaign");
    campaign.at_most("ratio", 1.0, 2.0, "");
    campaign.all("held", 0, 0);
    assert_eq!(conclude([campaign, Targets::of("load")]), Ok(()));
    assert_eq!(conclude([]), Ok(()));
}

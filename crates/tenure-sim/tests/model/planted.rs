//! Each of these rules of the core is broken once, and the model must find a way to see it.
//!
//! `RUSTFLAGS="--cfg tenure_planted" cargo test -p tenure-sim --release --target-dir
//! target/planted --test model -- --nocapture` prints the ways. In release, because there the
//! core does not check itself.

use tenure_core::nerio::planted::Rule;
use tenure_testkit::model::{Setting, finds};

use crate::cases;
use crate::grantors::Grantors;

type Planted = (Rule, fn(bool) -> Setting<Grantors>, &'static str);

/// What is broken, the configuration that is about it, and how the judge's sentence begins.
const PLANTED: &[Planted] = &[
    (Rule::ClaimShrinks, cases::drift, "equation 14"),
    (Rule::GrantStretches, cases::drift, "equation 14"),
    (Rule::ReleaseNamesStart, cases::late_release, "equation 14"),
    (Rule::FreshSample, cases::hand_over, "equation 14"),
    (Rule::Floor, cases::drift, "equation 14"),
    (Rule::KeepWhileInUse, cases::alone, "section 6"),
    (Rule::FenceAbove, cases::hand_over, "fences strictly grow"),
    (Rule::FenceByAll, cases::hand_over, "fences strictly grow"),
    (Rule::FenceEndsAtLapse, cases::drift, "fences strictly grow"),
    (Rule::Quarantine, cases::reboot, "equation 14"),
    (Rule::WrittenBeforeOk, cases::crash, "I11"),
    (Rule::LowerBeforeRelease, cases::hand_over, "section 6"),
    (Rule::OneHolder, cases::hand_over, "equation 14"),
];

#[test]
fn planted_bugs_are_found() {
    // One after the other: which rule is broken is known to the whole process.
    let mut survivors = Vec::new();
    for (rule, case, why) in PLANTED {
        println!("{rule:?}");
        let _broken = rule.row().break_it();
        if !finds(&case(false), 3_000_000, why) {
            survivors.push(*rule);
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:?}");
}

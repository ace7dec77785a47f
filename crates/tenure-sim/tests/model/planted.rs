//! Each of these rules of the core is broken once, and the model must find a way to see it.
//!
//! `RUSTFLAGS="--cfg tenure_planted" cargo test -p tenure-sim --release --target-dir
//! target/planted --test model -- --nocapture` prints the ways. In release, because there the
//! core does not check itself.

use tenure_core::nerio::planted::{Rule, break_rule};

use crate::cases;
use crate::setting::Setting;
use crate::visit;

type Planted = (Rule, fn(bool) -> Setting, &'static str);

/// What is broken, the configuration that is about it, and how the judge's sentence begins.
const PLANTED: &[Planted] = &[];

#[test]
fn survey() {
    use tenure_core::nerio::planted::*;
    for rule in CAUGHT_BY_WORLD.iter().chain(CAUGHT_BY_STORY).copied() {
        let _broken = break_rule(rule);
        for case in [
            cases::hand_over as fn(bool) -> Setting,
            cases::alone,
            cases::drift,
            cases::reboot,
            cases::late_request,
            cases::loss,
            cases::crash,
        ] {
            let setting = case(false);
            let (_, violation) = visit(&setting, 1_000_000);
            if let Some(violation) = violation {
                println!(
                    "CAUGHT {rule:?} by {} in {} steps: {}",
                    setting.name,
                    violation.steps.len(),
                    violation.why
                );
            }
        }
    }
}

#[test]
fn planted_bugs_are_found() {
    // One after the other: which rule is broken is known to the whole process.
    let mut survivors = Vec::new();
    for (rule, case, why) in PLANTED {
        let setting = case(false);
        let broken = break_rule(*rule);
        let (_, violation) = visit(&setting, 3_000_000);
        drop(broken);
        match violation {
            Some(violation) => {
                println!("{rule:?}: {} actions: {violation}", violation.steps.len());
                let meant = violation.why.starts_with(why);
                assert!(meant, "{rule:?} was to be seen as {why:?}: {}", violation.why);
            }
            None => survivors.push(*rule),
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:?}");
}

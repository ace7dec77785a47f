//! The rounds of faults on hosts with names and keys, whose addresses change.

use tenure_testkit::nerio::Nerio;
use tenure_testkit::processes::{Fleet, NamedHosts, rounds};

tenure_testkit::tests!(two_commands_never_run_at_once);

const LONG_ROUNDS: usize = 200;

fn two_commands_never_run_at_once() {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --test names_long -- faults";
    rounds::play(LONG_ROUNDS, command, |_| {
        Fleet::start(crate::TENURE, Nerio::new(NamedHosts::create(crate::TENURE), rounds::timing()))
    });
}

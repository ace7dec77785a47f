//! The rounds on loopback, through the proxy.

use tenure_testkit::nerio::Nerio;
use tenure_testkit::processes::{Fleet, Proxy, rounds};

tenure_testkit::tests!(two_commands_never_run_at_once);

const LONG_ROUNDS: usize = 200;

fn two_commands_never_run_at_once() {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --test chaos -- loopback";
    rounds::play(LONG_ROUNDS, command, |seed| {
        Fleet::start(crate::TENURE, Nerio::new(Proxy::start(seed), rounds::timing()))
    });
}

//! The rounds on loopback, through the proxy.

use std::env;

use tenure_testkit::processes::nerio::Nerio;
use tenure_testkit::processes::{Fleet, Proxy, rounds};

tenure_testkit::tests!(two_commands_never_run_at_once);

const LONG_ROUNDS: usize = 200;

/// Each fault once; 200 rounds with `TENURE_LONG`.
fn two_commands_never_run_at_once() {
    let long = env::var_os("TENURE_LONG").is_some();
    let (number, set) = if long { (Some(LONG_ROUNDS), "TENURE_LONG=1 ") } else { (None, "") };
    let command =
        format!("{set}TENURE_SEED={{}} cargo test -p tenure-cli --test chaos -- loopback");
    rounds::play(number, &command, |seed| {
        Fleet::start(crate::TENURE, Nerio::new(Proxy::start(seed), rounds::TIMING))
    });
}

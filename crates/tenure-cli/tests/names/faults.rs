//! The rounds of faults on hosts with names and keys, whose addresses change.

use std::env;

use tenure_testkit::processes::nerio::Nerio;
use tenure_testkit::processes::{Fleet, Named, rounds};

tenure_testkit::tests!(two_commands_never_run_at_once);

const ROUNDS: usize = 20;
const LONG_ROUNDS: usize = 200;

/// Some faults; 200 with `TENURE_LONG`.
fn two_commands_never_run_at_once() {
    let Some(hosts) = Named::create(crate::TENURE) else { return };
    let long = env::var_os("TENURE_LONG").is_some();
    let (number, set) = if long { (LONG_ROUNDS, "TENURE_LONG=1 ") } else { (ROUNDS, "") };
    let command = format!("{set}TENURE_SEED={{}} cargo test -p tenure-cli --test names -- faults");
    rounds::play(Some(number), &command, |_| {
        Fleet::start(crate::TENURE, Nerio::new(hosts, rounds::TIMING))
    });
}

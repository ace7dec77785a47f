//! The rounds on loopback, through the proxy.

use std::env;

use crate::faults::Fault;
use crate::proxy::Proxy;
use crate::rounds;

crate::tests!(two_commands_never_run_at_once);

const LONG_ROUNDS: usize = 200;

/// Each fault once; 200 rounds with `TENURE_LONG`.
fn two_commands_never_run_at_once() {
    let long = env::var_os("TENURE_LONG").is_some();
    let (rounds, set) = if long { (LONG_ROUNDS, "TENURE_LONG=1 ") } else { (Fault::ALL.len(), "") };
    let command =
        format!("{set}TENURE_SEED={{}} cargo test -p tenure-cli --test chaos -- loopback");
    rounds::play(rounds, &command, Proxy::start);
}

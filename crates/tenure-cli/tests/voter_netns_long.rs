//! The rounds of `voter_faults` with a network namespace for each voter, and with cuts between
//! them: of all links of a voter, of some, of one direction. Also voters behind one DNS name, and
//! many voters.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

#[path = "voter/dns.rs"]
mod dns;
#[path = "voter/many.rs"]
mod many;
#[path = "voter/network.rs"]
#[allow(dead_code, reason = "the tests on loopback use the rest")]
mod network;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::{Fleet, main as started, rounds};
use tenure_testkit::voter::Voters;

const ROUNDS: usize = 200;

fn main() -> ExitCode {
    started(|| {
        let trials = vec![
            Trial::test("two_commands_never_run_at_once", || {
                let command = "TESTS_SEED={} cargo test -p tenure-cli --features voter --test \
                               voter_netns_long";
                rounds::play(ROUNDS, command, |_| {
                    Fleet::start(env!("CARGO_BIN_EXE_tenure"), Voters::in_namespaces())
                });
                Ok(())
            }),
            Trial::test("voters_share_a_dns_name", || {
                dns::voters_share_a_dns_name();
                Ok(())
            }),
            Trial::test("twenty_five_voters_elect_and_replace_a_leader", || {
                many::many_voters_replace_killed_leader();
                Ok(())
            }),
        ];
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}

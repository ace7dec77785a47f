//! The rounds of faults on hosts with names and keys, whose addresses change.

use tenure_testkit::nerio::Nerio;
use tenure_testkit::processes::{Fleet, NamedHosts, rounds};

use crate::operator::Operator;

tenure_testkit::tests!(
    two_commands_never_run_at_once,
    changed_members_elect_one_leader,
    changed_members_elect_once_more,
);

const LONG_ROUNDS: usize = 200;

fn two_commands_never_run_at_once() {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --test names_long -- faults";
    rounds::play(LONG_ROUNDS, command, |_| {
        Fleet::start(crate::TENURE, Nerio::new(NamedHosts::create(crate::TENURE), rounds::timing()))
    });
}

/// The first half of the rounds: with the operator, all rounds would take longer than one test may.
fn changed_members_elect_one_leader() {
    change_under_faults("changed_members_elect_one_leader");
}

/// The second half of the rounds, with faults of its own.
fn changed_members_elect_once_more() {
    change_under_faults("changed_members_elect_once_more");
}

/// Plays rounds of faults while an operator adds, removes and replaces members, and cancels some
/// changes.
fn change_under_faults(test: &str) {
    let command =
        format!("TESTS_SEED={{}} cargo test -p tenure-cli --test names_long -- faults::{test}");
    let mut operator = None;
    rounds::play(LONG_ROUNDS / 2, &command, |seed| {
        let hosts = NamedHosts::create(crate::TENURE);
        operator = Some(Operator::start(&hosts, seed));
        Fleet::start(crate::TENURE, Nerio::new(hosts, rounds::timing()))
    });
    let tally = operator.unwrap().end();
    println!("changes, given and made: {tally:?}");
    for what in ["add", "remove", "replace", "cancel"] {
        assert!(tally.get(what).is_some_and(|[_, made]| *made > 0), "{what}: {tally:?}");
    }
}

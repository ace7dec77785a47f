//! What Tenure's elections on etcd rely on, checked on real servers of every version.
//!
//! A fact is a sentence about etcd, a function that makes a server show it, and what has to be seen
//! on each version. When the next version behaves in another way, its row says CHANGED, and
//! whoever relies on it can be found by the sentence. `cargo xtask facts etcd` runs this.
//!
//! What a fact says *can* happen is tried once; what only sometimes happens is in [`NOT_TRIED`].

#![expect(clippy::unwrap_used, reason = "what a server does not do as expected is a failure")]
#![expect(clippy::print_stdout, reason = "it prints a table")]

mod auth;
mod elections;
mod fact;
mod leases;
mod quorum;
mod report;
mod restores;
mod snapshots;
mod stage;
mod transactions;
mod watches;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::{Version, install};

use crate::fact::Fact;
use crate::report::Report;
use crate::stage::{Scenes, Stage};

/// Facts are mostly waited for, so more run at once than there are processors.
const AT_ONCE: usize = 12;

/// In the order in which the sources of the sentences come.
const FACTS: [&[Fact]; 8] = [
    elections::FACTS,
    leases::FACTS,
    transactions::FACTS,
    watches::FACTS,
    quorum::FACTS,
    snapshots::FACTS,
    restores::FACTS,
    auth::FACTS,
];

/// What is known of etcd and not checked here, with the reason.
const NOT_TRIED: [(&str, &str); 6] = [
    (
        "a leader stopped for some seconds revokes a lease that was renewed elsewhere",
        "happens in one of four trials",
    ),
    (
        "a create that timed out is applied after a later resign, and lives for ever",
        "happens in one of five trials",
    ),
    ("a leader stuck on its disk renews and revokes", "needs a disk that stands still"),
    ("a renewal that races a revoke is answered with a TTL", "a race"),
    ("renewals do not wait for the applied index", "a race"),
    ("Go's Campaign reports a win with a key that is gone", "a race, and a Go program"),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    // Before the facts, whose time is limited.
    if !arguments.list {
        for version in Version::ALL {
            install(version).unwrap();
        }
    }
    let scenes = Version::ALL.map(|version| Arc::new(Scenes::new(version)));
    let report = Arc::new(Report::default());
    let facts = || FACTS.into_iter().flatten();
    let mut trials = Vec::new();
    for fact in facts() {
        for scenes in &scenes {
            let (stage, report) = (Stage::new(fact, scenes), Arc::clone(&report));
            let name = format!("{} on {}", fact.name, scenes.version);
            trials.push(Trial::test(name, move || report.take(fact, stage)));
        }
    }
    let listed = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listed {
        print!("{}", report.table(facts()));
    }
    conclusion.exit_code()
}

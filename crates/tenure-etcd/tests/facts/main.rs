//! Facts on which the safety of Tenure's elections on etcd rests, checked on real servers of every
//! version. `cargo xtask facts etcd` runs this.
//!
//! If the fact is that an event *can* happen, the event is tried once. Events that happen only
//! sometimes are in [`NOT_TRIED`].

#![expect(clippy::unwrap_used, reason = "what a server does not do as expected is a failure")]

mod leases;
mod quorum;
mod restores;
mod snapshots;
mod stage;
mod transactions;

use std::process::ExitCode;
use std::sync::Arc;

use tenure_services::etcd::{Version, install};
use tenure_testkit::facts;

use crate::stage::{Fact, Scenes, Stage};

/// The facts stand in the order in which their sources state them.
static FACTS: [&[Fact]; 5] =
    [leases::FACTS, transactions::FACTS, quorum::FACTS, snapshots::FACTS, restores::FACTS];

/// Facts about etcd that this program does not check, with the reason.
static NOT_TRIED: [(&str, &str); 5] = [
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
];

fn main() -> ExitCode {
    // The versions are fetched before the facts, whose time is limited.
    if !std::env::args().any(|argument| argument == "--list") {
        for version in Version::ALL {
            install(version).unwrap();
        }
    }
    let scenes = Version::ALL.map(|version| Arc::new(Scenes::new(version)));
    facts::run(&FACTS, &NOT_TRIED, |fact, version| Stage::new(fact, &scenes[version]))
}

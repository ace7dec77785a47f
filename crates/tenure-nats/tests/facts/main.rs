//! Facts on which elections on NATS rest, checked on real servers of every version, and on
//! `async-nats` as it is built in. `cargo xtask facts nats` runs this.

#![expect(clippy::unwrap_used, reason = "what a server does not do as expected is a failure")]

mod connections;
mod messages;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;

use tenure_services::nats::{Version, install};
use tenure_testkit::facts;

use crate::stage::{Fact, Scenes, Stage};

static FACTS: [&[Fact]; 2] = [messages::FACTS, connections::FACTS];

fn main() -> ExitCode {
    // The versions are fetched before the facts, whose time is limited.
    if !std::env::args().any(|argument| argument == "--list") {
        for version in Version::ALL {
            install(version).unwrap();
        }
    }
    let scenes = Version::ALL.map(|version| Arc::new(Scenes::new(version)));
    facts::run(&FACTS, &[], |fact, version| Stage::new(fact, &scenes[version]))
}

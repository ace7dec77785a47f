//! What Tenure's elections on NATS rely on, checked on real servers of every version, and on
//! `async-nats` as it is built in. `cargo xtask facts nats` runs this.
//!
//! What a fact says *can* happen is tried once; what only sometimes happens is in [`NOT_TRIED`].

#![expect(clippy::unwrap_used, reason = "what a server does not do as expected is a failure")]

mod connections;
mod limits;
mod logins;
mod messages;
mod routes;
mod stage;

use std::process::ExitCode;
use std::sync::Arc;

use tenure_services::nats::{Version, install};
use tenure_testkit::facts;

use crate::stage::{Fact, Scenes, Stage};

static FACTS: [&[Fact]; 5] =
    [messages::FACTS, limits::FACTS, connections::FACTS, routes::FACTS, logins::FACTS];

/// What is known of NATS and not checked here, with the reason.
static NOT_TRIED: [(&str, &str); 3] = [
    ("a client that reads nothing is disconnected by its server", "takes its write deadline, 10 s"),
    ("a lame duck closes its clients one by one", "takes half a minute at least"),
    ("a message that a server has taken in is lost when it is killed", "a race"),
];

fn main() -> ExitCode {
    // Before the facts, whose time is limited.
    if !std::env::args().any(|argument| argument == "--list") {
        for version in Version::ALL {
            install(version).unwrap();
        }
    }
    let scenes = Version::ALL.map(|version| Arc::new(Scenes::new(version)));
    facts::run(&FACTS, &NOT_TRIED, |fact, version| Stage::new(fact, &scenes[version]))
}

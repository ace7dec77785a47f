//! Facts on which the safety of elections on Kafka rests, checked on real brokers of every version,
//! and on `rdkafka` as it is built in. `cargo xtask facts kafka` runs this.
//!
//! If the fact is that an event *can* happen, the event is tried once. Events that happen only
//! sometimes are in [`NOT_TRIED`].

#![expect(clippy::unwrap_used, reason = "what a broker does not do as expected is a failure")]

mod member;
mod records;
mod sessions;
mod stage;
mod topics;
mod truncation;

use std::process::ExitCode;
use std::sync::Arc;

use tenure_services::kafka::Version;
use tenure_testkit::facts;

use crate::stage::{Fact, Scenes, Stage};

/// The longest facts come first.
static FACTS: [&[Fact]; 4] = [truncation::FACTS, sessions::FACTS, records::FACTS, topics::FACTS];

/// Facts about Kafka that this program does not check, with the reason.
static NOT_TRIED: [(&str, &str); 2] = [
    (
        "a member that was stopped beyond its session may read what was written meanwhile, and \
         after, before it is told of its loss",
        "a race; seen with the newer protocol",
    ),
    (
        "a group that nobody uses is forgotten, and its generations begin at 1 again",
        "takes seven days, or a minute of waiting for the broker's look",
    ),
];

fn main() -> ExitCode {
    if let Ok(order) = std::env::var(member::ROLE) {
        return member::run(&order);
    }
    let scenes = Version::ALL.map(|version| Arc::new(Scenes::new(version)));
    facts::run(&FACTS, &NOT_TRIED, |fact, version| Stage::new(fact, &scenes[version]))
}

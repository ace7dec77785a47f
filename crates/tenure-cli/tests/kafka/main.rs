//! The command on real Kafka.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/answers.rs"]
mod answers;
mod asking;
mod changing;
mod groups;
mod http;
mod names;
mod page;
mod phases;
mod refusals;
mod roles;
mod rolling;
mod runs;
mod sessions;
#[path = "../shared/silent_names.rs"]
mod silent_names;

use tenure_services::kafka::{Shared, shared, unique};
use tenure_testkit::processes::Machine;

/// A broker that several tests share, and an election of this test alone, with its own topic and
/// group.
fn shared_broker(name: &str) -> (Shared, String, Machine) {
    let (broker, election) = (shared().unwrap(), unique(name));
    let machine = machine(&broker.addresses(), &election);
    (broker, election, machine)
}

/// Common settings: sessions that outlast a machine which stands still for some seconds, and one
/// broker.
fn machine(brokers: &str, election: &str) -> Machine {
    Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_BROKERS", brokers)
        .with("TENURE_ELECTION", election)
        .with("TENURE_ALLOW_UNREPLICATED", "true")
        .with("TENURE_SESSION_TIMEOUT", "8s")
        .with("TENURE_PUBLISH_INTERVAL", "200ms")
}

/// At most one leader, T = 10 s: each process waits for that long before it leads.
const STRICT: [&str; 6] = ["--mode", "at-most-one", "--takeover", "10s", "--grace", "500ms"];

/// At least one leader, T = 40 s: two sessions of 8 s, a poll of 2 s, and some room.
const LOOSE: [&str; 4] = ["--takeover", "40s", "--grace", "500ms"];

fn words<'a>(command: &'a str, mode: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&[command], mode, more].concat()
}

/// `run` with `sh -c script`, creating the topic.
fn run<'a>(id: &'a str, mode: &[&'a str], more: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let own = ["--id", id, "--create-topic"];
    [words("run", mode, &own), more.to_vec(), vec!["--", "sh", "-c", script]].concat()
}

//! The command on real Kafka.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod asking;
mod refusals;
mod roles;
mod rolling;
mod runs;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tenure_services::kafka::{Cluster, ClusterConfig, Version};
use tenure_testkit::processes::Machine;

/// One broker for all tests that run at the same time; it ends with the last of them. Each has an
/// election, and so a topic and a group, of its own.
fn cluster() -> Arc<Cluster> {
    static CLUSTER: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut shared = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let cluster = Arc::new(quick().start().unwrap());
        *shared = Arc::downgrade(&cluster);
        cluster
    })
}

/// A broker that allows short sessions.
fn quick() -> ClusterConfig {
    ClusterConfig::new(Version::V41, 1).setting("group.min.session.timeout.ms=1000")
}

/// What all of these have in common, of the election `NAME`: sessions of 2 s, and one broker.
fn machine(cluster: &Cluster, election: &str) -> Machine {
    Machine::new(env!("CARGO_BIN_EXE_tenure"))
        .with("TENURE_PROTOCOL", "nele")
        .with("TENURE_BROKERS", &cluster.addresses())
        .with("TENURE_ELECTION", election)
        .with("TENURE_ALLOW_UNREPLICATED", "true")
        .with("TENURE_SESSION_TIMEOUT", "2s")
        .with("TENURE_PUBLISH_INTERVAL", "200ms")
}

/// At most one leader at a time, T = 3 s.
const STRICT: [&str; 6] = ["--mode", "at-most-one", "--takeover", "3s", "--grace", "500ms"];

/// At least one, T = 12 s: two sessions of 2 s, a poll of 2 s, and some.
const LOOSE: [&str; 4] = ["--takeover", "12s", "--grace", "500ms"];

fn words<'a>(command: &'a str, mode: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&[command], mode, more].concat()
}

/// `run` of one that makes the topic, with `sh -c script`.
fn run<'a>(id: &'a str, mode: &[&'a str], more: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let own = ["--id", id, "--create-topic"];
    [words("run", mode, &own), more.to_vec(), vec!["--", "sh", "-c", script]].concat()
}

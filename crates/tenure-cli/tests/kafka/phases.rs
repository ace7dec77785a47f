//! Commands name each long phase, and the event that ends the phase.

use rustix::process::Signal;
use tenure_services::kafka::{ClusterConfig, SHARED_VERSION};

use crate::{LOOSE, machine, run};

const WORK: &str = "echo works; exec sleep 600";

/// A single broker cannot hold the replicas that group coordinators need by default.
#[test]
fn missing_coordinators_are_named() {
    let cluster = ClusterConfig::new(SHARED_VERSION, 1)
        .setting("offsets.topic.replication.factor=3")
        .start()
        .unwrap();
    let host = machine(&cluster.addresses(), "coordinator");
    let one = host.start("one", &run("one", &LOOSE, &["--partitions", "1"], WORK));
    let waits = "one waits: connecting: group coordinator.coordinator.m1: the group has";
    one.line(&format!("{waits} assigned no partitions yet"), 1);
    for begins in ["warning: the group has assigned no partitions yet: the group has", waits] {
        let told = one.line(&format!("{begins} no coordinator"), 1);
        assert!(told.contains("offsets.topic.replication.factor"), "{told}");
    }
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

/// The command reports a broker that stands still in its own words, and the broker works again
/// afterwards.
#[test]
fn brokers_that_stand_still_are_named() {
    let cluster = ClusterConfig::new(SHARED_VERSION, 1).start().unwrap();
    let host = machine(&cluster.addresses(), "still");
    let roles = ["--partitions", "4", "--roles", "0..3"];
    let one = host.start("one", &run("one", &LOOSE, &roles, WORK));
    one.line("works", 4);
    cluster.broker(0).stop().unwrap();
    let told = one.line("warning: partition ", 1);
    cluster.broker(0).cont().unwrap();
    assert!(told.contains(": brokers acknowledge no records"), "{told}");
    let log = one.log();
    assert!(!log.contains("MessageTimedOut"), "{log}");
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

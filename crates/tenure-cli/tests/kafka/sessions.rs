//! Short sessions, reports to the group, and the assignment of partitions.

use rustix::process::Signal;
use tenure_services::kafka::{ClusterConfig, SHARED_VERSION};
use tenure_testkit::processes::wait::eventually as soon;

use crate::{STRICT, machine, run, shared_broker};

const WORK: &str = "echo works {role}; exec sleep 600";

/// A session of half a second. The client library alone would report to the group only twice in
/// such a session, and would join again only after a second.
const SHORT: [&str; 12] = [
    "--session-timeout",
    "500ms",
    "--heartbeat-interval",
    "50ms",
    "--publish-interval",
    "50ms",
    "--takeover",
    "10s",
    "--grace",
    "500ms",
    "--max-poll-interval",
    "5s",
];

#[test]
fn short_session_is_refused_with_bounds() {
    let (_broker, _, host) = shared_broker("refused");
    let answer = host.ask(&run("one", &SHORT, &["--partitions", "1"], WORK));
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    for part in [
        "session timeout is 500ms; brokers allow 1s to 1800s",
        "group.min.session.timeout.ms",
        "origin: session-timeout 500ms, flag --session-timeout",
    ] {
        assert!(answer.err.contains(part), "{part}: {}", answer.err);
    }
    let slow = ["--partitions", "1", "--heartbeat-interval", "3s"];
    let answer = host.ask(&run("one", &STRICT, &slow, WORK));
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    let bounds = "heartbeat interval is 3s; it must be from 1ms to a third of the session timeout, \
                  2.666666666s";
    assert!(answer.err.contains(bounds), "{}", answer.err);
}

/// A newcomer gets its share, and a killed process is followed, with a session that brokers refuse
/// by default.
#[test]
fn short_session_is_followed() {
    let short = "group.min.session.timeout.ms=100";
    let cluster = ClusterConfig::new(SHARED_VERSION, 1).setting(short).start().unwrap();
    let host = machine(&cluster.addresses(), "brief");
    let roles = ["--partitions", "2", "--roles", "0..1"];
    let one = host.start("one", &run("one", &SHORT, &roles, WORK));
    for role in 0..2 {
        one.line(&format!("works {role}"), 1);
    }
    let two = host.start("two", &run("two", &SHORT, &roles, WORK));
    two.line("works ", 1);
    one.signal(Signal::KILL);
    for role in 0..2 {
        two.line(&format!("works {role}"), 1);
    }
    two.signal(Signal::TERM);
    assert_eq!(two.ended(), Some(143), "{}", host.log("two"));
}

/// All roles have leaders after a join that takes every partition from every process; a member with
/// the other strategy is refused.
#[test]
fn round_robin_deals_anew() {
    let (_broker, election, host) = shared_broker("dealt");
    let roles = ["--partitions", "4", "--roles", "0..3"];
    let dealt = [&roles[..], &["--assignor", "roundrobin"]].concat();
    let one = host.start("one", &run("one", &STRICT, &dealt, WORK));
    for role in 0..4 {
        one.line(&format!("works {role}"), 1);
    }
    let two = host.start("two", &run("two", &STRICT, &dealt, WORK));
    // The first process loses all four roles, and wins two of them again.
    soon("two of four", || (two.log().matches("] works ").count() == 2).then_some(()));
    soon("two again", || (one.log().matches("] works ").count() == 6).then_some(()));
    assert_eq!(one.log().matches("CMD ended").count(), 4, "{}", one.log());
    let mixed = host.start("mixed", &run("mixed", &STRICT, &roles, WORK));
    assert_eq!(mixed.ended(), Some(6), "{}", host.log("mixed"));
    let said = host.log("mixed");
    assert!(said.contains("give all of a group the same --assignor"), "{said}");
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
    for role in 0..4 {
        two.line(&format!("[{election}/{role}] works {role}"), 1);
    }
    two.signal(Signal::TERM);
    assert_eq!(two.ended(), Some(143), "{}", host.log("two"));
}

/// Numbers that do not fit together are reported by a candidate.
#[test]
fn spare_partitions_are_reported() {
    let (_broker, _, host) = shared_broker("spare");
    let one = host.start("one", &run("one", &STRICT, &["--partitions", "4"], WORK));
    let told = one.line("warning: 4 partitions for 1 role: 3 partitions without a role", 1);
    assert!(told.contains("choose about as many partitions as processes"), "{told}");
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
}

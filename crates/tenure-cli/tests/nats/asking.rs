//! Questions for a leader that have no plain answer.

use rustix::process::Signal;
use serde_json::Value;
use tenure::clock;
use tenure_services::nats::{Cluster, Version};
use tenure_testkit::processes::eventually;

use crate::{LEASE, candidate, machine, words};

/// An asker with other times than the candidates gets an error with the right times, and neither a
/// vacancy nor a bug.
#[test]
fn asker_with_other_times_is_refused() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster);
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("fence <none>", 1);
    let skew = ["--max-clock-skew", "100ms"];
    let beat = [&["--heartbeat", "900ms", "--lease", "20s"][..], &skew].concat();
    let lease = [&["--heartbeat", "1s", "--lease", "13s"][..], &skew].concat();
    let (beats, leases) = ("--heartbeat 1s, or", "--lease 20s, or");
    for (command, times, more, fix) in [
        ("leader", &beat, &["--wait", "1m"][..], beats),
        ("leader", &beat, &["--json"][..], beats),
        ("leader", &lease, &[][..], leases),
        ("observe", &beat, &[][..], beats),
        ("run", &lease, &["--grace", "300ms", "--", "true"][..], leases),
    ] {
        let started = [&[command, "--election", "billing"][..], times, more].concat();
        let told = host.ask(&started);
        let (code, out, err) = (told.code, told.out, told.err);
        assert_eq!(code, Some(6), "{command} {more:?}: {out}{err}");
        assert!(err.contains("one takes part in cluster tenure with "), "{err}");
        assert!(err.contains(&format!("fix: give {fix}")), "{err}");
        // An observer may report an unknown leader before it hears of other times.
        let is_known = |line: &str| !line.starts_with("unknown: ");
        assert!(!out.lines().any(is_known), "{command} {more:?}: {out}");
    }
}

/// While a stopped leader's lease may run, nobody reports a vacancy, because the other candidates
/// know of the lease.
#[test]
fn peers_report_stopped_leader() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster);
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("fence <none>", 1);
    let next = host.start("next", &candidate("two", "2"));
    next.line("two waits: behind one, which leads", 1);
    leader.signal(Signal::STOP);
    let told = eventually("who leads is told", || {
        let told = host.ask(&words("leader", &["--json"]));
        (told.code == Some(0)).then_some(told)
    });
    let view: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(view["value"], "one", "{view}");
    assert!(view["remaining_ms"].is_u64(), "{view}");
    leader.signal(Signal::CONT);
}

/// Without other candidates the leader is unknown until every lease is over, and vacant then.
#[test]
fn lone_stopped_leader_stays_unknown() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster);
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("fence <none>", 1);
    leader.signal(Signal::STOP);
    // No answer comes before the first round is over, and the lease is not over before 20 s.
    let soon = host.ask(&words("leader", &["--wait", "10s", "--json"]));
    assert_eq!(soon.code, Some(4), "{}{}", soon.out, soon.err);
    let view: Value = serde_json::from_str(&soon.out).unwrap();
    let why = view["why"].as_str().unwrap();
    assert!(why.starts_with("nobody has answered: no candidate takes part in cluster"), "{why}");
    assert!(why.contains("may still lead; this process knows for sure in "), "{why}");
    assert!(soon.err.contains("--wait 22s"), "{}", soon.err);
    let began = clock::now();
    let vacant = host.ask(&words("leader", &[]));
    assert_eq!(vacant.code, Some(3), "{}{}", vacant.out, vacant.err);
    let took = clock::now().since(began);
    assert!(took >= LEASE, "{took:?}");
    leader.signal(Signal::KILL);
}

/// An observer first prints the leader: its first round has an answer, unless a process stands
/// still for that long.
#[test]
fn observer_begins_with_the_leader() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster);
    let leader = host.start("leader", &candidate("one", "1"));
    leader.line("fence <none>", 1);
    let mut number = 0;
    eventually("an observer begins with the leader", || {
        number += 1;
        let observer = host.start(&format!("observer-{number}"), &words("observe", &["--json"]));
        observer.line("leader", 1);
        observer.signal(Signal::TERM);
        (!observer.log().contains("unknown")).then_some(())
    });
}

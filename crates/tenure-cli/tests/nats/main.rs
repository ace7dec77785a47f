//! The command on real NATS.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "../shared/answers.rs"]
mod answers;
mod asking;
mod authority;
mod http;
mod logins;
mod page;
mod rank;

use std::net::TcpListener;
use std::time::Duration;

use rustix::process::Signal;
use tenure_services::nats::{Cluster, ClusterConfig, Version};
use tenure_testkit::processes::Machine;
use tenure_testkit::processes::wait::eventually as soon;

/// Common settings: rounds of 1 s, and a lease that outlasts a machine which stands still for some
/// seconds.
const TIMES: [&str; 6] = ["--heartbeat", "1s", "--lease", "20s", "--max-clock-skew", "100ms"];

const LEASE: Duration = Duration::from_secs(20);

/// Prints its fence, if any, and keeps running.
const WORK: &str = "echo \"fence <${TENURE_FENCE-none}>\"; exec sleep 600";

fn machine(cluster: &Cluster) -> Machine {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    machine.with("TENURE_PROTOCOL", "allcall").with("TENURE_SERVERS", &cluster.urls().join(","))
}

fn words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "--election", "billing"], &TIMES[..], more].concat()
}

fn candidate<'a>(id: &'a str, rank: &'a str) -> Vec<&'a str> {
    let own = ["--id", id, "--value", id, "--rank", rank, "--grace", "300ms"];
    [words("run", &own), vec!["--", "sh", "-c", WORK]].concat()
}

tenure_services::on_each_version!(lowest_rank_leads_and_hands_over);

/// Askers hear of the leader; CMD has no fence, and the runner says that several may run; a clean
/// stop hands over.
fn lowest_rank_leads_and_hands_over(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let host = machine(&cluster);
    let vacant = host.ask(&words("leader", &[]));
    let nobody = "vacant: nobody leads: nobody has answered: no candidate takes part in cluster \
                  tenure";
    let (said, _) = vacant.out.rsplit_once("; asked ").unwrap();
    assert_eq!((vacant.code, said), (Some(3), nobody), "{}", vacant.err);
    let observer = host.start("observer", &words("observe", &["--json"]));
    observer.line("vacant", 1);
    let best = host.start("best", &candidate("best", "1"));
    best.line("which several candidates may lead at once with allcall", 1);
    best.line("fence <none>", 1);
    let next = host.start("next", &candidate("next", "2"));
    let leads = |id: &str| {
        soon(id, || {
            let answer = host.ask(&words("leader", &["--json"]));
            let view: serde_json::Value = serde_json::from_str(&answer.out).ok()?;
            (answer.code == Some(0) && view["value"] == *id).then_some(view)
        })
    };
    let view = leads("best");
    assert!(view["fence"].is_null(), "{view}");
    next.line("leads", 1);
    best.signal(Signal::TERM);
    assert_eq!(best.ended(), Some(143));
    next.line("fence <none>", 1);
    leads("next");
    next.signal(Signal::TERM);
    assert_eq!(next.ended(), Some(143));
    observer.line("vacant", 2);
}

/// A user with the right to ask gets the leader, and is refused as a candidate.
#[test]
fn missing_permission_is_reported() {
    let users = r#"authorization { users: [
        { user: asker, password: secret, permissions: {
            publish: ["tenure.tenure.ask"], subscribe: ["tenure.tenure.*"] } } ] }"#;
    let cluster = ClusterConfig::new(Version::Newest, 1).settings(users).start().unwrap();
    let host = machine(&cluster).with("TENURE_USER", "asker").with("TENURE_PASSWORD", "secret");
    let vacant = host.ask(&words("leader", &[]));
    assert_eq!(vacant.code, Some(3), "{}", vacant.err);
    let denied = host.ask(&words("run", &["--grace", "300ms", "--", "true"]));
    assert_eq!(denied.code, Some(6), "{}", denied.err);
    assert!(denied.err.contains("Permissions Violation for Publish"), "{}", denied.err);
}

/// Without an answer the leader is unknown.
#[test]
fn leader_is_unknown_without_server() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = machine(&cluster);
    cluster.server(0).kill().unwrap();
    let unknown = host.ask(&words("leader", &[]));
    assert_eq!(unknown.code, Some(4), "{}{}", unknown.out, unknown.err);
    assert!(unknown.err.contains("cannot be used"), "{}", unknown.err);
    // The system accepts connections, and no process answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", silent.local_addr().unwrap());
    let unknown = host.ask(&words("leader", &["--servers", &url, "--wait", "1s"]));
    assert_eq!(unknown.code, Some(4), "{}{}", unknown.out, unknown.err);
    assert!(unknown.err.contains(&url), "{}", unknown.err);
    let tries = ["--servers", &url, "--once", "--try", "1s", "--grace", "300ms", "--", "true"];
    let over = host.ask(&words("run", &tries));
    assert_eq!(over.code, Some(7), "{}", over.err);
    let why = format!(" within 1s: connecting: {url}: no answer");
    assert!(over.err.contains(&why), "{}", over.err);
}

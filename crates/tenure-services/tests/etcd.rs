//! etcd of both versions starts, answers, survives what tests do to it, and is gone. Logins and
//! certificates are shown by the tests of its driver.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod common;

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use tenure_services::Error;
use tenure_services::etcd::{Cluster, ClusterConfig, Host, Member, SERVICE, Version};

use common::gone;

/// Looks again and again, for a minute at least, until there is something.
fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_200 {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("not within a minute: {what}");
}

fn pids(cluster: &Cluster) -> Vec<u32> {
    cluster.members().filter_map(|member| member.pid()).collect()
}

/// Repeats each command: a leader of etcd that stands still may lose it.
fn put_and_get(cluster: &Cluster) {
    soon("a key is put", || cluster.etcdctl(&["put", "key", "value"]).ok());
    let got = soon("a key is got", || cluster.etcdctl(&["get", "key"]).ok());
    assert_eq!(got, "key\nvalue\n");
}

fn one_member(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let said = cluster.etcdctl(&["endpoint", "status", "--write-out=fields"]).unwrap();
    let number = format!("\"Version\" : \"{}", SERVICE.number(version));
    assert!(said.contains(&number), "{said}");
    put_and_get(&cluster);
    let member = cluster.member(0);
    let before = pids(&cluster);
    member.kill().unwrap();
    assert_eq!(member.pid(), None);
    assert!(matches!(member.wait_ready(), Err(Error::NotReady { .. })));
    member.restart().unwrap();
    cluster.wait_ready().unwrap();
    assert_ne!(pids(&cluster), before);
    assert_eq!(cluster.etcdctl(&["get", "key"]).unwrap(), "key\nvalue\n");
    let folder = cluster.folder().to_path_buf();
    let pids = pids(&cluster);
    drop(cluster);
    assert!(gone(&folder, &[before, pids].concat()));
}

/// The leader is stopped: the others go on, with another, and it comes back.
fn three_members(version: Version) {
    let cluster = Cluster::start(version, 3).unwrap();
    put_and_get(&cluster);
    let leader = soon("etcd has a leader", || cluster.leader().ok().flatten());
    leader.stop().unwrap();
    let others: Vec<_> =
        cluster.members().filter(|member| member.endpoint() != leader.endpoint()).collect();
    for other in &others {
        other.wait_ready().unwrap();
    }
    let leads = |other: &&&Member| other.status().is_ok_and(|status| status.leads());
    soon("one of the others leads", || others.iter().find(leads));
    let term = |member: &Member| soon("a term", || Some(member.status().ok()?.term));
    let before = term(others[0]);
    leader.cont().unwrap();
    leader.wait_ready().unwrap();
    assert!(term(leader) >= before);
    let folder = cluster.folder().to_path_buf();
    let pids = pids(&cluster);
    // Dropped while one is stopped: it ends, too.
    cluster.member(1).stop().unwrap();
    drop(cluster);
    assert!(gone(&folder, &pids));
}

fn failing_members_show_their_log(version: Version) {
    let config = ClusterConfig::new(version, 1).argument("--heartbeat-interval=0");
    let error = config.start().unwrap_err().to_string();
    assert!(error.contains("has ended") && error.contains("heartbeat-interval must be"), "{error}");
}

/// The port of the killed member is taken before it comes back.
#[test]
fn a_taken_port_is_told() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    cluster.member(0).kill().unwrap();
    let address = cluster.endpoints()[0].trim_start_matches("http://").to_owned();
    let taken = TcpListener::bind(address).unwrap();
    cluster.member(0).restart().unwrap();
    let error = cluster.wait_ready().unwrap_err().to_string();
    assert!(error.contains("address already in use"), "{error}");
    drop(taken);
}

/// The prefix of the command becomes the command, so signals and pids are the server's.
#[test]
fn members_run_behind_wrappers() {
    let host = |last: u8| Host {
        address: [127, 0, 7, last].into(),
        wrapper: ["nice", "-n", "1"].map(str::to_owned).to_vec(),
    };
    let config = ClusterConfig::new(Version::Newest, 0).hosts(vec![host(1), host(2), host(3)]);
    let cluster = config.start().unwrap();
    assert!(cluster.endpoints()[2].starts_with("http://127.0.7.3:"));
    put_and_get(&cluster);
    let pid = cluster.member(0).pid().unwrap();
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(command.trim(), "etcd");
}

tenure_services::on_each_version!(one_member, three_members, failing_members_show_their_log);

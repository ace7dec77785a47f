//! Look-ups of names that take long.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::thread;

use tenure_core::nele::{Change, Membership, Report, Request};
use tenure_kafka::GroupProtocol;
use tenure_services::kafka::SHARED_VARIABLE;
use tenure_testkit::handles::soon;

use super::process::{Hand, config};
use crate::common::{cluster, tests, unique};

tests!(silent_name_servers_delay_no_leaving);

/// The variable that tells this program to run without name servers.
const INNER: &str = "TESTS_SILENT_NAMES";

/// Puts other files in the place of the system's files, for a single process. The script needs
/// root, `unshare` and `mount` (util-linux).
const SCRIPT: &str = r#"mount --bind "$1" /etc/resolv.conf \
&& mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@""#;

/// A broker answers, but look-ups of the other brokers' names last longer than the test waits.
async fn silent_name_servers_delay_no_leaving() {
    if std::env::var_os(INNER).is_some() {
        return leaves().await;
    }
    let broker = cluster();
    let folder = tempfile::tempdir().unwrap();
    // An address of this test alone, at which no program reads.
    let [.., a, b] = std::process::id().to_be_bytes();
    let own = Ipv4Addr::new(127, 53, a, b);
    let _silent = UdpSocket::bind((own, 53)).unwrap();
    let resolver = folder.path().join("resolv.conf");
    let order = folder.path().join("nss");
    fs::write(&resolver, format!("nameserver {own}\noptions timeout:30 attempts:5\n")).unwrap();
    fs::write(&order, "hosts: dns\n").unwrap();
    let again = Command::new("unshare")
        .args(["--mount", "sh", "-c", SCRIPT, "sh"])
        .args([&resolver, &order, &std::env::current_exe().unwrap()])
        .args(["--exact", "ledger::names::silent_name_servers_delay_no_leaving"])
        .env(INNER, "1")
        .env(SHARED_VARIABLE, format!("{},{}", broker.addresses(), broker.guarded()))
        .status();
    assert!(again.unwrap().success(), "see above; this needs root");
}

async fn leaves() {
    let good = cluster().addresses();
    let name = unique("names");
    // Clients begin with any of these brokers.
    let all = format!("{good},a.nowhere.test:9092,b.nowhere.test:9092,c.nowhere.test:9092");
    let mut hand = Hand::join(&all, config(&name, "one", 1), GroupProtocol::Classic).await;
    hand.rebalance(Change::Assigned, 1).await;
    hand.ledger.request(&Request::Leave(Membership(1)));
    hand.until(|report| matches!(report, Report::Left(Membership(1))).then_some(())).await;
    let (done, over) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        drop(hand);
        let _ = done.send(());
    });
    soon(over).await.unwrap();
}

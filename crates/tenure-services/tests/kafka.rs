//! Brokers of both versions start, know each other, survive what tests do to them, and end. The
//! version that other tests run against is tried with all else.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tenure_services::kafka::{Cluster, ClusterConfig, SHARED_VERSION, Security, Version, shared};

/// Nothing of a cluster is left: neither its folder nor its processes.
fn gone(folder: &Path, pids: &[u32]) -> bool {
    let running = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy())
    };
    !folder.exists() && !pids.iter().any(running)
}

/// Whether somebody at this address answers the request "versions" of Kafka's protocol.
fn answers(address: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff])?;
        let mut answer = [0; 10];
        stream.read_exact(&mut answer)?;
        // The number of the request, and no error.
        Ok::<_, std::io::Error>(answer[4..] == [0, 0, 0, 7, 0, 0])
    };
    ask().unwrap_or(false)
}

fn killed_and_started_again(version: Version) {
    let cluster = ClusterConfig::new(version, 3).ways(2).start().unwrap();
    let pids: Vec<_> = cluster.brokers().filter_map(|broker| broker.pid()).collect();
    assert_eq!(pids.len(), 3);
    assert!(cluster.broker(0).memory().unwrap() > 1 << 20);
    assert!(cluster.addresses().split(',').all(answers));
    a_way_is_cut_and_the_others_are_not(&cluster);
    let killed = cluster.broker(2);
    killed.kill().unwrap();
    assert!(killed.pid().is_none() && killed.memory().is_none());
    assert!(!answers(&killed.address().to_string()));
    assert!(killed.wait_ready().unwrap_err().to_string().contains("has ended (killed)"));
    cluster.broker(0).wait_ready().unwrap();
    killed.restart().unwrap();
    cluster.wait_ready().unwrap();
    killed.terminate().unwrap();
    let folder = cluster.folder().to_path_buf();
    drop(cluster);
    assert!(gone(&folder, &pids));
}

fn a_way_is_cut_and_the_others_are_not(cluster: &Cluster) {
    let count = |addresses: String| addresses.split(',').filter(|one| answers(one)).count();
    let [first, second] =
        [cluster.way(0), cluster.way(1)].map(|way| move || count(way.addresses()));
    assert_eq!((first(), second()), (3, 3));
    cluster.way(0).cut();
    assert_eq!((first(), second(), count(cluster.addresses())), (0, 3, 3));
    cluster.way(0).open();
    assert_eq!(first(), 3);
}

#[test]
fn with_tls() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(path("broker.pem"), key.serialize_pem() + &certificate.pem()).unwrap();
    fs::write(path("ca.pem"), authority.pem()).unwrap();
    let security = Security::Tls { identity: path("broker.pem"), clients: Some(path("ca.pem")) };
    let cluster = ClusterConfig::new(SHARED_VERSION, 1).security(security).start().unwrap();
    assert!(!answers(&cluster.addresses()), "nothing is said in the clear");
}

#[test]
fn with_logins() {
    let shared = shared().unwrap();
    assert!(answers(&shared.guarded()), "versions are told to anybody");
}

#[test]
fn a_wrong_setting_is_told() {
    let wrong = ClusterConfig::new(SHARED_VERSION, 1).setting("num.io.threads=none");
    let error = wrong.start().unwrap_err().to_string();
    assert!(error.contains("num.io.threads"), "{error}");
}

tenure_services::on_each_kafka!(killed_and_started_again);

//! Clusters of both versions: they start, answer, survive what tests do to them, and are gone.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tenure_services::Error;
use tenure_services::etcd::{
    ClientCertificate, Cluster, ClusterConfig, Host, Member, Restore, Tls, Version, install,
};

/// Nothing of a cluster is left: neither its folder nor its processes.
fn gone(folder: &Path, pids: &[u32]) -> bool {
    let running = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy())
    };
    !folder.exists() && !pids.iter().any(running)
}

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

fn put_and_get(cluster: &Cluster) {
    cluster.etcdctl(&["put", "key", "value"]).unwrap();
    assert_eq!(cluster.etcdctl(&["get", "key"]).unwrap(), "key\nvalue\n");
}

fn says(version: Version) -> String {
    let member = Cluster::start(version, 1).unwrap();
    member.etcdctl(&["endpoint", "status", "--write-out=fields"]).unwrap()
}

#[test]
fn each_version_is_what_it_says() {
    assert!(says(Version::Debian34).contains("\"Version\" : \"3.4."));
    let newest = format!("\"Version\" : \"{}\"", Version::Newest.number());
    assert!(says(Version::Newest).contains(&newest));
}

#[test]
fn installed_is_installed() {
    for version in Version::ALL {
        let first = install(version).unwrap();
        assert_eq!(install(version).unwrap(), first);
        assert!(first.etcd.is_file() && first.etcdctl.is_file(), "{first:?}");
        assert!(first.etcdutl.as_ref().is_none_or(|etcdutl| etcdutl.is_file()), "{first:?}");
    }
}

fn one_member(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    put_and_get(&cluster);
    let before = pids(&cluster);
    cluster.member(0).kill().unwrap();
    assert_eq!(cluster.member(0).pid(), None);
    assert!(matches!(cluster.member(0).wait_ready(), Err(Error::NotReady { .. })));
    cluster.member(0).restart().unwrap();
    cluster.wait_ready().unwrap();
    assert_ne!(pids(&cluster), before);
    assert_eq!(cluster.etcdctl(&["get", "key"]).unwrap(), "key\nvalue\n");
    let (folder, pids) = (cluster.folder().to_path_buf(), pids(&cluster));
    drop(cluster);
    assert!(gone(&folder, &[before, pids].concat()));
}

#[test]
fn one_member_of_3_4() {
    one_member(Version::Debian34);
}

#[test]
fn one_member_of_the_newest() {
    one_member(Version::Newest);
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
    let leads = |other: &&Member<'_>| other.status().is_ok_and(|status| status.leads());
    soon("one of the others leads", || others.iter().find(leads));
    let term = |member: &Member<'_>| soon("a term", || Some(member.status().ok()?.term));
    let before = term(&others[0]);
    leader.cont().unwrap();
    leader.wait_ready().unwrap();
    assert!(term(&leader) >= before);
    let (folder, pids) = (cluster.folder().to_path_buf(), pids(&cluster));
    // Dropped while one is stopped: it ends, too.
    cluster.member(1).stop().unwrap();
    drop(cluster);
    assert!(gone(&folder, &pids));
}

#[test]
fn three_members_of_3_4() {
    three_members(Version::Debian34);
}

#[test]
fn three_members_of_the_newest() {
    three_members(Version::Newest);
}

#[test]
fn a_panic_leaves_nothing_behind() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let (folder, pids) = (cluster.folder().to_path_buf(), pids(&cluster));
    let panicked = thread::spawn(move || assert_eq!(cluster.endpoints().len(), 0, "it is meant"));
    assert!(panicked.join().is_err());
    assert!(gone(&folder, &pids));
}

#[test]
fn a_member_that_does_not_come_up_shows_its_log() {
    for version in Version::ALL {
        let config = ClusterConfig::new(version, 1).argument("--heartbeat-interval=0");
        let error = config.start().unwrap_err().to_string();
        assert!(
            error.contains("has ended") && error.contains("heartbeat-interval must be"),
            "{error}"
        );
    }
}

/// The port of the killed member is taken before it comes back.
#[test]
fn a_taken_port_is_told() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    cluster.member(0).kill().unwrap();
    let address = cluster.endpoints()[0].trim_start_matches("http://").to_owned();
    let taken = std::net::TcpListener::bind(address).unwrap();
    cluster.member(0).restart().unwrap();
    let error = cluster.wait_ready().unwrap_err().to_string();
    assert!(error.contains("address already in use"), "{error}");
    drop(taken);
}

#[test]
fn what_etcdctl_refuses_is_an_error_with_its_words() {
    let cluster = Cluster::start(Version::Debian34, 1).unwrap();
    let error = cluster.etcdctl(&["lease", "revoke", "1"]).unwrap_err().to_string();
    assert!(error.contains("requested lease not found"), "{error}");
}

#[test]
fn etcdctl_beside_us_runs_until_dropped() {
    for version in Version::ALL {
        let cluster = Cluster::start(version, 1).unwrap();
        let log = cluster.folder().join("elect.log");
        let elect = cluster.etcdctl_beside(&["elect", "e", "v"], &log).unwrap();
        let said = soon("etcdctl leads", || {
            let said = fs::read_to_string(&log).unwrap();
            // What it says of the connection is an object a line.
            let said = said.split_inclusive('\n').filter(|line| !line.starts_with('{'));
            Some(said.collect::<String>()).filter(|said| said.ends_with("v\n"))
        });
        assert!(said.starts_with("e/") && said.ends_with("\nv\n"), "{version}: {said}");
        assert_eq!(elect.ended().unwrap(), None);
        drop(elect);
    }
}

#[test]
fn a_full_store_refuses_writes() {
    let cluster = ClusterConfig::new(Version::Newest, 1).quota(64 * 1024).start().unwrap();
    let value = "x".repeat(32 * 1024);
    let refused = (0..16).find_map(|n| cluster.etcdctl(&["put", &n.to_string(), &value]).err());
    assert!(refused.unwrap().to_string().contains("database space exceeded"));
    cluster.wait_ready().unwrap();
}

#[test]
fn authentication() {
    for version in Version::ALL {
        let cluster = Cluster::start(version, 1).unwrap();
        cluster.enable_auth("secret").unwrap();
        put_and_get(&cluster);
        cluster.member(0).restart().unwrap();
        cluster.wait_ready().unwrap();
        assert!(cluster.etcdctl(&["user", "list"]).unwrap().contains("root"));
    }
}

#[test]
fn a_restored_cluster_has_forgotten_what_came_after_the_snapshot() {
    for version in Version::ALL {
        let cluster = Cluster::start(version, 3).unwrap();
        put_and_get(&cluster);
        let snapshot = cluster.folder().join("snapshot");
        cluster.save(&snapshot).unwrap();
        cluster.etcdctl(&["put", "later", "value"]).unwrap();
        cluster.restore(&snapshot, &Restore::default()).unwrap();
        assert_eq!(cluster.etcdctl(&["get", "key"]).unwrap(), "key\nvalue\n");
        assert_eq!(cluster.etcdctl(&["get", "later"]).unwrap(), "");
    }
}

/// An authority, and what it signed for a server on loopback and for a client.
fn certificates(folder: &Path) -> Tls {
    let write = |name: &str, text: String| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let certificate = write(&format!("{name}.pem"), certificate.pem());
        (certificate, write(&format!("{name}.key"), key.serialize_pem()))
    };
    let (certificate, key) = signed("server");
    let (client, client_key) = signed("client");
    let client = ClientCertificate { certificate: client, key: client_key };
    Tls {
        certificate,
        key,
        authority: write("authority.pem", authority.pem()),
        client: Some(client),
    }
}

#[test]
fn tls_with_certificates_of_clients() {
    let folder = tempfile::tempdir().unwrap();
    let tls = certificates(folder.path());
    for version in Version::ALL {
        let cluster = ClusterConfig::new(version, 1).tls(tls.clone()).start().unwrap();
        assert!(cluster.endpoints()[0].starts_with("https://"));
        put_and_get(&cluster);
        let without = Tls { client: None, ..tls.clone() };
        let cluster = ClusterConfig::new(version, 1).tls(without).start().unwrap();
        put_and_get(&cluster);
    }
}

/// What stands before the command becomes the command, so signals and pids are the server's.
#[test]
fn members_behind_a_wrapper_at_addresses_of_their_own() {
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

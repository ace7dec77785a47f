//! Troubles are reported when they happen, and end only the processes that they must.

use rustix::process::Signal;
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::certificates::Authority;
use crate::runner::{Host, soon};
use crate::runs::WORK;

/// The second endpoint belongs to another cluster, and answers only after the first cluster has
/// elected.
#[test]
fn late_foreign_cluster_is_warned_of() {
    let [one, two] = [(); 2].map(|()| Cluster::start(Version::Newest, 1).unwrap());
    let both = format!("{},{}", one.endpoints()[0], two.endpoints()[0]);
    two.member(0).stop().unwrap();
    let host = Host::of(&one);
    let silent = two.endpoints().swap_remove(0);
    let brief = host.run("brief", &["--endpoints", &silent, "--once", "--try", "2s"], WORK);
    assert_eq!(brief.ended(), Some(7));
    let log = host.log("brief");
    assert!(log.contains(&format!("within 2s: connecting: {silent}")), "{log}");
    let confused = host.run("confused", &["--endpoints", &both], WORK);
    confused.line("work", 1);
    two.member(0).cont().unwrap();
    confused.line("warning: the next campaign will fail: ", 1);
    let log = confused.log();
    assert!(log.contains("all endpoints must belong to one"), "{log}");
    confused.signal(Signal::TERM);
    assert_eq!(confused.ended(), Some(143));
}

/// An unusable endpoint ends no process while another may come.
#[test]
fn bad_endpoint_ends_nothing() {
    let authority = Authority::new();
    let (one, bad) = (Cluster::start(Version::Newest, 1).unwrap(), authority.cluster("bad"));
    let bad = bad.endpoints()[0].replace("https://", "http://");
    let host = Host::of(&one);
    let both = format!("{bad},{}", one.endpoints()[0]);
    one.member(0).kill().unwrap();
    let patient = host.run("patient", &["--endpoints", &both], WORK);
    let told = patient.line("warning: no election can be held yet", 1);
    let other = format!("the server speaks TLS; {} cannot be reached: ", one.endpoints()[0]);
    assert!(told.contains(&other), "{told}");
    one.member(0).restart().unwrap();
    patient.line("work", 1);
    let hopeless = host.run("hopeless", &["--endpoints", &bad], WORK);
    assert_eq!(hopeless.ended(), Some(2));
}

/// A runner reads its certificate again for each connection. While the server refuses the
/// certificate, the status gives the length of the outage; a new certificate in the same file ends
/// it.
#[test]
fn expired_certificate_is_reported_and_awaited() {
    let authority = Authority::new();
    let cluster = authority.strict_cluster("etcd", "services");
    let (certificate, key) = authority.sign("ours", false);
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let host = Host::of(&cluster).with("TENURE_CACERT", &path(&authority.path()));
    let host = host.with("TENURE_CERT", &path(&certificate)).with("TENURE_KEY", &path(&key));
    let ours = host.run("ours", &[], WORK);
    ours.line("work", 1);
    let status = || {
        let answer = host.ask(&["node", "status", "--json", "--control", &host.socket()]);
        serde_json::from_str::<serde_json::Value>(&answer.out).unwrap()
    };
    assert_eq!(status()["warning"], serde_json::Value::Null);
    authority.sign("ours", true);
    cluster.member(0).kill().unwrap();
    cluster.member(0).restart().unwrap();
    // The server reports its refusal, or only closes the connection.
    let told = soon("a refusal", || {
        let told = status()["warning"].as_str()?.to_owned();
        (told.contains("certificate has expired") || told.contains("closes each new connection"))
            .then_some(told)
    });
    assert!(told.contains(" no server could be used"), "{told}");
    ours.line("ours campaigns for billing", 2);
    ours.line("ours waits: connecting: ", 1);
    // Let further attempts fail: they must not report a reason again.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let log = ours.log();
    let mut said: Vec<_> = log.lines().filter(|line| line.starts_with("warning: https")).collect();
    let all = said.len();
    said.sort_unstable();
    said.dedup();
    assert_eq!(said.len(), all, "each reason is said once: {log}");
    authority.sign("ours", false);
    ours.line("ours leads billing", 2);
    soon("nothing is wrong any more", || status()["warning"].is_null().then_some(()));
}

/// A new lease of the candidate ends a trouble, so the same trouble is reported again.
#[test]
fn returning_trouble_is_reported_again() {
    let cluster = ClusterConfig::new(Version::Newest, 1).quota(4 << 20).start().unwrap();
    let host = Host::of(&cluster);
    let full = || {
        let much = "x".repeat(100_000);
        soon("etcd is full", || {
            let refused = cluster.etcdctl(&["put", "other", &much]).err()?;
            refused.to_string().contains("database space exceeded").then_some(())
        });
    };
    full();
    let ours = host.run("ours", &["--lease", "60s"], WORK);
    let refused = "warning: etcd refuses asking for a lease: etcdserver: mvcc: database space";
    ours.line(refused, 1);
    let waits = "ours waits: refused by etcd: asking for a lease: etcdserver: mvcc: database space";
    ours.line(waits, 1);
    let theirs = host.run("theirs", &["--json"], WORK);
    let told = theirs.line("\"event\":\"waiting\"", 1);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["waiting"], &told["id"]), (&"refused".into(), &"theirs".into()), "{told}");
    assert_eq!(told["obstacles"][0]["label"], "no-space", "{told}");
    drop(theirs);
    let revision = cluster.member(0).status().unwrap().revision.to_string();
    for words in [&["compact", &revision][..], &["defrag"], &["alarm", "disarm"]] {
        cluster.etcdctl(words).unwrap();
    }
    ours.line("work", 1);
    full();
    assert_eq!(host.ask(&["resign", "--election", "billing"]).code, Some(0));
    ours.line(refused, 2);
}

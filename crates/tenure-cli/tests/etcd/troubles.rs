//! What is wrong is told when it is, and ends only what it must.

use rustix::process::Signal;
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::certificates::Authority;
use crate::runner::{Host, soon};
use crate::runs::WORK;

fn two_clusters() -> (Cluster, Cluster) {
    std::thread::scope(|scope| {
        let one = scope.spawn(|| Cluster::start(Version::Newest, 1).unwrap());
        (Cluster::start(Version::Newest, 1).unwrap(), one.join().unwrap())
    })
}

#[test]
fn endpoints_of_two_clusters_or_of_none_are_told() {
    let (one, two) = two_clusters();
    let both = format!("{},{}", one.endpoints()[0], two.endpoints()[0]);
    let host = Host::of(&one);
    // On a busy machine one may answer so late that the other has elected: that is warned of.
    let refused = (0..5).any(|_| {
        let confused = host.run("confused", &["--endpoints", &both], WORK);
        let told = confused.line("all endpoints must be of one", 1);
        let late = told.contains("the next campaign will fail");
        assert!(late || confused.ended() == Some(2));
        !late
    });
    assert!(refused, "two clusters that both answer are refused at the start");
    // One that is there suffices, and the other is told of.
    let some = format!("http://127.0.0.1:9,{}", one.endpoints()[0]);
    let some = host.run("some", &["--endpoints", &some], WORK);
    some.line("warning: http://127.0.0.1:9 cannot be reached", 1);
    some.line("work", 1);
    // None is there yet.
    one.member(0).kill().unwrap();
    let other = Host::of(&one);
    let early = other.run("early", &[], WORK);
    early.line("warning: no election can be held yet", 1);
    early.line("early waits: connecting: http://", 1);
    drop(some);
    one.member(0).restart().unwrap();
    early.line("work", 1);
}

/// The second one answers when the first has elected already.
#[test]
fn another_cluster_that_answers_late_is_warned_of() {
    let (one, two) = two_clusters();
    let both = format!("{},{}", one.endpoints()[0], two.endpoints()[0]);
    two.member(0).stop().unwrap();
    let host = Host::of(&one);
    let confused = host.run("confused", &["--endpoints", &both], WORK);
    confused.line("work", 1);
    two.member(0).cont().unwrap();
    confused.line("warning: the next campaign will fail: ", 1);
    let log = confused.log();
    assert!(log.contains("all endpoints must be of one"), "{log}");
    confused.signal(Signal::TERM);
    assert_eq!(confused.ended(), Some(143));
}

/// One that can never be used ends nothing while another may come.
#[test]
fn one_bad_endpoint_is_waited_beside() {
    let authority = Authority::new();
    let (one, bad) = (Cluster::start(Version::Newest, 1).unwrap(), authority.cluster("bad"));
    let bad = bad.endpoints()[0].replace("https://", "http://");
    let host = Host::of(&one);
    let both = format!("{bad},{}", one.endpoints()[0]);
    one.member(0).kill().unwrap();
    let patient = host.run("patient", &["--endpoints", &both], WORK);
    let told = patient.line("warning: no election can be held yet", 1);
    assert!(told.contains("the server speaks TLS; none of the 2 endpoints can be used"), "{told}");
    one.member(0).restart().unwrap();
    patient.line("work", 1);
    let hopeless = host.run("hopeless", &["--endpoints", &bad], WORK);
    assert_eq!(hopeless.ended(), Some(2));
}

/// It was told of before, but there was a lease since.
#[test]
fn a_trouble_that_comes_back_is_told_again() {
    let cluster = ClusterConfig::new(Version::Newest, 1).quota(16 << 20).start().unwrap();
    let host = Host::of(&cluster);
    let full = || {
        let much = "x".repeat(100_000);
        soon("etcd is full", || cluster.etcdctl(&["put", "other", &much]).err());
    };
    full();
    let ours = host.run("ours", &[], WORK);
    let refused = "warning: etcd refuses asking for a lease: etcdserver: mvcc: database space";
    ours.line(refused, 1);
    let revision = cluster.member(0).status().unwrap().revision.to_string();
    for words in [&["compact", &revision][..], &["defrag"], &["alarm", "disarm"]] {
        cluster.etcdctl(words).unwrap();
    }
    ours.line("work", 1);
    full();
    assert_eq!(host.ask(&["resign", "--election", "billing"]).code, Some(0));
    ours.line(refused, 2);
}

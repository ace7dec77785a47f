//! Keys under an election's prefix that no candidate made.

use serde_json::Value;
use tenure_services::etcd::{Cluster, Version};

use crate::runner::Host;
use crate::runs::{LONG, WORK};

#[test]
fn foreign_keys_are_told_and_deleted() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    cluster.etcdctl(&["put", "billing/note", "hello"]).unwrap();
    let why = "key billing/note is no candidate's, and candidates wait behind it: its name does \
               not end in the id of a lease: etcdctl get billing/note";
    let delete = "first make sure that the process which made it has ended, then etcdctl del \
                  billing/note deletes it";
    let told = host.ask(&["leader", "--election", "billing"]);
    let text = format!("vacant: nobody leads: {why} shows it; {delete}\n");
    assert_eq!((told.code, &told.out), (Some(3), &text));
    let observer = host.start("observer", &["observe", "--election", "billing"]);
    observer.line(text.trim_end(), 1);

    let runner = host.run("ours", LONG, WORK);
    // A candidate does not see whether the key has a lease.
    runner.line(
        &format!(
            "warning: billing: {why} --write-out=fields shows it; if its \"Lease\" is not 0, a \
             leader of another program may lead: leave it; else {delete}"
        ),
        1,
    );
    runner.line("ours waits: behind key billing/note, which is no candidate's: ", 1);
    let status = host.ask(&["node", "status", "--json", "--control", &host.socket()]);
    let status: Value = serde_json::from_str(&status.out).unwrap();
    let waiting = &status["waiting"];
    assert_eq!(waiting["waiting"], "foreign-key");
    assert_eq!(waiting["behind"], "billing/note");
    // The candidate behind it leads as little.
    assert_eq!(host.ask(&["leader", "--election", "billing"]).code, Some(3));

    cluster.etcdctl(&["del", "billing/note"]).unwrap();
    runner.line("work", 1);
    let led = host.ask(&["leader", "--election", "billing"]);
    assert_eq!(led.code, Some(0), "{}", led.out);
}

/// Another program may name its key in another way, and lead with it.
#[test]
fn keys_of_other_names_with_leases_are_told() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let granted = cluster.etcdctl(&["lease", "grant", "600"]).unwrap();
    let lease = format!("--lease={}", granted.split(' ').nth(1).unwrap());
    cluster.etcdctl(&["put", &lease, "billing/694D0A", "theirs"]).unwrap();
    let told = host.ask(&["leader", "--election", "billing"]);
    assert_eq!(told.code, Some(4), "{}", told.out);
    assert!(told.out.contains("a leader of another program may lead"), "{}", told.out);
    assert!(!told.out.contains("etcdctl del"), "{}", told.out);
}

/// The election of a deeper name has its own leader; the other one's candidate names it.
#[test]
fn deeper_elections_are_named() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    let deeper = ["run", "--election", "shop/eu", "--id", "deeper"];
    let deeper = host.start("deeper", &[&deeper, LONG, &["--", "sh", "-c", WORK]].concat());
    deeper.line("work", 1);
    let shop = ["run", "--election", "shop", "--id", "shop"];
    let shop = host.start("shop", &[&shop, LONG, &["--", "sh", "-c", WORK]].concat());
    shop.line("a candidate of election shop/eu may have made it: rename one of the two", 1);
    let told = host.ask(&["leader", "--election", "shop"]);
    assert_eq!(told.code, Some(3), "{}", told.out);
    assert!(told.out.contains("a candidate of election shop/eu may have made it"), "{}", told.out);
    assert!(!told.out.contains("etcdctl del"), "its leader may lead: {}", told.out);
    assert_eq!(host.ask(&["leader", "--election", "shop/eu"]).code, Some(0));
}

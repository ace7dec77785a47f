//! Keys under an election's prefix that no candidate made.

use serde_json::Value;
use tenure_services::etcd::{Cluster, Version};

use crate::runner::Host;
use crate::runs::{LONG, WORK};

#[test]
fn foreign_keys_are_reported_and_deleted() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let host = Host::of(&cluster);
    cluster.etcdctl(&["put", "billing/note", "hello"]).unwrap();
    let why = "key billing/note belongs to no candidate, and candidates wait behind it: its name \
               does not end in the id of a lease: look at the key with `etcdctl get billing/note";
    let delete = "make sure that the process that made the key has ended, then delete the key with \
                  `etcdctl del billing/note`";
    let told = host.ask(&["leader", "--election", "billing"]);
    let text = format!("vacant: nobody leads: {why}`; {delete}");
    let (said, _) = told.out.rsplit_once("; asked ").unwrap();
    assert_eq!((told.code, said), (Some(3), &*text));
    let observer = host.start("observer", &["observe", "--election", "billing"]);
    observer.line(&text, 1);

    let runner = host.run("ours", LONG, WORK);
    // A candidate cannot see whether the key has a lease.
    runner.line(
        &format!(
            "warning: billing: {why} --write-out=fields`. If its \"Lease\" is not 0, leave the \
             key: a leader of another program may own it. If its \"Lease\" is 0, {delete}"
        ),
        1,
    );
    runner.line("ours waits: behind key billing/note, which belongs to no candidate: ", 1);
    let status = host.ask(&["node", "status", "--json", "--control", &host.socket()]);
    let status: Value = serde_json::from_str(&status.out).unwrap();
    let waiting = &status["waiting"];
    assert_eq!(waiting["waiting"], "foreign-key");
    assert_eq!(waiting["behind"], "billing/note");
    // The candidate behind the key does not lead either.
    assert_eq!(host.ask(&["leader", "--election", "billing"]).code, Some(3));

    cluster.etcdctl(&["del", "billing/note"]).unwrap();
    runner.line("work", 1);
    let led = host.ask(&["leader", "--election", "billing"]);
    assert_eq!(led.code, Some(0), "{}", led.out);
}

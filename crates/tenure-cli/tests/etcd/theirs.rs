//! Leaders that etcd's own programs elect: one on Go's package `concurrency`, and etcdctl.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tenure_services::etcd::{Cluster, Version};
use tenure_services::{Process, go};
use tenure_testkit::processes::PATIENCE;

use crate::runner::{Host, soon};
use crate::runs::keys;

/// The program that contends with ours in tenure-etcd's tests.
fn program() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    go::program("company", &here.join("../tenure-etcd/tests/company/go")).unwrap()
}

tenure_services::on_each_version!(are_told);

fn are_told(version: Version) {
    let program = program();
    let cluster = Cluster::start(version, 1).unwrap();
    let host = Host::of(&cluster);
    let log = cluster.folder().join("go");
    let words = ["campaign", cluster.member(0).endpoint(), "billing", "10.0.0.9:80", "60"];
    let goes = Process::start(program.as_os_str(), &words, &log).unwrap();
    let said = soon("Go's program leads", || {
        let said = fs::read_to_string(&log).unwrap();
        said.lines().nth(1).filter(|_| said.ends_with('\n')).map(str::to_owned)
    });
    let words: Vec<_> = said.split(' ').collect();
    let ["leading", key, revision, _] = words[..] else { panic!("{said}") };
    is_told(&host, key, "10.0.0.9:80", revision.parse().unwrap());

    let log = cluster.folder().join("etcdctl");
    let etcdctls = cluster.etcdctl_beside(&["elect", "billing", "etcdctl's"], &log).unwrap();
    soon("etcdctl waits", || (keys(&cluster).matches("billing/").count() == 2).then_some(()));
    // Whoever waits is no leader.
    is_told(&host, key, "10.0.0.9:80", revision.parse().unwrap());
    goes.interrupt().unwrap();
    let key = soon("etcdctl leads", || {
        let said = fs::read_to_string(&log).unwrap();
        // What it says of the connection is an object a line.
        let said = said.split_inclusive('\n').filter(|line| !line.starts_with('{'));
        said.collect::<String>().strip_suffix("\netcdctl's\n").map(str::to_owned)
    });
    let fields = cluster.etcdctl(&["get", &key, "--write-out=fields"]).unwrap();
    let revision = fields.lines().find_map(|line| line.strip_prefix("\"CreateRevision\" : "));
    is_told(&host, &key, "etcdctl's", revision.unwrap().parse().unwrap());

    etcdctls.terminate(PATIENCE).unwrap();
    soon("its key is gone", || keys(&cluster).is_empty().then_some(()));
    let vacant = host.ask(&["leader", "--election", "billing"]);
    assert_eq!((vacant.code, &*vacant.out), (Some(3), "vacant: nobody leads\n"));
}

/// `tenure leader` says so, to people and to programs, as soon as etcd does: nothing waits for it.
fn is_told(host: &Host, key: &str, value: &str, fence: u64) {
    let id = key.strip_prefix("billing/").unwrap();
    let told = host.ask(&["leader", "--election", "billing"]);
    let line = format!("leader {id} ({value}), fence {fence}\n");
    assert_eq!((told.code, told.out), (Some(0), line), "{}", told.err);
    assert_eq!(told.err, "");
    let told = host.ask(&["leader", "--election", "billing", "--json"]);
    let object: Value = serde_json::from_str(&told.out).unwrap();
    let state = "leader";
    let expected = json!({
        "election": "billing", "state": state, "id": id, "value": value, "fence": fence
    });
    assert_eq!((told.code, object), (Some(0), expected));
}

//! The page of docs/howto on etcd, whose commands run.

use tenure_services::etcd::{Cluster, Version};
use tenure_testkit::processes::Reader;

#[test]
fn etcd_page_runs() {
    let cluster = Cluster::start(Version::Newest, 3).unwrap();
    let mut reader = Reader::new(env!("CARGO_BIN_EXE_tenure"));
    for (nth, endpoint) in (1..).zip(cluster.endpoints()) {
        reader = reader.with(&format!("http://10.0.0.{nth}:2379"), &endpoint);
    }
    reader.follow(include_str!("../../../../docs/howto/etcd.md"));
}

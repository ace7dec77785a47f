//! The page of docs/howto on NATS, whose commands run.

use tenure_services::nats::{Cluster, Version};
use tenure_testkit::processes::Reader;

#[test]
fn nats_page_runs() {
    let cluster = Cluster::start(Version::Newest, 2).unwrap();
    let mut reader = Reader::new(env!("CARGO_BIN_EXE_tenure"));
    for (nth, url) in (1..).zip(cluster.urls()) {
        reader = reader.with(&format!("nats://10.0.0.{nth}:4222"), &url);
    }
    reader.follow(include_str!("../../../../docs/howto/nats.md"));
}
